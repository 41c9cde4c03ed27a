// The functions of SystemConfiguration that C expresses better than Swift: errors of a thread, and formats.

#include "SystemConfigurationRuntime.h"
#include <stdarg.h>
#include <string.h>

static _Thread_local int lastError = kSCStatusOK;

void scn_error_set(int status) { lastError = status; }
int SCError(void) { return lastError; }

const char *SCErrorString(int status) {
    switch (status) {
    case kSCStatusOK: return "Success";
    case kSCStatusFailed: return "The operation failed";
    case kSCStatusInvalidArgument: return "An argument is invalid";
    case kSCStatusAccessError: return "Permission denied";
    case kSCStatusNoKey: return "There is no such key";
    case kSCStatusKeyExists: return "The key exists already";
    case kSCStatusLocked: return "Locked";
    case kSCStatusNeedLock: return "A lock is required";
    case kSCStatusNoStoreSession: return "There is no session of the dynamic store";
    case kSCStatusNoStoreServer: return "The server of the dynamic store is not available";
    case kSCStatusNotifierActive: return "Changes are reported elsewhere already";
    case kSCStatusNoPrefsSession: return "There is no session of the preferences";
    case kSCStatusPrefsBusy: return "The preferences are being changed";
    case kSCStatusNoConfigFile: return "There is no configuration file";
    case kSCStatusNoLink: return "There is no such link";
    case kSCStatusStale: return "The preferences have been changed in the meantime";
    case kSCStatusMaxLink: return "There are too many links";
    case kSCStatusReachabilityUnknown: return "The reachability cannot be determined";
    case kSCStatusConnectionNoService: return "There is no network service for the connection";
    case kSCStatusConnectionIgnore: return "The connection is to be ignored";
    default: return strerror(status);
    }
}

CFErrorRef SCCopyLastError(void) {
    CFStringRef text = CFStringCreateWithCString(NULL, SCErrorString(lastError), kCFStringEncodingUTF8);
    const void *keys[] = {kCFErrorDescriptionKey}, *values[] = {text};
    CFErrorRef error = CFErrorCreateWithUserInfoKeysAndValues(NULL, kCFErrorDomainSystemConfiguration, lastError, keys, values, 1);
    CFRelease(text);
    return error;
}

CFStringRef SCDynamicStoreKeyCreate(CFAllocatorRef allocator, CFStringRef fmt, ...) {
    if (fmt == NULL || CFGetTypeID(fmt) != CFStringGetTypeID()) {
        lastError = kSCStatusInvalidArgument;
        return NULL;
    }
    va_list arguments;
    va_start(arguments, fmt);
    CFStringRef key = CFStringCreateWithFormatAndArguments(allocator, NULL, fmt, arguments);
    va_end(arguments);
    lastError = kSCStatusOK;
    return key;
}

Boolean SCDynamicStoreSetDispatchQueue(SCDynamicStoreRef store, dispatch_queue_t queue) { return scn_store_set_queue(store, queue); }
Boolean SCNetworkReachabilitySetDispatchQueue(SCNetworkReachabilityRef target, dispatch_queue_t queue) {
    return scn_reachability_set_queue(target, queue);
}
