#ifndef SECURITY_SECBASE_H
#define SECURITY_SECBASE_H

// What the other headers of Security share: CoreFoundation, the types of objects, and the errors. The caller releases each object that a
// function returns or writes to a pointer of the caller. A call that fails writes nothing but its error.
#include <CFNetwork/CFNetworkDefs.h>

CF_EXTERN_C_BEGIN

/// A keychain. There is one, the user's, which NULL stands for; no function creates a reference to it.
typedef struct CF_BRIDGED_TYPE(id) OpaqueSecKeychainRef *SecKeychainRef;

/// An entry of the keychain. A CoreFoundation object; two are equal only if they are the same. It is thread-safe.
typedef struct CF_BRIDGED_TYPE(id) OpaqueSecKeychainItemRef *SecKeychainItemRef;

/// A search in the keychain. A CoreFoundation object; two are equal only if they are the same. It is thread-safe.
typedef struct CF_BRIDGED_TYPE(id) OpaqueSecKeychainSearchRef *SecKeychainSearchRef;

/// A certificate (X.509, RFC 5280). A CoreFoundation object; two are equal if their DER encodings are. It is thread-safe.
typedef struct CF_BRIDGED_TYPE(id) __SecCertificate *SecCertificateRef;

/// A certificate with its private key. A CoreFoundation object; two are equal if their certificates are. It is thread-safe.
typedef struct CF_BRIDGED_TYPE(id) __SecIdentity *SecIdentityRef;

/// What a certificate must be valid for. A CoreFoundation object; two are equal if they demand the same. It is thread-safe.
typedef struct CF_BRIDGED_TYPE(id) __SecPolicy *SecPolicyRef;

/// A certificate to evaluate. A CoreFoundation object; two are equal only if they are the same. It is thread-safe.
typedef struct CF_BRIDGED_TYPE(id) __SecTrust *SecTrustRef;

/// The results of functions. Any other result is an error of Apple's systems that this library does not have.
CF_ENUM(OSStatus) {
    /// There is no error.
    errSecSuccess = 0,
    /// The function or the class of items is not available. Not returned.
    errSecUnimplemented = -4,
    /// A file cannot be read or written. Not returned.
    errSecIO = -36,
    /// An argument is invalid.
    errSecParam = -50,
    /// There is no memory.
    errSecAllocate = -108,
    /// The user has closed the window that unlocks the keychain.
    errSecUserCanceled = -128,
    /// A certificate could not be evaluated.
    errSecInternalComponent = -2070,
    /// The Secret Service fails or has no default key ring, or the file cannot be read or written.
    errSecNotAvailable = -25291,
    /// The keychain cannot be changed.
    errSecReadOnly = -25292,
    /// A bundle was read without the option for its pass-phrase.
    errSecPassphraseRequired = -25260,
    /// The pass-phrase is wrong.
    errSecAuthFailed = -25293,
    /// The argument is not a keychain.
    errSecInvalidKeychain = -25295,
    /// The keychain has such an item already.
    errSecDuplicateItem = -25299,
    /// The keychain has no such item.
    errSecItemNotFound = -25300,
    /// An attribute or a password is longer than the keychain keeps.
    errSecDataTooLarge = -25302,
    /// Internet passwords have no such attribute.
    errSecNoSuchAttr = -25303,
    /// The argument is not an item of the keychain.
    errSecInvalidItemRef = -25304,
    /// The argument is not a search.
    errSecInvalidSearchRef = -25305,
    /// There is no such class of items.
    errSecNoSuchClass = -25306,
    /// The user has no folder for a keychain.
    errSecNoDefaultKeychain = -25307,
    /// The keychain is locked, and the user did not unlock it.
    errSecInteractionNotAllowed = -25308,
    /// The file of the keychain, or a PKCS#12 bundle, is damaged.
    errSecDecode = -26275,
    /// The chain of a certificate is incomplete or defective.
    errSecCreateChainFailed = -25318,
    /// The certificate is not valid for the name.
    errSecHostNameMismatch = -67602,
    /// A certificate has expired.
    errSecCertificateExpired = -67818,
    /// A certificate is not valid yet.
    errSecCertificateNotValidYet = -67819,
    /// A certificate was revoked.
    errSecCertificateRevoked = -67820,
    /// The chain ends at a certificate that is not trusted.
    errSecNotTrusted = -67843,
};

/// The text of an error; that of an unknown one has its number. The second argument is reserved and must be NULL.
CF_EXPORT CFStringRef _Nullable SecCopyErrorMessageString(OSStatus status, void *_Nullable reserved) CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
