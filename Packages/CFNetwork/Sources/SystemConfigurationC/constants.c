// The string constants, as in CFNetworkC.

#include <CFNetworkConstants.h>
#include <SystemConfiguration/SystemConfiguration.h>

STRING(kCFErrorDomainSystemConfiguration, "com.apple.SystemConfiguration");
STRING(kSCDynamicStoreUseSessionKeys, "UseSessionKeys");

STRING(kSCDynamicStoreDomainState, "State:");
STRING(kSCDynamicStoreDomainSetup, "Setup:");

STRING(kSCCompNetwork, "Network");
STRING(kSCCompGlobal, "Global");
STRING(kSCCompInterface, "Interface");
STRING(kSCCompService, "Service");
STRING(kSCCompHostNames, "HostNames");
STRING(kSCCompSystem, "System");
STRING(kSCCompAnyRegex, "[^/]+");

STRING(kSCEntNetDNS, "DNS");
STRING(kSCEntNetIPv4, "IPv4");
STRING(kSCEntNetIPv6, "IPv6");
STRING(kSCEntNetInterface, "Interface");
STRING(kSCEntNetLink, "Link");
STRING(kSCEntNetProxies, "Proxies");

STRING(kSCDynamicStorePropNetInterfaces, "Interfaces");
STRING(kSCDynamicStorePropNetPrimaryInterface, "PrimaryInterface");
STRING(kSCDynamicStorePropNetPrimaryService, "PrimaryService");
STRING(kSCDynamicStorePropNetServiceIDs, "ServiceIDs");

STRING(kSCPropNetIPv4Addresses, "Addresses");
STRING(kSCPropNetIPv4SubnetMasks, "SubnetMasks");
STRING(kSCPropNetIPv4BroadcastAddresses, "BroadcastAddresses");
STRING(kSCPropNetIPv4Router, "Router");

STRING(kSCPropNetIPv6Addresses, "Addresses");
STRING(kSCPropNetIPv6PrefixLength, "PrefixLength");
STRING(kSCPropNetIPv6Router, "Router");

STRING(kSCPropNetLinkActive, "Active");

STRING(kSCPropNetDNSServerAddresses, "ServerAddresses");
STRING(kSCPropNetDNSSearchDomains, "SearchDomains");
STRING(kSCPropNetDNSDomainName, "DomainName");

STRING(kSCPropSystemComputerName, "ComputerName");
STRING(kSCPropSystemComputerNameEncoding, "ComputerNameEncoding");
STRING(kSCPropNetLocalHostName, "LocalHostName");

STRING(kSCPropNetProxiesExceptionsList, "ExceptionsList");
STRING(kSCPropNetProxiesExcludeSimpleHostnames, "ExcludeSimpleHostnames");
STRING(kSCPropNetProxiesFTPEnable, "FTPEnable");
STRING(kSCPropNetProxiesFTPPassive, "FTPPassive");
STRING(kSCPropNetProxiesFTPPort, "FTPPort");
STRING(kSCPropNetProxiesFTPProxy, "FTPProxy");
STRING(kSCPropNetProxiesGopherEnable, "GopherEnable");
STRING(kSCPropNetProxiesGopherPort, "GopherPort");
STRING(kSCPropNetProxiesGopherProxy, "GopherProxy");
STRING(kSCPropNetProxiesHTTPEnable, "HTTPEnable");
STRING(kSCPropNetProxiesHTTPPort, "HTTPPort");
STRING(kSCPropNetProxiesHTTPProxy, "HTTPProxy");
STRING(kSCPropNetProxiesHTTPSEnable, "HTTPSEnable");
STRING(kSCPropNetProxiesHTTPSPort, "HTTPSPort");
STRING(kSCPropNetProxiesHTTPSProxy, "HTTPSProxy");
STRING(kSCPropNetProxiesRTSPEnable, "RTSPEnable");
STRING(kSCPropNetProxiesRTSPPort, "RTSPPort");
STRING(kSCPropNetProxiesRTSPProxy, "RTSPProxy");
STRING(kSCPropNetProxiesSOCKSEnable, "SOCKSEnable");
STRING(kSCPropNetProxiesSOCKSPort, "SOCKSPort");
STRING(kSCPropNetProxiesSOCKSProxy, "SOCKSProxy");
STRING(kSCPropNetProxiesProxyAutoConfigEnable, "ProxyAutoConfigEnable");
STRING(kSCPropNetProxiesProxyAutoConfigJavaScript, "ProxyAutoConfigJavaScript");
STRING(kSCPropNetProxiesProxyAutoConfigURLString, "ProxyAutoConfigURLString");
STRING(kSCPropNetProxiesProxyAutoDiscoveryEnable, "ProxyAutoDiscoveryEnable");
