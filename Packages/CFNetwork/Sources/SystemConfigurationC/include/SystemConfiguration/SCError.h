#ifndef SYSTEMCONFIGURATION_SCERROR_H
#define SYSTEMCONFIGURATION_SCERROR_H

#include <SystemConfiguration/SCDefs.h>

CF_EXTERN_C_BEGIN

/// The results of SCError.
enum {
    /// The function succeeded.
    kSCStatusOK = 0,
    /// There is no memory or descriptor left, or the system's settings cannot be read.
    kSCStatusFailed = 1001,
    /// An argument is NULL, invalid or of another type.
    kSCStatusInvalidArgument = 1002,
    /// The value is the system's, and cannot be changed.
    kSCStatusAccessError = 1003,
    /// The key has no value.
    kSCStatusNoKey = 1004,
    /// The key exists already. Not returned: no session adds values.
    kSCStatusKeyExists = 1005,
    /// The store or the preferences are locked. Not returned.
    kSCStatusLocked = 1006,
    /// A lock is required. Not returned.
    kSCStatusNeedLock = 1007,
    /// The session is NULL.
    kSCStatusNoStoreSession = 2001,
    /// The server of the store is not available. Not returned: there is no server.
    kSCStatusNoStoreServer = 2002,
    /// The session has another queue, or a source of a run loop.
    kSCStatusNotifierActive = 2003,
    /// There is no session of the preferences. Not returned: there are no preferences.
    kSCStatusNoPrefsSession = 3001,
    /// The preferences are being changed. Not returned.
    kSCStatusPrefsBusy = 3002,
    /// There is no configuration file. Not returned.
    kSCStatusNoConfigFile = 3003,
    /// There is no such link. Not returned.
    kSCStatusNoLink = 3004,
    /// The preferences have been changed in the meantime. Not returned.
    kSCStatusStale = 3005,
    /// There are too many links. Not returned.
    kSCStatusMaxLink = 3006,
    /// The kernel cannot be asked for the route to a host.
    kSCStatusReachabilityUnknown = 4001,
    /// There is no network service for a connection. Not returned: Linux has no services.
    kSCStatusConnectionNoService = 5001,
    /// A connection is to be ignored. Not returned.
    kSCStatusConnectionIgnore = 5002,
};

/// The domain of SCCopyLastError's errors.
CF_EXPORT const CFStringRef _Nonnull kCFErrorDomainSystemConfiguration CF_REFINED_FOR_SWIFT;

/// The result of the last call of SystemConfiguration on this thread: a kSCStatus…; kSCStatusOK if it succeeded.
CF_EXPORT int SCError(void);

/// The text of a result, or of an errno. Constant for a kSCStatus…; that of strerror for an errno.
CF_EXPORT const char *_Nonnull SCErrorString(int status);

/// The result of SCError as an error, also for kSCStatusOK.
CF_EXPORT CFErrorRef _Nonnull SCCopyLastError(void) CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
