#ifndef SYSTEMCONFIGURATION_SCSCHEMADEFINITIONS_H
#define SYSTEMCONFIGURATION_SCSCHEMADEFINITIONS_H

// The strings of keys and values.

#include <SystemConfiguration/SCDefs.h>

CF_EXTERN_C_BEGIN

// Domains of keys.

/// The domain of the present state.
CF_EXPORT const CFStringRef _Nonnull kSCDynamicStoreDomainState CF_REFINED_FOR_SWIFT;
/// The domain of settings.
CF_EXPORT const CFStringRef _Nonnull kSCDynamicStoreDomainSetup CF_REFINED_FOR_SWIFT;

// Components of keys.

/// Component of a key: the network.
CF_EXPORT const CFStringRef _Nonnull kSCCompNetwork CF_REFINED_FOR_SWIFT;
/// Component of a key: what concerns the whole network.
CF_EXPORT const CFStringRef _Nonnull kSCCompGlobal CF_REFINED_FOR_SWIFT;
/// Component of a key: interfaces.
CF_EXPORT const CFStringRef _Nonnull kSCCompInterface CF_REFINED_FOR_SWIFT;
/// Component of a key: services.
CF_EXPORT const CFStringRef _Nonnull kSCCompService CF_REFINED_FOR_SWIFT;
/// Component of a key: the name in multicast DNS.
CF_EXPORT const CFStringRef _Nonnull kSCCompHostNames CF_REFINED_FOR_SWIFT;
/// Component of a key: the computer.
CF_EXPORT const CFStringRef _Nonnull kSCCompSystem CF_REFINED_FOR_SWIFT;
/// Pattern of one component of a key.
CF_EXPORT const CFStringRef _Nonnull kSCCompAnyRegex CF_REFINED_FOR_SWIFT;

// Entities.

/// Entity: the name servers.
CF_EXPORT const CFStringRef _Nonnull kSCEntNetDNS CF_REFINED_FOR_SWIFT;
/// Entity: IPv4 addresses, and the router.
CF_EXPORT const CFStringRef _Nonnull kSCEntNetIPv4 CF_REFINED_FOR_SWIFT;
/// Entity: IPv6 addresses, and the router.
CF_EXPORT const CFStringRef _Nonnull kSCEntNetIPv6 CF_REFINED_FOR_SWIFT;
/// Entity: the interface of a service.
CF_EXPORT const CFStringRef _Nonnull kSCEntNetInterface CF_REFINED_FOR_SWIFT;
/// Entity: the state of a link.
CF_EXPORT const CFStringRef _Nonnull kSCEntNetLink CF_REFINED_FOR_SWIFT;
/// Entity: the proxies.
CF_EXPORT const CFStringRef _Nonnull kSCEntNetProxies CF_REFINED_FOR_SWIFT;

// Values of State:/Network/Global and State:/Network/Interface.

/// Value: the names of the interfaces (CFArray of CFString), in the kernel's order.
CF_EXPORT const CFStringRef _Nonnull kSCDynamicStorePropNetInterfaces CF_REFINED_FOR_SWIFT;
/// Value: the interface of the preferred default route (CFString).
CF_EXPORT const CFStringRef _Nonnull kSCDynamicStorePropNetPrimaryInterface CF_REFINED_FOR_SWIFT;
/// Value: the service of the preferred default route (CFString). Never present: Linux has no services.
CF_EXPORT const CFStringRef _Nonnull kSCDynamicStorePropNetPrimaryService CF_REFINED_FOR_SWIFT;
/// Value: the services (CFArray of CFString). Never present: Linux has no services.
CF_EXPORT const CFStringRef _Nonnull kSCDynamicStorePropNetServiceIDs CF_REFINED_FOR_SWIFT;

// Values of IPv4.

/// Value: the addresses of an interface (CFArray of CFString).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetIPv4Addresses CF_REFINED_FOR_SWIFT;
/// Value: the mask of each address (CFArray of CFString).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetIPv4SubnetMasks CF_REFINED_FOR_SWIFT;
/// Value: the broadcast address of each address (CFArray of CFString), which follows from its mask, unless an address has none.
CF_EXPORT const CFStringRef _Nonnull kSCPropNetIPv4BroadcastAddresses CF_REFINED_FOR_SWIFT;
/// Value: the router of the preferred default route (CFString), unless it has none.
CF_EXPORT const CFStringRef _Nonnull kSCPropNetIPv4Router CF_REFINED_FOR_SWIFT;

// Values of IPv6.

/// Value: the addresses of an interface (CFArray of CFString), except those that the kernel does not use yet.
CF_EXPORT const CFStringRef _Nonnull kSCPropNetIPv6Addresses CF_REFINED_FOR_SWIFT;
/// Value: the length of each address's prefix (CFArray of CFNumber).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetIPv6PrefixLength CF_REFINED_FOR_SWIFT;
/// Value: the router of the preferred default route (CFString), unless it has none.
CF_EXPORT const CFStringRef _Nonnull kSCPropNetIPv6Router CF_REFINED_FOR_SWIFT;

// Values of Link.

/// Value: whether the link is up and works (CFBoolean).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetLinkActive CF_REFINED_FOR_SWIFT;

// Values of DNS.

/// Value: the addresses of the name servers (CFArray of CFString).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetDNSServerAddresses CF_REFINED_FOR_SWIFT;
/// Value: the search domains (CFArray of CFString).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetDNSSearchDomains CF_REFINED_FOR_SWIFT;
/// Value: the first search domain (CFString).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetDNSDomainName CF_REFINED_FOR_SWIFT;

// Values of Setup:/System and Setup:/Network/HostNames.

/// Value: the computer's name (CFString).
CF_EXPORT const CFStringRef _Nonnull kSCPropSystemComputerName CF_REFINED_FOR_SWIFT;
/// Value: the encoding of the computer's name (CFNumber with a CFStringEncoding): UTF-8.
CF_EXPORT const CFStringRef _Nonnull kSCPropSystemComputerNameEncoding CF_REFINED_FOR_SWIFT;
/// Value: the name in multicast DNS, without `.local` (CFString).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetLocalHostName CF_REFINED_FOR_SWIFT;

// Values of Proxies: the same strings as kCFNetworkProxies….

/// Setting: the hosts that are reached directly (CFArray of CFString).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesExceptionsList CF_REFINED_FOR_SWIFT;
/// Setting: whether names without a dot are reached directly (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesExcludeSimpleHostnames CF_REFINED_FOR_SWIFT;
/// Setting: whether the proxy for ftp is used (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesFTPEnable CF_REFINED_FOR_SWIFT;
/// Setting: whether FTP uses passive mode (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesFTPPassive CF_REFINED_FOR_SWIFT;
/// Setting: the port of the proxy for ftp (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesFTPPort CF_REFINED_FOR_SWIFT;
/// Setting: the host of the proxy for ftp (CFString).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesFTPProxy CF_REFINED_FOR_SWIFT;
/// Setting of Apple's systems. Never present.
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesGopherEnable CF_REFINED_FOR_SWIFT;
/// Setting of Apple's systems. Never present.
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesGopherPort CF_REFINED_FOR_SWIFT;
/// Setting of Apple's systems. Never present.
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesGopherProxy CF_REFINED_FOR_SWIFT;
/// Setting: whether the proxy for http is used (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesHTTPEnable CF_REFINED_FOR_SWIFT;
/// Setting: the port of the proxy for http (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesHTTPPort CF_REFINED_FOR_SWIFT;
/// Setting: the host of the proxy for http (CFString).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesHTTPProxy CF_REFINED_FOR_SWIFT;
/// Setting: whether the proxy for https is used (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesHTTPSEnable CF_REFINED_FOR_SWIFT;
/// Setting: the port of the proxy for https (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesHTTPSPort CF_REFINED_FOR_SWIFT;
/// Setting: the host of the proxy for https (CFString).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesHTTPSProxy CF_REFINED_FOR_SWIFT;
/// Setting of Apple's systems. Never present.
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesRTSPEnable CF_REFINED_FOR_SWIFT;
/// Setting of Apple's systems. Never present.
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesRTSPPort CF_REFINED_FOR_SWIFT;
/// Setting of Apple's systems. Never present.
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesRTSPProxy CF_REFINED_FOR_SWIFT;
/// Setting: whether the SOCKS proxy is used (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesSOCKSEnable CF_REFINED_FOR_SWIFT;
/// Setting: the port of the SOCKS proxy (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesSOCKSPort CF_REFINED_FOR_SWIFT;
/// Setting: the host of the SOCKS proxy (CFString).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesSOCKSProxy CF_REFINED_FOR_SWIFT;
/// Setting: whether a script decides (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesProxyAutoConfigEnable CF_REFINED_FOR_SWIFT;
/// Setting: the text of the script (CFString).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesProxyAutoConfigJavaScript CF_REFINED_FOR_SWIFT;
/// Setting: the URL of the script (CFString).
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesProxyAutoConfigURLString CF_REFINED_FOR_SWIFT;
/// Setting of Apple's systems. Never present.
CF_EXPORT const CFStringRef _Nonnull kSCPropNetProxiesProxyAutoDiscoveryEnable CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
