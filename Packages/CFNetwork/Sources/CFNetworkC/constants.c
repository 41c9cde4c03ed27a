// The string constants. CFSTR cannot be used at file scope; each constant has the layout of the object that CFSTR creates.

#include <CFNetwork/CFNetwork.h>

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
STRING(kCFErrorDomainCFNetwork, "kCFErrorDomainCFNetwork");
STRING(kCFURLErrorFailingURLErrorKey, "NSErrorFailingURLKey");
STRING(kCFURLErrorFailingURLStringErrorKey, "NSErrorFailingURLStringKey");
STRING(kCFGetAddrInfoFailureKey, "kCFGetAddrInfoFailureKey");
STRING(kCFSOCKSStatusCodeKey, "kCFSOCKSStatusCodeKey");
STRING(kCFSOCKSVersionKey, "kCFSOCKSVersionKey");
STRING(kCFSOCKSNegotiationMethodKey, "kCFSOCKSNegotiationMethodKey");
STRING(kCFDNSServiceFailureKey, "kCFDNSServiceFailureKey");
STRING(kCFFTPStatusCodeKey, "kCFFTPStatusCodeKey");
