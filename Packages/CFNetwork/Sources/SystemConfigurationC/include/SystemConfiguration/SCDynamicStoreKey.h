#ifndef SYSTEMCONFIGURATION_SCDYNAMICSTOREKEY_H
#define SYSTEMCONFIGURATION_SCDYNAMICSTOREKEY_H

#include <SystemConfiguration/SCDefs.h>

CF_EXTERN_C_BEGIN

// For an argument that is not a string, or that must not be NULL and is, the functions return NULL with kSCStatusInvalidArgument.

#ifndef __swift__
/// Creates a key from a format and its arguments.
CF_EXPORT CFStringRef _Nullable SCDynamicStoreKeyCreate(CFAllocatorRef _Nullable allocator, CFStringRef _Nonnull fmt, ...) CF_FORMAT_FUNCTION(2, 3);
#endif

/// Creates the key of what concerns the whole network: `State:/Network/Global/IPv4` for kSCDynamicStoreDomainState and kSCEntNetIPv4.
CF_EXPORT CFStringRef _Nonnull SCDynamicStoreKeyCreateNetworkGlobalEntity(CFAllocatorRef _Nullable allocator, CFStringRef _Nonnull domain, CFStringRef _Nonnull entity) CF_REFINED_FOR_SWIFT;

/// Creates the key of the list of interfaces: `State:/Network/Interface`.
CF_EXPORT CFStringRef _Nonnull SCDynamicStoreKeyCreateNetworkInterface(CFAllocatorRef _Nullable allocator, CFStringRef _Nonnull domain) CF_REFINED_FOR_SWIFT;

/// Creates the key of what concerns an interface, such as `State:/Network/Interface/eth0/IPv4`; without an entity, `State:/Network/Interface/eth0`.
/// With kSCCompAnyRegex for the name, a pattern of the keys of all interfaces.
CF_EXPORT CFStringRef _Nonnull SCDynamicStoreKeyCreateNetworkInterfaceEntity(CFAllocatorRef _Nullable allocator, CFStringRef _Nonnull domain, CFStringRef _Nonnull ifname, CFStringRef _Nullable entity) CF_REFINED_FOR_SWIFT;

/// Creates the key of what concerns a service, such as `Setup:/Network/Service/ID/IPv4`. It has no value: Linux has no services.
CF_EXPORT CFStringRef _Nonnull SCDynamicStoreKeyCreateNetworkServiceEntity(CFAllocatorRef _Nullable allocator, CFStringRef _Nonnull domain, CFStringRef _Nonnull serviceID, CFStringRef _Nullable entity) CF_REFINED_FOR_SWIFT;

/// Creates the key of the computer's name, `Setup:/System`.
CF_EXPORT CFStringRef _Nonnull SCDynamicStoreKeyCreateComputerName(CFAllocatorRef _Nullable allocator) CF_REFINED_FOR_SWIFT;

/// Creates the key of the name in multicast DNS, `Setup:/Network/HostNames`.
CF_EXPORT CFStringRef _Nonnull SCDynamicStoreKeyCreateHostNames(CFAllocatorRef _Nullable allocator) CF_REFINED_FOR_SWIFT;

/// Creates the key of the location, `Setup:`. It has no value: Linux has no locations.
CF_EXPORT CFStringRef _Nonnull SCDynamicStoreKeyCreateLocation(CFAllocatorRef _Nullable allocator) CF_REFINED_FOR_SWIFT;

/// Creates the key of the proxies, `State:/Network/Global/Proxies`.
CF_EXPORT CFStringRef _Nonnull SCDynamicStoreKeyCreateProxies(CFAllocatorRef _Nullable allocator) CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
