#ifndef SYSTEMCONFIGURATION_SCNETWORKREACHABILITY_H
#define SYSTEMCONFIGURATION_SCNETWORKREACHABILITY_H

#include <SystemConfiguration/SCDefs.h>
#include <sys/socket.h>

CF_EXTERN_C_BEGIN

/// A host whose reachability is asked for or watched. A CoreFoundation object; two are equal only if they are the same. It is
/// thread-safe. The reachability derives from this machine's routes: nothing is sent to the host.
typedef const struct CF_BRIDGED_TYPE(id) __SCNetworkReachability *SCNetworkReachabilityRef;

/// The pointer that is passed to the callback, with the functions that retain, release and describe it. The version is 0. They may be called on any
/// thread. If the library is looking for changes when the program releases the target, it releases the pointer when it has finished, soon after that
/// CFRelease and on a thread of its own.
typedef struct SCNetworkReachabilityContext {
    CFIndex version;
    void *_Nullable info;
    const void *_Nonnull (*_Nullable retain)(const void *_Nonnull info);
    void (*_Nullable release)(const void *_Nonnull info);
    CFStringRef _Nonnull (*_Nullable copyDescription)(const void *_Nonnull info);
} SCNetworkReachabilityContext;

/// The reachability of a host. Flags without a meaning on Linux are never set.
typedef CF_OPTIONS(uint32_t, SCNetworkReachabilityFlags) {
    /// The host is reached through a transient connection, such as PPP. Never set.
    kSCNetworkReachabilityFlagsTransientConnection = 1 << 0,
    /// There is a route to the host.
    kSCNetworkReachabilityFlagsReachable = 1 << 1,
    /// A connection must be established first. Never set.
    kSCNetworkReachabilityFlagsConnectionRequired = 1 << 2,
    /// Traffic to the host establishes the connection. Never set.
    kSCNetworkReachabilityFlagsConnectionOnTraffic = 1 << 3,
    /// The user must intervene to establish the connection. Never set.
    kSCNetworkReachabilityFlagsInterventionRequired = 1 << 4,
    /// The connection is established on demand. Never set.
    kSCNetworkReachabilityFlagsConnectionOnDemand = 1 << 5,
    /// The address belongs to this machine.
    kSCNetworkReachabilityFlagsIsLocalAddress = 1 << 16,
    /// The host is on a link of this machine, without a router in between.
    kSCNetworkReachabilityFlagsIsDirect = 1 << 17,
    /// Another name of kSCNetworkReachabilityFlagsConnectionOnTraffic.
    kSCNetworkReachabilityFlagsConnectionAutomatic = kSCNetworkReachabilityFlagsConnectionOnTraffic,
};

/// Called on a run loop or the queue of a target when its flags have changed, once for each change.
typedef void (*SCNetworkReachabilityCallBack)(SCNetworkReachabilityRef _Nonnull target, SCNetworkReachabilityFlags flags, void *_Nullable info);

/// Creates a target with an address. 0.0.0.0 and :: stand for the network in general: whether there is a default route. Returns
/// NULL, with kSCStatusInvalidArgument, unless it is an IPv4 or IPv6 address.
CF_EXPORT SCNetworkReachabilityRef _Nullable SCNetworkReachabilityCreateWithAddress(CFAllocatorRef _Nullable allocator, const struct sockaddr *_Nullable address) CF_REFINED_FOR_SWIFT;

/// Creates a target with the addresses of a connection, one of which may be NULL. It is reachable if the local address belongs to this machine
/// and the remote one is reachable; with a local address alone, the flags are those of that address.
CF_EXPORT SCNetworkReachabilityRef _Nullable SCNetworkReachabilityCreateWithAddressPair(CFAllocatorRef _Nullable allocator, const struct sockaddr *_Nullable localAddress, const struct sockaddr *_Nullable remoteAddress) CF_REFINED_FOR_SWIFT;

/// Creates a target with a name or the text of an address, and looks nothing up. Returns NULL, with kSCStatusInvalidArgument, if it is
/// NULL or empty.
CF_EXPORT SCNetworkReachabilityRef _Nullable SCNetworkReachabilityCreateWithName(CFAllocatorRef _Nullable allocator, const char *_Nullable nodename) CF_REFINED_FOR_SWIFT;

/// The type identifier of targets.
CF_EXPORT CFTypeID SCNetworkReachabilityGetTypeID(void);

/// The present flags. For a name, waits until its addresses are known; the flags of a name that is not found, or whose lookup fails just now, are 0.
/// Returns FALSE with kSCStatusReachabilityUnknown if the kernel cannot be asked, and with kSCStatusInvalidArgument unless the arguments are
/// a target and a pointer.
CF_EXPORT Boolean SCNetworkReachabilityGetFlags(SCNetworkReachabilityRef _Nullable target, SCNetworkReachabilityFlags *_Nullable flags) CF_REFINED_FOR_SWIFT;

/// Sets the callback; NULL removes it. Retains the context's pointer, and releases it when the callback is replaced or removed, or the
/// target is deallocated, or soon after: see SCNetworkReachabilityContext. Returns FALSE with kSCStatusInvalidArgument for another object.
CF_EXPORT Boolean SCNetworkReachabilitySetCallback(SCNetworkReachabilityRef _Nullable target, SCNetworkReachabilityCallBack _Nullable callout, SCNetworkReachabilityContext *_Nullable context) CF_REFINED_FOR_SWIFT;

/// Adds a run loop and mode on which to call the callback. If there are several, each change is reported once, on one of them. Changes from
/// the flags at the first call are reported; the flags of a name count as 0 until it is found. Returns FALSE, and
/// changes nothing: with kSCStatusInvalidArgument for an argument that is NULL or of another type, and if the target has a queue; with
/// kSCStatusFailed without a descriptor.
CF_EXPORT Boolean SCNetworkReachabilityScheduleWithRunLoop(SCNetworkReachabilityRef _Nullable target, CFRunLoopRef _Nullable runLoop, CFStringRef _Nullable runLoopMode) CF_REFINED_FOR_SWIFT;

/// Removes a run loop and mode. Returns FALSE with kSCStatusInvalidArgument if the target is not scheduled there.
CF_EXPORT Boolean SCNetworkReachabilityUnscheduleFromRunLoop(SCNetworkReachabilityRef _Nullable target, CFRunLoopRef _Nullable runLoop, CFStringRef _Nullable runLoopMode) CF_REFINED_FOR_SWIFT;

#ifndef __swift__
/// Calls the callback on a dispatch queue; NULL ends the calls. Returns FALSE, and changes nothing: with kSCStatusInvalidArgument for another
/// object, and if the target has another queue or is scheduled on a run loop; with kSCStatusFailed without a descriptor.
CF_EXPORT Boolean SCNetworkReachabilitySetDispatchQueue(SCNetworkReachabilityRef _Nullable target, dispatch_queue_t _Nullable queue);
#endif

CF_EXTERN_C_END

#endif
