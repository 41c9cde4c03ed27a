// The texts of errors.

#include <Security/Security.h>

static const char *text(OSStatus status) {
    switch (status) {
    case errSecSuccess: return "No error.";
    case errSecUnimplemented: return "The function or the class of items is not available.";
    case errSecIO: return "A file cannot be read or written.";
    case errSecParam: return "An argument is invalid.";
    case errSecAllocate: return "There is no memory.";
    case errSecUserCanceled: return "The user has cancelled the operation.";
    case errSecInternalComponent: return "The certificate could not be evaluated.";
    case errSecNotAvailable: return "The keychain is not available.";
    case errSecReadOnly: return "The keychain cannot be changed.";
    case errSecPassphraseRequired: return "A pass-phrase is required.";
    case errSecAuthFailed: return "The pass-phrase is wrong.";
    case errSecInvalidKeychain: return "The keychain is invalid.";
    case errSecDuplicateItem: return "The keychain has such an item already.";
    case errSecItemNotFound: return "The keychain has no such item.";
    case errSecDataTooLarge: return "An attribute or a password is too long.";
    case errSecNoSuchAttr: return "There is no such attribute.";
    case errSecInvalidItemRef: return "The item is invalid.";
    case errSecInvalidSearchRef: return "The search is invalid.";
    case errSecNoSuchClass: return "There is no such class of items.";
    case errSecNoDefaultKeychain: return "The user has no folder for a keychain.";
    case errSecInteractionNotAllowed: return "The keychain is locked, and the user did not unlock it.";
    case errSecDecode: return "The data are damaged.";
    case errSecCreateChainFailed: return "The chain of the certificate is incomplete or defective.";
    case errSecHostNameMismatch: return "The certificate is not valid for the name.";
    case errSecCertificateExpired: return "A certificate has expired.";
    case errSecCertificateNotValidYet: return "A certificate is not valid yet.";
    case errSecCertificateRevoked: return "A certificate was revoked.";
    case errSecNotTrusted: return "The chain ends at a certificate that is not trusted.";
    default: return NULL;
    }
}

CFStringRef SecCopyErrorMessageString(OSStatus status, void *reserved) {
    if (reserved != NULL) return NULL;
    const char *known = text(status);
    if (known != NULL) return CFStringCreateWithCString(NULL, known, kCFStringEncodingUTF8);
    return CFStringCreateWithFormat(NULL, NULL, CFSTR("Error %d."), (int)status);
}
