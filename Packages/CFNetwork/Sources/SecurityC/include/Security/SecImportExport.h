#ifndef SECURITY_SECIMPORTEXPORT_H
#define SECURITY_SECIMPORTEXPORT_H

#include <Security/SecBase.h>

CF_EXTERN_C_BEGIN

/// Option: the pass-phrase of a bundle (CFString), which may be empty.
CF_EXPORT const CFStringRef _Nonnull kSecImportExportPassphrase CF_REFINED_FOR_SWIFT;
/// Key of an item: a trust object for the chain (SecTrustRef), with the policy SecPolicyCreateBasicX509.
CF_EXPORT const CFStringRef _Nonnull kSecImportItemTrust CF_REFINED_FOR_SWIFT;
/// Key of an item: the identity's certificate, then the others of the bundle (CFArray of SecCertificateRef).
CF_EXPORT const CFStringRef _Nonnull kSecImportItemCertChain CF_REFINED_FOR_SWIFT;
/// Key of an item: the certificate with its private key (SecIdentityRef).
CF_EXPORT const CFStringRef _Nonnull kSecImportItemIdentity CF_REFINED_FOR_SWIFT;

/// Reads a PKCS#12 bundle (RFC 7292) with one identity. The result is an array with one dictionary, with the keys kSecImportItem…. The keychain does not
/// change. Fails with errSecPassphraseRequired without the option kSecImportExportPassphrase, with errSecAuthFailed if the pass-phrase
/// is wrong, with errSecDecode if the data are no bundle with an identity, or are encrypted in a form that OpenSSL does not support, and with
/// errSecParam for other arguments, and other options.
CF_EXPORT OSStatus SecPKCS12Import(CFDataRef _Nullable pkcs12_data, CFDictionaryRef _Nullable options, CFArrayRef _Nullable *_Nullable CF_RETURNS_RETAINED items) CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
