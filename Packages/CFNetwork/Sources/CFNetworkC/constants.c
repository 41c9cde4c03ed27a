// The string constants. CFSTR cannot be used at file scope; each constant has the layout of the object that CFSTR creates.

#include <CFNetwork/CFNetwork.h>
#include <stddef.h>

_Static_assert(
    sizeof(struct __CFConstStr) == 40 && offsetof(struct __CFConstStr, _ptr) == 24 && offsetof(struct __CFConstStr, _length) == 32,
    "this toolchain has another layout of constant strings");

#define STRING(name, text)                                                                                             \
    static struct __CFConstStr name##_ = { { (uintptr_t)&_CF_CONSTANT_STRING_SWIFT_CLASS, _CF_CONSTANT_OBJECT_STRONG_RC, 0x07C8 }, \
        (uint8_t *)(text), sizeof(text) - 1 };                                                                         \
    const CFStringRef name = (CFStringRef)&name##_

STRING(kCFHTTPVersion1_0, "HTTP/1.0");
STRING(kCFHTTPVersion1_1, "HTTP/1.1");
STRING(kCFHTTPVersion2_0, "HTTP/2.0");
STRING(kCFHTTPVersion3_0, "HTTP/3.0");
STRING(kCFHTTPAuthenticationSchemeBasic, "Basic");
STRING(kCFHTTPAuthenticationSchemeDigest, "Digest");
STRING(kCFHTTPAuthenticationSchemeNTLM, "NTLM");
STRING(kCFHTTPAuthenticationSchemeKerberos, "Kerberos");
STRING(kCFHTTPAuthenticationSchemeNegotiate, "Negotiate");
STRING(kCFHTTPAuthenticationSchemeNegotiate2, "Negotiate2");
STRING(kCFHTTPAuthenticationSchemeXMobileMeAuthToken, "X-MobileMe-AuthToken");
STRING(kCFHTTPAuthenticationSchemeOAuth1, "OAuth");
STRING(kCFHTTPAuthenticationUsername, "kCFHTTPAuthenticationUsername");
STRING(kCFHTTPAuthenticationPassword, "kCFHTTPAuthenticationPassword");
STRING(kCFHTTPAuthenticationAccountDomain, "kCFHTTPAuthenticationAccountDomain");
STRING(kCFErrorDomainCFNetwork, "kCFErrorDomainCFNetwork");
STRING(kCFURLErrorFailingURLErrorKey, "NSErrorFailingURLKey");
STRING(kCFURLErrorFailingURLStringErrorKey, "NSErrorFailingURLStringKey");
STRING(kCFGetAddrInfoFailureKey, "kCFGetAddrInfoFailureKey");
STRING(kCFSOCKSStatusCodeKey, "kCFSOCKSStatusCodeKey");
STRING(kCFSOCKSVersionKey, "kCFSOCKSVersionKey");
STRING(kCFSOCKSNegotiationMethodKey, "kCFSOCKSNegotiationMethodKey");
STRING(kCFDNSServiceFailureKey, "kCFDNSServiceFailureKey");
STRING(kCFFTPStatusCodeKey, "kCFFTPStatusCodeKey");

STRING(kCFStreamPropertySSLSettings, "kCFStreamPropertySSLSettings");
STRING(kCFStreamSSLLevel, "kCFStreamSSLLevel");
STRING(kCFStreamSSLPeerName, "kCFStreamSSLPeerName");
STRING(kCFStreamSSLCertificates, "kCFStreamSSLCertificates");
STRING(kCFStreamSSLIsServer, "kCFStreamSSLIsServer");
STRING(kCFStreamSSLValidatesCertificateChain, "kCFStreamSSLValidatesCertificateChain");
STRING(kCFStreamSSLAllowsExpiredCertificates, "kCFStreamSSLAllowsExpiredCertificates");
STRING(kCFStreamSSLAllowsExpiredRoots, "kCFStreamSSLAllowsExpiredRoots");
STRING(kCFStreamSSLAllowsAnyRoot, "kCFStreamSSLAllowsAnyRoot");
STRING(kCFStreamPropertySSLPeerCertificates, "kCFStreamPropertySSLPeerCertificates");
STRING(kCFStreamPropertySocketRemoteHost, "kCFStreamPropertySocketRemoteHost");
STRING(kCFStreamPropertySocketRemoteNetService, "kCFStreamPropertySocketRemoteNetService");
STRING(kCFStreamPropertyCONNECTProxy, "kCFStreamPropertyCONNECTProxy");
STRING(kCFStreamPropertyCONNECTProxyHost, "kCFStreamPropertyCONNECTProxyHost");
STRING(kCFStreamPropertyCONNECTProxyPort, "kCFStreamPropertyCONNECTProxyPort");
STRING(kCFStreamPropertyCONNECTVersion, "kCFStreamPropertyCONNECTVersion");
STRING(kCFStreamPropertyCONNECTAdditionalHeaders, "kCFStreamPropertyCONNECTAdditionalHeaders");
STRING(kCFStreamPropertyCONNECTResponse, "kCFStreamPropertyCONNECTResponse");
STRING(kCFStreamPropertyPreviousCONNECTResponse, "kCFStreamPropertyPreviousCONNECTResponse");
STRING(kCFStreamPropertySSLContext, "kCFStreamPropertySSLContext");
STRING(kCFStreamPropertySSLPeerTrust, "kCFStreamPropertySSLPeerTrust");
STRING(kCFStreamPropertyNoCellular, "kCFStreamPropertyNoCellular");
STRING(kCFStreamPropertyConnectionIsCellular, "kCFStreamPropertyConnectionIsCellular");
STRING(kCFStreamPropertyAllowExpensiveNetworkAccess, "kCFStreamPropertyAllowExpensiveNetworkAccess");
STRING(kCFStreamPropertyConnectionIsExpensive, "kCFStreamPropertyConnectionIsExpensive");
STRING(kCFStreamPropertyAllowConstrainedNetworkAccess, "kCFStreamPropertyAllowConstrainedNetworkAccess");
STRING(kCFStreamPropertySocketExtendedBackgroundIdleMode, "kCFStreamPropertySocketExtendedBackgroundIdleMode");
STRING(kCFStreamPropertyProxyLocalBypass, "kCFStreamPropertyProxyLocalBypass");
STRING(kCFStreamNetworkServiceType, "kCFStreamNetworkServiceType");
STRING(kCFStreamNetworkServiceTypeVideo, "kCFStreamNetworkServiceTypeVideo");
STRING(kCFStreamNetworkServiceTypeVoice, "kCFStreamNetworkServiceTypeVoice");
STRING(kCFStreamNetworkServiceTypeBackground, "kCFStreamNetworkServiceTypeBackground");
STRING(kCFStreamNetworkServiceTypeResponsiveData, "kCFStreamNetworkServiceTypeResponsiveData");
STRING(kCFStreamNetworkServiceTypeCallSignaling, "kCFStreamNetworkServiceTypeCallSignaling");
STRING(kCFStreamNetworkServiceTypeAVStreaming, "kCFStreamNetworkServiceTypeAVStreaming");
STRING(kCFStreamNetworkServiceTypeResponsiveAV, "kCFStreamNetworkServiceTypeResponsiveAV");
STRING(kCFStreamNetworkServiceTypeVoIP, "kCFStreamNetworkServiceTypeVoIP");

STRING(kCFStreamPropertyHTTPResponseHeader, "kCFStreamPropertyHTTPResponseHeader");
STRING(kCFStreamPropertyHTTPFinalURL, "kCFStreamPropertyHTTPFinalURL");
STRING(kCFStreamPropertyHTTPFinalRequest, "kCFStreamPropertyHTTPFinalRequest");
STRING(kCFStreamPropertyHTTPProxy, "kCFStreamPropertyHTTPProxy");
STRING(kCFStreamPropertyHTTPProxyHost, "HTTPProxy");
STRING(kCFStreamPropertyHTTPProxyPort, "HTTPPort");
STRING(kCFStreamPropertyHTTPSProxyHost, "HTTPSProxy");
STRING(kCFStreamPropertyHTTPSProxyPort, "HTTPSPort");
STRING(kCFStreamPropertyHTTPShouldAutoredirect, "kCFStreamPropertyHTTPShouldAutoredirect");
STRING(kCFStreamPropertyHTTPAttemptPersistentConnection, "kCFStreamPropertyHTTPAttemptPersistentConnection");
STRING(kCFStreamPropertyHTTPRequestBytesWrittenCount, "kCFStreamPropertyHTTPRequestBytesWrittenCount");

STRING(kCFStreamPropertyFTPUserName, "kCFStreamPropertyFTPUserName");
STRING(kCFStreamPropertyFTPPassword, "kCFStreamPropertyFTPPassword");
STRING(kCFStreamPropertyFTPUsePassiveMode, "kCFStreamPropertyFTPUsePassiveMode");
STRING(kCFStreamPropertyFTPResourceSize, "kCFStreamPropertyFTPResourceSize");
STRING(kCFStreamPropertyFTPFetchResourceInfo, "kCFStreamPropertyFTPFetchResourceInfo");
STRING(kCFStreamPropertyFTPFileTransferOffset, "kCFStreamPropertyFTPFileTransferOffset");
STRING(kCFStreamPropertyFTPAttemptPersistentConnection, "kCFStreamPropertyFTPAttemptPersistentConnection");
STRING(kCFStreamPropertyFTPProxy, "kCFStreamPropertyFTPProxy");
STRING(kCFStreamPropertyFTPProxyHost, "FTPProxy");
STRING(kCFStreamPropertyFTPProxyPort, "FTPPort");
STRING(kCFStreamPropertyFTPProxyUser, "kCFStreamPropertyFTPProxyUser");
STRING(kCFStreamPropertyFTPProxyPassword, "kCFStreamPropertyFTPProxyPassword");
STRING(kCFFTPResourceMode, "kCFFTPResourceMode");
STRING(kCFFTPResourceName, "kCFFTPResourceName");
STRING(kCFFTPResourceOwner, "kCFFTPResourceOwner");
STRING(kCFFTPResourceGroup, "kCFFTPResourceGroup");
STRING(kCFFTPResourceLink, "kCFFTPResourceLink");
STRING(kCFFTPResourceSize, "kCFFTPResourceSize");
STRING(kCFFTPResourceType, "kCFFTPResourceType");
STRING(kCFFTPResourceModDate, "kCFFTPResourceModDate");

const SInt32 kCFStreamErrorDomainHTTP = 4;
const SInt32 kCFStreamErrorDomainFTP = 6;
const SInt32 kCFStreamErrorDomainNetServices = 10;
const SInt32 kCFStreamErrorDomainMach = 11;
const SInt32 kCFStreamErrorDomainNetDB = 12;
const SInt32 kCFStreamErrorDomainSystemConfiguration = 13;

// kCFNetworkProxies… are the keys of the system's settings; the other constants of CFProxySupport.h have their own text.
STRING(kCFProxyTypeKey, "kCFProxyTypeKey");
STRING(kCFProxyHostNameKey, "kCFProxyHostNameKey");
STRING(kCFProxyPortNumberKey, "kCFProxyPortNumberKey");
STRING(kCFProxyAutoConfigurationURLKey, "kCFProxyAutoConfigurationURLKey");
STRING(kCFProxyAutoConfigurationJavaScriptKey, "kCFProxyAutoConfigurationJavaScriptKey");
STRING(kCFProxyUsernameKey, "kCFProxyUsernameKey");
STRING(kCFProxyPasswordKey, "kCFProxyPasswordKey");
STRING(kCFProxyTypeNone, "kCFProxyTypeNone");
STRING(kCFProxyTypeHTTP, "kCFProxyTypeHTTP");
STRING(kCFProxyTypeHTTPS, "kCFProxyTypeHTTPS");
STRING(kCFProxyTypeSOCKS, "kCFProxyTypeSOCKS");
STRING(kCFProxyTypeFTP, "kCFProxyTypeFTP");
STRING(kCFProxyTypeAutoConfigurationURL, "kCFProxyTypeAutoConfigurationURL");
STRING(kCFProxyTypeAutoConfigurationJavaScript, "kCFProxyTypeAutoConfigurationJavaScript");
STRING(kCFProxyAutoConfigurationHTTPResponseKey, "kCFProxyAutoConfigurationHTTPResponseKey");
STRING(kCFNetworkProxiesExceptionsList, "ExceptionsList");
STRING(kCFNetworkProxiesExcludeSimpleHostnames, "ExcludeSimpleHostnames");
STRING(kCFNetworkProxiesFTPEnable, "FTPEnable");
STRING(kCFNetworkProxiesFTPPassive, "FTPPassive");
STRING(kCFNetworkProxiesFTPPort, "FTPPort");
STRING(kCFNetworkProxiesFTPProxy, "FTPProxy");
STRING(kCFNetworkProxiesGopherEnable, "GopherEnable");
STRING(kCFNetworkProxiesGopherPort, "GopherPort");
STRING(kCFNetworkProxiesGopherProxy, "GopherProxy");
STRING(kCFNetworkProxiesHTTPEnable, "HTTPEnable");
STRING(kCFNetworkProxiesHTTPPort, "HTTPPort");
STRING(kCFNetworkProxiesHTTPProxy, "HTTPProxy");
STRING(kCFNetworkProxiesHTTPSEnable, "HTTPSEnable");
STRING(kCFNetworkProxiesHTTPSPort, "HTTPSPort");
STRING(kCFNetworkProxiesHTTPSProxy, "HTTPSProxy");
STRING(kCFNetworkProxiesRTSPEnable, "RTSPEnable");
STRING(kCFNetworkProxiesRTSPPort, "RTSPPort");
STRING(kCFNetworkProxiesRTSPProxy, "RTSPProxy");
STRING(kCFNetworkProxiesSOCKSEnable, "SOCKSEnable");
STRING(kCFNetworkProxiesSOCKSPort, "SOCKSPort");
STRING(kCFNetworkProxiesSOCKSProxy, "SOCKSProxy");
STRING(kCFNetworkProxiesProxyAutoConfigEnable, "ProxyAutoConfigEnable");
STRING(kCFNetworkProxiesProxyAutoConfigURLString, "ProxyAutoConfigURLString");
STRING(kCFNetworkProxiesProxyAutoConfigJavaScript, "ProxyAutoConfigJavaScript");
STRING(kCFNetworkProxiesProxyAutoDiscoveryEnable, "ProxyAutoDiscoveryEnable");

// Declared by the toolchain's CFStream.h, which has no definitions for Linux.
STRING(kCFStreamPropertySOCKSProxy, "kCFStreamPropertySOCKSProxy");
STRING(kCFStreamPropertySOCKSProxyHost, "SOCKSProxy");
STRING(kCFStreamPropertySOCKSProxyPort, "SOCKSPort");
STRING(kCFStreamPropertySOCKSVersion, "kCFStreamPropertySOCKSVersion");
STRING(kCFStreamSocketSOCKSVersion4, "kCFStreamSocketSOCKSVersion4");
STRING(kCFStreamSocketSOCKSVersion5, "kCFStreamSocketSOCKSVersion5");
STRING(kCFStreamPropertySOCKSUser, "kCFStreamPropertySOCKSUser");
STRING(kCFStreamPropertySOCKSPassword, "kCFStreamPropertySOCKSPassword");
STRING(kCFStreamPropertySocketSecurityLevel, "kCFStreamPropertySocketSecurityLevel");
STRING(kCFStreamSocketSecurityLevelNone, "kCFStreamSocketSecurityLevelNone");
STRING(kCFStreamSocketSecurityLevelSSLv2, "NSStreamSocketSecurityLevelSSLv2");
STRING(kCFStreamSocketSecurityLevelSSLv3, "NSStreamSocketSecurityLevelSSLv3");
STRING(kCFStreamSocketSecurityLevelTLSv1, "kCFStreamSocketSecurityLevelTLSv1");
STRING(kCFStreamSocketSecurityLevelNegotiatedSSL, "kCFStreamSocketSecurityLevelNegotiatedSSL");
STRING(kCFStreamPropertyShouldCloseNativeSocket, "kCFStreamPropertyShouldCloseNativeSocket");
const int kCFStreamErrorDomainSOCKS = 5;
const int kCFStreamErrorDomainSSL = 3;
