#ifndef SECURITY_SECTRUST_H
#define SECURITY_SECTRUST_H

// The verdicts are those of TLS streams: OpenSSL's, with the roots of this machine (which SSL_CERT_FILE and SSL_CERT_DIR override) unless a
// program sets others.

#include <Security/SecBase.h>
#include <Security/SecCertificate.h>
#include <Security/SecPolicy.h>

CF_EXTERN_C_BEGIN

/// The result of an evaluation.
typedef CF_ENUM(uint32_t, SecTrustResultType) {
    /// There is no evaluation with the present settings.
    kSecTrustResultInvalid = 0,
    /// The user trusts the certificate. Not returned: there are no such settings.
    kSecTrustResultProceed = 1,
    /// The user distrusts the certificate. Not returned: there are no such settings.
    kSecTrustResultDeny = 3,
    /// The certificate is trusted, because its chain ends at a trusted certificate.
    kSecTrustResultUnspecified = 4,
    /// The certificate is not trusted, but another name, time or set of roots may change that.
    kSecTrustResultRecoverableTrustFailure = 5,
    /// The certificate or its chain is defective or revoked.
    kSecTrustResultFatalTrustFailure = 6,
    /// The certificate could not be evaluated, such as without a readable file of roots.
    kSecTrustResultOtherError = 7,
};

/// The type identifier of trust objects.
CF_EXPORT CFTypeID SecTrustGetTypeID(void);

/// Creates a trust object for a certificate, or for an array whose first element is the one to evaluate and whose others may belong to its
/// chain, in any order. The policies are one or an array of several, all of which must be met; NULL and an empty array are
/// SecPolicyCreateBasicX509. Fails with errSecParam for other objects.
CF_EXPORT OSStatus SecTrustCreateWithCertificates(CFTypeRef _Nullable certificates, CFTypeRef _Nullable policies, SecTrustRef _Nullable *_Nullable CF_RETURNS_RETAINED trust);

/// Sets the certificates at which a chain may end (CFArray of SecCertificateRef), instead of this machine's roots; NULL for those again. Each call
/// replaces what SecTrustSetAnchorCertificatesOnly has set. Fails with errSecParam for other objects.
CF_EXPORT OSStatus SecTrustSetAnchorCertificates(SecTrustRef _Nullable trust, CFArrayRef _Nullable anchorCertificates) CF_REFINED_FOR_SWIFT;

/// Sets whether this machine's roots are excluded, until SecTrustSetAnchorCertificates is called again; FALSE to trust them besides the anchors.
/// Fails with errSecParam for another object.
CF_EXPORT OSStatus SecTrustSetAnchorCertificatesOnly(SecTrustRef _Nullable trust, Boolean anchorCertificatesOnly);

/// Sets the time of the evaluation; NULL for the present time. Fails with errSecParam for other objects, and for a date beyond 64 bits.
CF_EXPORT OSStatus SecTrustSetVerifyDate(SecTrustRef _Nullable trust, CFDateRef _Nullable verifyDate) CF_REFINED_FOR_SWIFT;

/// Evaluates trust, and returns whether the certificate is trusted: whether it meets each policy. A verdict for a time of SecTrustSetVerifyDate is
/// kept until a setting changes. For the present time, a success is kept until a setting changes or a certificate of the chain of any policy
/// expires, and a failure is evaluated anew by each call. If the certificate is not trusted, the error has the domain kCFErrorDomainOSStatus, a
/// text with the reason, and one of these codes: errSecCertificateExpired, errSecCertificateNotValidYet, errSecHostNameMismatch, errSecNotTrusted,
/// errSecCertificateRevoked, errSecCreateChainFailed; errSecInternalComponent if the certificate could not be evaluated; errSecParam for another
/// object. If several policies are not met, the error is that with the highest SecTrustResultType, and the first of these. May read the files with
/// the roots.
CF_EXPORT bool SecTrustEvaluateWithError(SecTrustRef _Nullable trust, CFErrorRef _Nullable *_Nullable CF_RETURNS_RETAINED error) CF_REFINED_FOR_SWIFT;

/// Returns the result of the last evaluation by SecTrustEvaluateWithError or SecTrustCopyCertificateChain, which may be a failure. It is
/// kSecTrustResultInvalid if there is none with the present settings, or a certificate that was trusted has expired since. Fails with errSecParam
/// unless the arguments are a trust object and a pointer.
CF_EXPORT OSStatus SecTrustGetTrustResult(SecTrustRef _Nullable trust, SecTrustResultType *_Nullable result);

/// The chain (CFArray of SecCertificateRef) from the certificate to the anchor, which is evaluated first if necessary. Of a certificate that is
/// not trusted, the certificates that the object was created with. With several policies, that for the last one. NULL for another object.
CF_EXPORT CFArrayRef _Nullable SecTrustCopyCertificateChain(SecTrustRef _Nullable trust) CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
