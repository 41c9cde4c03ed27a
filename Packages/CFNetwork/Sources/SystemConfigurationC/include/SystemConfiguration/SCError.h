#ifndef SYSTEMCONFIGURATION_SCERROR_H
#define SYSTEMCONFIGURATION_SCERROR_H

#include <SystemConfiguration/SCDefs.h>

CF_EXTERN_C_BEGIN

/// The results of SCError.
enum {
    kSCStatusOK = 0,
    kSCStatusFailed = 1001,
    kSCStatusInvalidArgument = 1002,
    kSCStatusAccessError = 1003,
    kSCStatusNoKey = 1004,
    kSCStatusKeyExists = 1005,
    kSCStatusLocked = 1006,
    kSCStatusNeedLock = 1007,
    kSCStatusNoStoreSession = 2001,
    kSCStatusNoStoreServer = 2002,
    kSCStatusNotifierActive = 2003,
    kSCStatusNoPrefsSession = 3001,
    kSCStatusPrefsBusy = 3002,
    kSCStatusNoConfigFile = 3003,
    kSCStatusNoLink = 3004,
    kSCStatusStale = 3005,
    kSCStatusMaxLink = 3006,
    kSCStatusReachabilityUnknown = 4001,
    kSCStatusConnectionNoService = 5001,
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
