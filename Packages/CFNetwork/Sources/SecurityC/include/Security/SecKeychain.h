#ifndef SECURITY_SECKEYCHAIN_H
#define SECURITY_SECKEYCHAIN_H

// The user's keychain is the Secret Service of the desktop (gnome-keyring, KWallet, KeePassXC) or, without one, an encrypted file in
// $XDG_DATA_HOME/netkit, by default ~/.local/share/netkit. Without a service means that there is no session bus, or no program on it that is or starts
// the service; one that fails is an error. All functions may wait for the service, which may ask the user to unlock it. They can be called
// from any thread.
//
// All functions that use the keychain can fail with errSecNotAvailable if the service fails or the file cannot be used, with errSecUserCanceled if
// the keychain is locked and the user closes its window, or the service cannot open one, with errSecInteractionNotAllowed if it stays locked for
// another reason, with errSecDecode if the file is damaged, with errSecNoDefaultKeychain if there is neither a service nor a folder for the
// file, and with errSecAllocate without memory. Texts are UTF-8 without NUL of at most 4,096 bytes, and passwords have at
// most 65,536 bytes: errSecParam for another text, and errSecDataTooLarge.

#include <Security/SecBase.h>
#include <Security/SecKeychainItem.h>

CF_EXTERN_C_BEGIN

/// The protocol of an internet password.
typedef CF_ENUM(FourCharCode, SecProtocolType) {
    /// FTP ('ftp ').
    kSecProtocolTypeFTP = 0x66747020,
    /// FTP with an account besides the user ('ftpa').
    kSecProtocolTypeFTPAccount = 0x66747061,
    /// HTTP ('http').
    kSecProtocolTypeHTTP = 0x68747470,
    /// IRC ('irc ').
    kSecProtocolTypeIRC = 0x69726320,
    /// NNTP ('nntp').
    kSecProtocolTypeNNTP = 0x6E6E7470,
    /// POP3 ('pop3').
    kSecProtocolTypePOP3 = 0x706F7033,
    /// SMTP ('smtp').
    kSecProtocolTypeSMTP = 0x736D7470,
    /// A SOCKS proxy ('sox ').
    kSecProtocolTypeSOCKS = 0x736F7820,
    /// IMAP ('imap').
    kSecProtocolTypeIMAP = 0x696D6170,
    /// LDAP ('ldap').
    kSecProtocolTypeLDAP = 0x6C646170,
    /// The Apple Filing Protocol ('afp ').
    kSecProtocolTypeAFP = 0x61667020,
    /// Telnet ('teln').
    kSecProtocolTypeTelnet = 0x74656C6E,
    /// SSH ('ssh ').
    kSecProtocolTypeSSH = 0x73736820,
    /// FTP over TLS ('ftps').
    kSecProtocolTypeFTPS = 0x66747073,
    /// HTTP over TLS ('htps').
    kSecProtocolTypeHTTPS = 0x68747073,
    /// A proxy for HTTP ('htpx').
    kSecProtocolTypeHTTPProxy = 0x68747078,
    /// A proxy for HTTPS, or one that is reached over TLS ('htsx').
    kSecProtocolTypeHTTPSProxy = 0x68747378,
    /// A proxy for FTP ('ftpx').
    kSecProtocolTypeFTPProxy = 0x66747078,
    /// SMB ('smb ').
    kSecProtocolTypeSMB = 0x736D6220,
    /// RTSP ('rtsp').
    kSecProtocolTypeRTSP = 0x72747370,
    /// A proxy for RTSP ('rtsx').
    kSecProtocolTypeRTSPProxy = 0x72747378,
    /// DAAP ('daap').
    kSecProtocolTypeDAAP = 0x64616170,
    /// IPP ('ipp ').
    kSecProtocolTypeIPP = 0x69707020,
    /// NNTP over TLS ('ntps').
    kSecProtocolTypeNNTPS = 0x6E747073,
    /// LDAP over TLS ('ldps').
    kSecProtocolTypeLDAPS = 0x6C647073,
    /// Telnet over TLS ('tels').
    kSecProtocolTypeTelnetS = 0x74656C73,
    /// IMAP over TLS ('imps').
    kSecProtocolTypeIMAPS = 0x696D7073,
    /// IRC over TLS ('ircs').
    kSecProtocolTypeIRCS = 0x69726373,
    /// POP3 over TLS ('pops').
    kSecProtocolTypePOP3S = 0x706F7073,
    /// Any protocol, in a search; an item without one.
    kSecProtocolTypeAny = 0,
};

/// How a server verifies an internet password.
typedef CF_ENUM(FourCharCode, SecAuthenticationType) {
    /// NTLM ('ntlm').
    kSecAuthenticationTypeNTLM = 0x6E746C6D,
    /// Basic (RFC 7617) ('http').
    kSecAuthenticationTypeHTTPBasic = 0x68747470,
    /// Digest (RFC 7616) ('httd').
    kSecAuthenticationTypeHTTPDigest = 0x68747464,
    /// A form of a web page ('form').
    kSecAuthenticationTypeHTMLForm = 0x666F726D,
    /// The usual one of the protocol ('dflt').
    kSecAuthenticationTypeDefault = 0x64666C74,
    /// That of MSN ('msna').
    kSecAuthenticationTypeMSN = 0x6D736E61,
    /// Distributed Password Authentication ('dpaa').
    kSecAuthenticationTypeDPA = 0x64706161,
    /// Remote Password Authentication ('rpaa').
    kSecAuthenticationTypeRPA = 0x72706161,
    /// Any type, in a search; an item without one.
    kSecAuthenticationTypeAny = 0,
};

/// Adds an internet password, and returns the item unless `itemRef` is NULL. A text is absent if its length is 0; so is the port if it is 0. Fails with
/// errSecParam without a server or an account, and for an unknown protocol or type; with errSecDuplicateItem if there is such an item; with
/// errSecInvalidKeychain unless the keychain is NULL.
CF_EXPORT OSStatus SecKeychainAddInternetPassword(SecKeychainRef _Nullable keychain, UInt32 serverNameLength, const char *_Nullable serverName, UInt32 securityDomainLength, const char *_Nullable securityDomain, UInt32 accountNameLength, const char *_Nullable accountName, UInt32 pathLength, const char *_Nullable path, UInt16 port, SecProtocolType protocol, SecAuthenticationType authenticationType, UInt32 passwordLength, const void *_Nullable passwordData, SecKeychainItemRef _Nullable *_Nullable CF_RETURNS_RETAINED itemRef);

/// Finds the internet password that matches best. An argument that is absent, as above, matches any value. An item without a protocol, a path or an
/// authentication type matches any; one without a port, the default port of its protocol; one without a realm, any realm only if another
/// program saved it. The password is returned, if `passwordData` is not NULL, in memory that SecKeychainItemFreeContent releases. Fails with
/// errSecItemNotFound if there is none, and with errSecInvalidKeychain unless `keychainOrArray` is NULL.
CF_EXPORT OSStatus SecKeychainFindInternetPassword(CFTypeRef _Nullable keychainOrArray, UInt32 serverNameLength, const char *_Nullable serverName, UInt32 securityDomainLength, const char *_Nullable securityDomain, UInt32 accountNameLength, const char *_Nullable accountName, UInt32 pathLength, const char *_Nullable path, UInt16 port, SecProtocolType protocol, SecAuthenticationType authenticationType, UInt32 *_Nullable passwordLength, void *_Nullable *_Nullable passwordData, SecKeychainItemRef _Nullable *_Nullable CF_RETURNS_RETAINED itemRef);

CF_EXTERN_C_END

#endif
