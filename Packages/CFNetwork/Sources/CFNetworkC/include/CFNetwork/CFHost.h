#ifndef CFNETWORK_CFHOST_H
#define CFNETWORK_CFHOST_H

#include <CFNetwork/CFNetworkDefs.h>

CF_EXTERN_C_BEGIN

/// A host with its addresses, names and reachability, each looked up on request. A CoreFoundation object; two are equal only if they
/// are the same. It is thread-safe: an object that a Get function returns stays valid while its value changes up to 15 times. Retain
/// it to keep it longer.
typedef struct CF_BRIDGED_MUTABLE_TYPE(id) __CFHost *CFHostRef;

/// The kinds of information about a host.
typedef CF_ENUM(int, CFHostInfoType) {
    kCFHostAddresses = 0,
    kCFHostNames = 1,
    kCFHostReachability = 2,
};

/// The pointer that is passed to a host's client, with the functions that retain and release it. The version is 0.
typedef struct CFHostClientContext {
    CFIndex version;
    void *_Nullable info;
    CFAllocatorRetainCallBack _Nullable retain;
    CFAllocatorReleaseCallBack _Nullable release;
    CFAllocatorCopyDescriptionCallBack _Nullable copyDescription;
} CFHostClientContext;

/// Called on the run loop of the host when a lookup has ended: once for each that was started with a client, also for one that was
/// cancelled. The error is {0, 0} if the lookup succeeded.
typedef void (*CFHostClientCallBack)(CFHostRef _Nonnull theHost, CFHostInfoType typeInfo, const CFStreamError *_Nullable error, void *_Nullable info);

/// The domain of errors of a lookup: the codes are the EAI_ values of Apple's systems, such as 8 for an unknown name.
CF_EXPORT const SInt32 kCFStreamErrorDomainNetDB;
/// The domain of errors of a lookup of the reachability.
CF_EXPORT const SInt32 kCFStreamErrorDomainSystemConfiguration;

/// The type identifier of hosts.
CF_EXPORT CFTypeID CFHostGetTypeID(void);

/// Creates a host with a name, and looks nothing up. The lookups of an invalid name fail.
CF_EXPORT CFHostRef _Nonnull CFHostCreateWithName(CFAllocatorRef _Nullable allocator, CFStringRef _Nonnull hostname) CF_REFINED_FOR_SWIFT;

/// Creates a host with an address, a sockaddr. Returns NULL unless it is a complete IPv4 or IPv6 address.
CF_EXPORT CFHostRef _Nonnull CFHostCreateWithAddress(CFAllocatorRef _Nullable allocator, CFDataRef _Nonnull addr) CF_REFINED_FOR_SWIFT;

/// Creates a host with all information that another one has, without its client and schedule.
CF_EXPORT CFHostRef _Nonnull CFHostCreateCopy(CFAllocatorRef _Nullable alloc, CFHostRef _Nonnull host);

/// Looks up one kind of information, and drops the previous result of that kind.
///
/// With a client, starts the lookup and returns; the client is called later, never within this call, on a run loop that the host is
/// scheduled on. Without a client, waits for the result; a call of CFHostCancelInfoResolution from another thread ends the wait.
///
/// Returns FALSE, with the error, if the lookup cannot start or has failed. One lookup runs at a time: another is refused with EBUSY.
CF_EXPORT Boolean CFHostStartInfoResolution(CFHostRef _Nonnull theHost, CFHostInfoType info, CFStreamError *_Nullable error);

/// The addresses (CFArray of CFData with a sockaddr, port 0), in the order in which to try them; NULL if there are none. The flag is whether a lookup, successful or not, has produced this result.
CF_EXPORT CFArrayRef _Nullable CFHostGetAddressing(CFHostRef _Nonnull theHost, Boolean *_Nullable hasBeenResolved) CF_REFINED_FOR_SWIFT;

/// The names (CFArray of CFString), the canonical one first; NULL if there are none. Before a lookup, the name that the host was
/// created with. The flag is that of CFHostGetAddressing.
CF_EXPORT CFArrayRef _Nullable CFHostGetNames(CFHostRef _Nonnull theHost, Boolean *_Nullable hasBeenResolved) CF_REFINED_FOR_SWIFT;

/// The reachability: a CFData with a UInt32 of the bits of SCNetworkReachabilityFlags, from the routes of this machine. Nothing is
/// sent to the host. The flag is that of CFHostGetAddressing.
CF_EXPORT CFDataRef _Nullable CFHostGetReachability(CFHostRef _Nonnull theHost, Boolean *_Nullable hasBeenResolved) CF_REFINED_FOR_SWIFT;

/// Ends the lookup of a kind at once: the client is called, or the waiting call returns, with ECANCELED. Without effect if none runs.
CF_EXPORT void CFHostCancelInfoResolution(CFHostRef _Nonnull theHost, CFHostInfoType info);

/// Sets the client, which makes CFHostStartInfoResolution return at once. NULL removes it and ends a lookup without a call. Retains
/// the context's pointer, and releases it when the client is replaced or removed, or the host is deallocated. Returns TRUE.
CF_EXPORT Boolean CFHostSetClient(CFHostRef _Nonnull theHost, CFHostClientCallBack _Nullable clientCB, CFHostClientContext *_Nullable clientContext);

/// Adds a run loop and mode on which to call the client. If there are several, each event is reported once, on one of them.
CF_EXPORT void CFHostScheduleWithRunLoop(CFHostRef _Nonnull theHost, CFRunLoopRef _Nonnull runLoop, CFStringRef _Nonnull runLoopMode) CF_REFINED_FOR_SWIFT;

/// Removes a run loop and mode.
CF_EXPORT void CFHostUnscheduleFromRunLoop(CFHostRef _Nonnull theHost, CFRunLoopRef _Nonnull runLoop, CFStringRef _Nonnull runLoopMode) CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
