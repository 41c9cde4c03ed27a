#ifndef CFNETWORK_CFNETSERVICES_H
#define CFNETWORK_CFNETSERVICES_H

#include <CFNetwork/CFNetworkDefs.h>

CF_EXTERN_C_BEGIN

// A service, a monitor and a browser run one operation at a time. If the object is scheduled on a run loop, a function that starts an
// operation returns at once, and the client is called on the run loop. Otherwise the function waits; another thread ends the wait.
// Release none of them while a function waits on it. Schedule an object before its operation starts.
//
// The errors have the domain kCFStreamErrorDomainNetServices. In a callback without an error it is {0, 0}.

/// A service: a remote one to resolve, or one of this machine to register. A CoreFoundation object; two are equal if their names, types
/// and domains are. It is thread-safe: an object that a Get function returns stays valid while its value changes up to 15 times. Retain
/// it to keep it longer.
typedef struct CF_BRIDGED_MUTABLE_TYPE(id) __CFNetService *CFNetServiceRef;
/// A search for changes of the TXT record of a service. A CoreFoundation object; it is thread-safe.
typedef struct CF_BRIDGED_MUTABLE_TYPE(id) __CFNetServiceMonitor *CFNetServiceMonitorRef;
/// A search for services or domains. A CoreFoundation object; it is thread-safe.
typedef struct CF_BRIDGED_MUTABLE_TYPE(id) __CFNetServiceBrowser *CFNetServiceBrowserRef;

/// The codes of errors in kCFStreamErrorDomainNetServices: any other failure; the name is taken; the service does not exist; another
/// operation is running; an argument is invalid; the operation was cancelled; the object was invalidated; the time limit has passed.
/// kCFNetServicesErrorMissingRequiredConfiguration is of Apple's systems and is never reported.
typedef CF_ENUM(int, CFNetServicesError) {
    kCFNetServicesErrorUnknown = -72000,
    kCFNetServicesErrorCollision = -72001,
    kCFNetServicesErrorNotFound = -72002,
    kCFNetServicesErrorInProgress = -72003,
    kCFNetServicesErrorBadArgument = -72004,
    kCFNetServicesErrorCancel = -72005,
    kCFNetServicesErrorInvalid = -72006,
    kCFNetServicesErrorTimeout = -72007,
    kCFNetServicesErrorMissingRequiredConfiguration = -72008,
};

/// The records that can be monitored.
typedef CF_ENUM(int, CFNetServiceMonitorType) {
    kCFNetServiceMonitorTXT = 1,
};

/// The options of a registration: a service whose name is taken fails instead of getting another name.
typedef CF_OPTIONS(CFOptionFlags, CFNetServiceRegisterFlags) {
    kCFNetServiceFlagNoAutoRename = 1,
};

/// The flags of a browser's callback: the next call follows at once; the object is a domain; the domain is the default one; the object
/// is gone.
typedef CF_OPTIONS(CFOptionFlags, CFNetServiceBrowserFlags) {
    kCFNetServiceFlagMoreComing = 1,
    kCFNetServiceFlagIsDomain = 2,
    kCFNetServiceFlagIsDefault = 4,
    kCFNetServiceFlagIsRegistrationDomain = 4,
    kCFNetServiceFlagRemove = 8,
};

/// The pointer that is passed to a client, with the functions that retain and release it. The version is 0.
typedef struct CFNetServiceClientContext {
    CFIndex version;
    void *_Nullable info;
    CFAllocatorRetainCallBack _Nullable retain;
    CFAllocatorReleaseCallBack _Nullable release;
    CFAllocatorCopyDescriptionCallBack _Nullable copyDescription;
} CFNetServiceClientContext;

/// Called when a service has been registered or has got another name, each time resolving has found more, and once when the operation
/// has ended, with its error.
typedef void (*CFNetServiceClientCallBack)(CFNetServiceRef _Nonnull theService, CFStreamError *_Nullable error, void *_Nullable info);
/// Called with the record data when monitoring begins and at each change, and once when it has ended, with its error and without data.
typedef void (*CFNetServiceMonitorClientCallBack)(CFNetServiceMonitorRef _Nonnull theMonitor, CFNetServiceRef _Nullable theService, CFNetServiceMonitorType typeInfo, CFDataRef _Nullable rdata, CFStreamError *_Nullable error, void *_Nullable info);
/// Called with a CFNetServiceRef, or the CFStringRef of a domain, that was found or is gone, and once when the search has ended, with
/// its error and without an object.
typedef void (*CFNetServiceBrowserClientCallBack)(CFNetServiceBrowserRef _Nonnull browser, CFOptionFlags flags, CFTypeRef _Nullable domainOrService, CFStreamError *_Nullable error, void *_Nullable info);

/// The domain of errors of the Mach kernel of Apple's systems; never reported.
CF_EXPORT const SInt32 kCFStreamErrorDomainMach;
/// The domain of the errors of services: the codes of CFNetServicesError.
CF_EXPORT const SInt32 kCFStreamErrorDomainNetServices;

/// The type identifier of services.
CF_EXPORT CFTypeID CFNetServiceGetTypeID(void);
/// The type identifier of monitors.
CF_EXPORT CFTypeID CFNetServiceMonitorGetTypeID(void);
/// The type identifier of browsers.
CF_EXPORT CFTypeID CFNetServiceBrowserGetTypeID(void);

/// Creates a service. Nothing is checked or sent before it is registered or resolved.
///
/// The domain is empty for local. A type has the form _http._tcp, with subtypes after commas for registering. An empty name registers
/// the name of this computer. The port is that of the server to register.
CF_EXPORT CFNetServiceRef _Nonnull CFNetServiceCreate(CFAllocatorRef _Nullable alloc, CFStringRef _Nonnull domain, CFStringRef _Nonnull serviceType, CFStringRef _Nonnull name, SInt32 port) CF_REFINED_FOR_SWIFT;

/// Creates a service with everything that is known of another one, without its client, schedule and operation.
CF_EXPORT CFNetServiceRef _Nonnull CFNetServiceCreateCopy(CFAllocatorRef _Nullable alloc, CFNetServiceRef _Nonnull service);

/// The domain that the service was created with.
CF_EXPORT CFStringRef _Nonnull CFNetServiceGetDomain(CFNetServiceRef _Nonnull theService) CF_REFINED_FOR_SWIFT;
/// The type that the service was created with.
CF_EXPORT CFStringRef _Nonnull CFNetServiceGetType(CFNetServiceRef _Nonnull theService) CF_REFINED_FOR_SWIFT;
/// The name; of a registered service, the one that it is registered with.
CF_EXPORT CFStringRef _Nonnull CFNetServiceGetName(CFNetServiceRef _Nonnull theService) CF_REFINED_FOR_SWIFT;

/// Registers the service, which is visible until it is cancelled or released. Options: kCFNetServiceFlagNoAutoRename or 0.
///
/// Returns FALSE, with the error, if the operation cannot start. A call that waits returns FALSE in the end:
/// kCFNetServicesErrorCancel after CFNetServiceCancel.
CF_EXPORT Boolean CFNetServiceRegisterWithOptions(CFNetServiceRef _Nonnull theService, CFOptionFlags options, CFStreamError *_Nullable error);

/// Resolves the service to its host, port, addresses and TXT record. The timeout is in seconds; 0 or less is none.
///
/// On a run loop, the client is called with each result until the timeout, and with kCFNetServicesErrorTimeout then. A call that waits
/// returns TRUE when there is an address; it collects further ones for a quarter of a second.
CF_EXPORT Boolean CFNetServiceResolveWithTimeout(CFNetServiceRef _Nonnull theService, CFTimeInterval timeout, CFStreamError *_Nullable error);

/// Ends registering or resolving. The client is called, or the waiting call returns, with kCFNetServicesErrorCancel.
CF_EXPORT void CFNetServiceCancel(CFNetServiceRef _Nonnull theService);

/// The host of a resolved service, with the final dot; NULL before.
CF_EXPORT CFStringRef _Nullable CFNetServiceGetTargetHost(CFNetServiceRef _Nonnull theService) CF_REFINED_FOR_SWIFT;
/// The port of a resolved service, before that the one that it was created with.
CF_EXPORT SInt32 CFNetServiceGetPortNumber(CFNetServiceRef _Nonnull theService);
/// The addresses of a resolved service (CFArray of CFData with a sockaddr), in the order in which to try them; NULL before.
CF_EXPORT CFArrayRef _Nullable CFNetServiceGetAddressing(CFNetServiceRef _Nonnull theService) CF_REFINED_FOR_SWIFT;
/// The TXT record of a resolved service, or the one that was set; NULL if there is none.
CF_EXPORT CFDataRef _Nullable CFNetServiceGetTXTData(CFNetServiceRef _Nonnull theService) CF_REFINED_FOR_SWIFT;

/// The strings of the TXT record, separated by characters of value 1; NULL if there is no record.
/// Replaced by CFNetServiceGetTXTData.
CF_EXPORT CFStringRef _Nullable CFNetServiceGetProtocolSpecificInformation(CFNetServiceRef _Nonnull theService) CF_REFINED_FOR_SWIFT;
/// Sets the TXT record from strings that are separated by characters of value 1. Does nothing where CFNetServiceSetTXTData, which replaces
/// it, returns FALSE.
CF_EXPORT void CFNetServiceSetProtocolSpecificInformation(CFNetServiceRef _Nonnull theService, CFStringRef _Nonnull theInfo) CF_REFINED_FOR_SWIFT;

/// Sets the TXT record of a service to register, or announces another one for a registered service. Returns FALSE while the service is
/// being resolved, and for data that is not a TXT record or is too large.
CF_EXPORT Boolean CFNetServiceSetTXTData(CFNetServiceRef _Nonnull theService, CFDataRef _Nonnull txtRecord) CF_REFINED_FOR_SWIFT;

/// Decodes a TXT record: keys (CFString) with values (CFData); a key without a value has an empty one. NULL if the data is malformed.
CF_EXPORT CFDictionaryRef _Nullable CFNetServiceCreateDictionaryWithTXTData(CFAllocatorRef _Nullable alloc, CFDataRef _Nonnull txtRecord) CF_REFINED_FOR_SWIFT;

/// Encodes a TXT record. A value is a CFData, a CFString, or kCFNull for a key without a value. NULL if a key is not printable ASCII or
/// has a =, two keys differ only in case, or a key and its value have more than 254 bytes together.
CF_EXPORT CFDataRef _Nullable CFNetServiceCreateTXTDataWithDictionary(CFAllocatorRef _Nullable alloc, CFDictionaryRef _Nonnull keyValuePairs) CF_REFINED_FOR_SWIFT;

/// Sets the client; NULL removes it. Retains the context's pointer, and releases it when the client is replaced or removed, or the
/// service is deallocated. Returns TRUE.
CF_EXPORT Boolean CFNetServiceSetClient(CFNetServiceRef _Nonnull theService, CFNetServiceClientCallBack _Nullable clientCB, CFNetServiceClientContext *_Nullable clientContext);
/// Adds a run loop and mode on which to call the client. If there are several, each event is reported once, on one of them.
CF_EXPORT void CFNetServiceScheduleWithRunLoop(CFNetServiceRef _Nonnull theService, CFRunLoopRef _Nonnull runLoop, CFStringRef _Nonnull runLoopMode) CF_REFINED_FOR_SWIFT;
/// Removes a run loop and mode.
CF_EXPORT void CFNetServiceUnscheduleFromRunLoop(CFNetServiceRef _Nonnull theService, CFRunLoopRef _Nonnull runLoop, CFStringRef _Nonnull runLoopMode) CF_REFINED_FOR_SWIFT;

/// Creates a monitor of a service, which it retains. Retains the context's pointer until the monitor is invalidated or deallocated.
CF_EXPORT CFNetServiceMonitorRef _Nonnull CFNetServiceMonitorCreate(CFAllocatorRef _Nullable alloc, CFNetServiceRef _Nonnull theService, CFNetServiceMonitorClientCallBack _Nonnull clientCB, CFNetServiceClientContext *_Nonnull clientContext);
/// Ends the monitor for good, without a call of the client: starting it again fails with kCFNetServicesErrorInvalid.
CF_EXPORT void CFNetServiceMonitorInvalidate(CFNetServiceMonitorRef _Nonnull monitor);
/// Starts monitoring. A call that waits calls the client on its own thread, and returns FALSE when it is stopped, with the error that
/// CFNetServiceMonitorStop was given.
CF_EXPORT Boolean CFNetServiceMonitorStart(CFNetServiceMonitorRef _Nonnull monitor, CFNetServiceMonitorType recordType, CFStreamError *_Nullable error);
/// Ends monitoring. The error, by default kCFNetServicesErrorCancel, is passed to the client or to the call that waits.
CF_EXPORT void CFNetServiceMonitorStop(CFNetServiceMonitorRef _Nonnull monitor, CFStreamError *_Nullable error);
/// Adds a run loop and mode on which to call the client. If there are several, each event is reported once, on one of them.
CF_EXPORT void CFNetServiceMonitorScheduleWithRunLoop(CFNetServiceMonitorRef _Nonnull monitor, CFRunLoopRef _Nonnull runLoop, CFStringRef _Nonnull runLoopMode) CF_REFINED_FOR_SWIFT;
/// Removes a run loop and mode.
CF_EXPORT void CFNetServiceMonitorUnscheduleFromRunLoop(CFNetServiceMonitorRef _Nonnull monitor, CFRunLoopRef _Nonnull runLoop, CFStringRef _Nonnull runLoopMode) CF_REFINED_FOR_SWIFT;

/// Creates a browser. Retains the context's pointer until the browser is invalidated or deallocated.
CF_EXPORT CFNetServiceBrowserRef _Nonnull CFNetServiceBrowserCreate(CFAllocatorRef _Nullable alloc, CFNetServiceBrowserClientCallBack _Nonnull clientCB, CFNetServiceClientContext *_Nonnull clientContext);
/// Ends the browser for good, without a call of the client: searching again fails with kCFNetServicesErrorInvalid.
CF_EXPORT void CFNetServiceBrowserInvalidate(CFNetServiceBrowserRef _Nonnull browser);
/// Searches for the domains in which services can be found or, if the flag is TRUE, registered. The rest is as for services.
CF_EXPORT Boolean CFNetServiceBrowserSearchForDomains(CFNetServiceBrowserRef _Nonnull browser, Boolean registrationDomains, CFStreamError *_Nullable error);
/// Searches for services of a type in a domain; an empty one stands for local and the domains that the search domains of this machine
/// list. A call that waits calls the client on its own thread, and returns FALSE when the search is stopped, with the error that
/// CFNetServiceBrowserStopSearch was given.
CF_EXPORT Boolean CFNetServiceBrowserSearchForServices(CFNetServiceBrowserRef _Nonnull browser, CFStringRef _Nonnull domain, CFStringRef _Nonnull serviceType, CFStreamError *_Nullable error) CF_REFINED_FOR_SWIFT;
/// Ends the search. The error, by default kCFNetServicesErrorCancel, is passed to the client or to the call that waits.
CF_EXPORT void CFNetServiceBrowserStopSearch(CFNetServiceBrowserRef _Nonnull browser, CFStreamError *_Nullable error);
/// Adds a run loop and mode on which to call the client. If there are several, each event is reported once, on one of them.
CF_EXPORT void CFNetServiceBrowserScheduleWithRunLoop(CFNetServiceBrowserRef _Nonnull browser, CFRunLoopRef _Nonnull runLoop, CFStringRef _Nonnull runLoopMode) CF_REFINED_FOR_SWIFT;
/// Removes a run loop and mode.
CF_EXPORT void CFNetServiceBrowserUnscheduleFromRunLoop(CFNetServiceBrowserRef _Nonnull browser, CFRunLoopRef _Nonnull runLoop, CFStringRef _Nonnull runLoopMode) CF_REFINED_FOR_SWIFT;

/// CFNetServiceRegisterWithOptions without options. Declared by older systems.
CF_EXPORT Boolean CFNetServiceRegister(CFNetServiceRef _Nonnull theService, CFStreamError *_Nullable error);
/// CFNetServiceResolveWithTimeout without a timeout. Declared by older systems.
CF_EXPORT Boolean CFNetServiceResolve(CFNetServiceRef _Nonnull theService, CFStreamError *_Nullable error);

CF_EXTERN_C_END

#endif
