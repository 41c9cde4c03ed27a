#ifndef SYSTEMCONFIGURATION_SCDYNAMICSTORECOPYSPECIFIC_H
#define SYSTEMCONFIGURATION_SCDYNAMICSTORECOPYSPECIFIC_H

#include <SystemConfiguration/SCDynamicStore.h>

CF_EXTERN_C_BEGIN

/// The name of the computer for its users, the pretty host name if there is one, and UTF-8 as its encoding. The session may be NULL.
CF_EXPORT CFStringRef _Nullable SCDynamicStoreCopyComputerName(SCDynamicStoreRef _Nullable store, CFStringEncoding *_Nullable nameEncoding) CF_REFINED_FOR_SWIFT;

/// The name of the computer in multicast DNS, without `.local`. The session may be NULL.
CF_EXPORT CFStringRef _Nullable SCDynamicStoreCopyLocalHostName(SCDynamicStoreRef _Nullable store) CF_REFINED_FOR_SWIFT;

/// Returns NULL with kSCStatusNoKey: Linux has no locations.
CF_EXPORT CFStringRef _Nullable SCDynamicStoreCopyLocation(SCDynamicStoreRef _Nullable store) CF_REFINED_FOR_SWIFT;

/// The proxy settings, as CFNetworkCopySystemProxySettings returns them. Returns NULL with kSCStatusFailed if they cannot be read. The
/// session may be NULL.
CF_EXPORT CFDictionaryRef _Nullable SCDynamicStoreCopyProxies(SCDynamicStoreRef _Nullable store) CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
