#ifndef SECURITY_SECITEM_H
#define SECURITY_SECITEM_H

// Internet passwords as dictionaries. The keychain, its limits and the errors that all functions have in common are those of SecKeychain.h. Besides, all
// fail with errSecParam for a key that does not belong to the dictionary, such as kSecMatchLimit in one of SecItemDelete, for a value of another type, and
// without kSecClass; with errSecNoSuchClass for another class than kSecClassInternetPassword.

#include <Security/SecBase.h>

CF_EXTERN_C_BEGIN

/// Key: the class of items (CFString), in every dictionary but the second one of SecItemUpdate: kSecClassInternetPassword.
CF_EXPORT const CFStringRef _Nonnull kSecClass CF_REFINED_FOR_SWIFT;
/// Class: internet passwords.
CF_EXPORT const CFStringRef _Nonnull kSecClassInternetPassword CF_REFINED_FOR_SWIFT;
/// Attribute: the host name or address (CFString).
CF_EXPORT const CFStringRef _Nonnull kSecAttrServer CF_REFINED_FOR_SWIFT;
/// Attribute: the realm (CFString).
CF_EXPORT const CFStringRef _Nonnull kSecAttrSecurityDomain CF_REFINED_FOR_SWIFT;
/// Attribute: the user name (CFString).
CF_EXPORT const CFStringRef _Nonnull kSecAttrAccount CF_REFINED_FOR_SWIFT;
/// Attribute: a kSecAttrProtocol… (CFString).
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocol CF_REFINED_FOR_SWIFT;
/// Attribute: a kSecAttrAuthenticationType… (CFString).
CF_EXPORT const CFStringRef _Nonnull kSecAttrAuthenticationType CF_REFINED_FOR_SWIFT;
/// Attribute: the port number (CFNumber).
CF_EXPORT const CFStringRef _Nonnull kSecAttrPort CF_REFINED_FOR_SWIFT;
/// Attribute: the path of the URL (CFString).
CF_EXPORT const CFStringRef _Nonnull kSecAttrPath CF_REFINED_FOR_SWIFT;
/// Attribute: the name of the item (CFString), which password managers show; by default the user and the server.
CF_EXPORT const CFStringRef _Nonnull kSecAttrLabel CF_REFINED_FOR_SWIFT;
/// Attribute, only in results: when the item was added (CFDate).
CF_EXPORT const CFStringRef _Nonnull kSecAttrCreationDate CF_REFINED_FOR_SWIFT;
/// Attribute, only in results: when the item was changed last (CFDate).
CF_EXPORT const CFStringRef _Nonnull kSecAttrModificationDate CF_REFINED_FOR_SWIFT;
/// Key: the password (CFData).
CF_EXPORT const CFStringRef _Nonnull kSecValueData CF_REFINED_FOR_SWIFT;
/// Key: an item (SecKeychainItemRef), in results, and in searches, whose attributes then do not count.
CF_EXPORT const CFStringRef _Nonnull kSecValueRef CF_REFINED_FOR_SWIFT;
/// Key of searches: whether to return passwords (CFBoolean).
CF_EXPORT const CFStringRef _Nonnull kSecReturnData CF_REFINED_FOR_SWIFT;
/// Key of searches: whether to return attributes (CFBoolean).
CF_EXPORT const CFStringRef _Nonnull kSecReturnAttributes CF_REFINED_FOR_SWIFT;
/// Key of searches: whether to return SecKeychainItemRefs (CFBoolean).
CF_EXPORT const CFStringRef _Nonnull kSecReturnRef CF_REFINED_FOR_SWIFT;
/// Key of SecItemCopyMatching: kSecMatchLimitOne, kSecMatchLimitAll, or a number of items (CFNumber) of at least 1.
CF_EXPORT const CFStringRef _Nonnull kSecMatchLimit CF_REFINED_FOR_SWIFT;
/// Limit: the item that matches best, as the object itself, as for the number 1. The default.
CF_EXPORT const CFStringRef _Nonnull kSecMatchLimitOne CF_REFINED_FOR_SWIFT;
/// Limit: all items, in an array, the best match first, as for a number greater than 1.
CF_EXPORT const CFStringRef _Nonnull kSecMatchLimitAll CF_REFINED_FOR_SWIFT;

/// Protocol: FTP.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolFTP CF_REFINED_FOR_SWIFT;
/// Protocol: FTP with an account besides the user.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolFTPAccount CF_REFINED_FOR_SWIFT;
/// Protocol: HTTP.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolHTTP CF_REFINED_FOR_SWIFT;
/// Protocol: IRC.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolIRC CF_REFINED_FOR_SWIFT;
/// Protocol: NNTP.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolNNTP CF_REFINED_FOR_SWIFT;
/// Protocol: POP3.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolPOP3 CF_REFINED_FOR_SWIFT;
/// Protocol: SMTP.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolSMTP CF_REFINED_FOR_SWIFT;
/// Protocol: a SOCKS proxy.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolSOCKS CF_REFINED_FOR_SWIFT;
/// Protocol: IMAP.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolIMAP CF_REFINED_FOR_SWIFT;
/// Protocol: LDAP.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolLDAP CF_REFINED_FOR_SWIFT;
/// Protocol: the Apple Filing Protocol.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolAFP CF_REFINED_FOR_SWIFT;
/// Protocol: Telnet.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolTelnet CF_REFINED_FOR_SWIFT;
/// Protocol: SSH.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolSSH CF_REFINED_FOR_SWIFT;
/// Protocol: FTP over TLS.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolFTPS CF_REFINED_FOR_SWIFT;
/// Protocol: HTTP over TLS.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolHTTPS CF_REFINED_FOR_SWIFT;
/// Protocol: a proxy for HTTP.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolHTTPProxy CF_REFINED_FOR_SWIFT;
/// Protocol: a proxy for HTTPS, or one that is reached over TLS.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolHTTPSProxy CF_REFINED_FOR_SWIFT;
/// Protocol: a proxy for FTP.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolFTPProxy CF_REFINED_FOR_SWIFT;
/// Protocol: SMB.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolSMB CF_REFINED_FOR_SWIFT;
/// Protocol: RTSP.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolRTSP CF_REFINED_FOR_SWIFT;
/// Protocol: a proxy for RTSP.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolRTSPProxy CF_REFINED_FOR_SWIFT;
/// Protocol: DAAP.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolDAAP CF_REFINED_FOR_SWIFT;
/// Protocol: IPP.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolIPP CF_REFINED_FOR_SWIFT;
/// Protocol: NNTP over TLS.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolNNTPS CF_REFINED_FOR_SWIFT;
/// Protocol: LDAP over TLS.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolLDAPS CF_REFINED_FOR_SWIFT;
/// Protocol: Telnet over TLS.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolTelnetS CF_REFINED_FOR_SWIFT;
/// Protocol: IMAP over TLS.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolIMAPS CF_REFINED_FOR_SWIFT;
/// Protocol: IRC over TLS.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolIRCS CF_REFINED_FOR_SWIFT;
/// Protocol: POP3 over TLS.
CF_EXPORT const CFStringRef _Nonnull kSecAttrProtocolPOP3S CF_REFINED_FOR_SWIFT;

/// Authentication type: NTLM.
CF_EXPORT const CFStringRef _Nonnull kSecAttrAuthenticationTypeNTLM CF_REFINED_FOR_SWIFT;
/// Authentication type: Basic (RFC 7617).
CF_EXPORT const CFStringRef _Nonnull kSecAttrAuthenticationTypeHTTPBasic CF_REFINED_FOR_SWIFT;
/// Authentication type: Digest (RFC 7616).
CF_EXPORT const CFStringRef _Nonnull kSecAttrAuthenticationTypeHTTPDigest CF_REFINED_FOR_SWIFT;
/// Authentication type: a form of a web page.
CF_EXPORT const CFStringRef _Nonnull kSecAttrAuthenticationTypeHTMLForm CF_REFINED_FOR_SWIFT;
/// Authentication type: the usual one of the protocol.
CF_EXPORT const CFStringRef _Nonnull kSecAttrAuthenticationTypeDefault CF_REFINED_FOR_SWIFT;
/// Authentication type: that of MSN.
CF_EXPORT const CFStringRef _Nonnull kSecAttrAuthenticationTypeMSN CF_REFINED_FOR_SWIFT;
/// Authentication type: Distributed Password Authentication.
CF_EXPORT const CFStringRef _Nonnull kSecAttrAuthenticationTypeDPA CF_REFINED_FOR_SWIFT;
/// Authentication type: Remote Password Authentication.
CF_EXPORT const CFStringRef _Nonnull kSecAttrAuthenticationTypeRPA CF_REFINED_FOR_SWIFT;

/// Adds an item with the attributes and the password (kSecValueData, else empty) of a dictionary, and returns it in the form that its
/// kSecReturn… keys say, unless `result` is NULL. Fails with errSecParam without a server or an account, and with errSecDuplicateItem if
/// there is such an item. If the Secret Service fails when the item is read back, that is the error, and the item stays.
CF_EXPORT OSStatus SecItemAdd(CFDictionaryRef _Nullable attributes, CFTypeRef _Nullable *_Nullable CF_RETURNS_RETAINED result) CF_REFINED_FOR_SWIFT;

/// Finds items with the attributes of a dictionary, as SecKeychainFindInternetPassword does. An item is returned as its password (CFData), its
/// reference, or, with kSecReturnAttributes or more than one kSecReturn…, as a dictionary; without any of them, nothing is returned. Fails
/// with errSecItemNotFound if there are none.
CF_EXPORT OSStatus SecItemCopyMatching(CFDictionaryRef _Nullable query, CFTypeRef _Nullable *_Nullable CF_RETURNS_RETAINED result) CF_REFINED_FOR_SWIFT;

/// Changes attributes and the password of all items that match a dictionary, except those that another program has changed since they were
/// found. Fails with errSecItemNotFound if there are none; at the first item that cannot be changed, with errSecDuplicateItem if another item has the attributes, or with errSecParam if it would have no server or account.
/// The items before that one have been changed; that one too in part, if a Secret Service fails between its changes.
CF_EXPORT OSStatus SecItemUpdate(CFDictionaryRef _Nullable query, CFDictionaryRef _Nullable attributesToUpdate) CF_REFINED_FOR_SWIFT;

/// Removes all items that match a dictionary, except those that another program has changed since they were found. Fails with errSecItemNotFound if there are none, and at the first one that cannot be removed.
CF_EXPORT OSStatus SecItemDelete(CFDictionaryRef _Nullable query) CF_REFINED_FOR_SWIFT;

CF_EXTERN_C_END

#endif
