#ifndef SECURITY_SECKEYCHAIN_H
#define SECURITY_SECKEYCHAIN_H

// The user's keychain is the Secret Service of the desktop (gnome-keyring, KWallet, KeePassXC) or, without one, an encrypted file in
// $XDG_DATA_HOME/netkit, by default ~/.local/share/netkit. All functions may wait for the service, which may ask the user to unlock it. They can be
// called from any thread.

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

/// Adds an internet password, and returns the item unless `itemRef` is NULL. Texts are UTF-8 without NUL, and are absent if their length is 0; the
/// port is absent if it is 0. Fails with errSecParam without a server or an account, and for a text that is not UTF-8; with
/// errSecDuplicateItem if there is such an item; with errSecDataTooLarge for a password of more than 65,536 bytes or a text of more than 4,096;
/// with errSecInvalidKeychain unless the keychain is NULL.
CF_EXPORT OSStatus SecKeychainAddInternetPassword(SecKeychainRef _Nullable keychain, UInt32 serverNameLength, const char *_Nullable serverName, UInt32 securityDomainLength, const char *_Nullable securityDomain, UInt32 accountNameLength, const char *_Nullable accountName, UInt32 pathLength, const char *_Nullable path, UInt16 port, SecProtocolType protocol, SecAuthenticationType authenticationType, UInt32 passwordLength, const void *_Nullable passwordData, SecKeychainItemRef _Nullable *_Nullable CF_RETURNS_RETAINED itemRef);

/// Finds the internet password that matches best. An argument that is absent, as above, matches any value; an attribute that an item of another
/// program lacks does so too, and the port is then the default one of the protocol. The password is returned, if `passwordData` is not NULL, in memory that
/// SecKeychainItemFreeContent releases. Fails with errSecItemNotFound if there is none, and with errSecInteractionNotAllowed if the keychain
/// is locked and stays so. `keychainOrArray` must be NULL: errSecInvalidKeychain.
CF_EXPORT OSStatus SecKeychainFindInternetPassword(CFTypeRef _Nullable keychainOrArray, UInt32 serverNameLength, const char *_Nullable serverName, UInt32 securityDomainLength, const char *_Nullable securityDomain, UInt32 accountNameLength, const char *_Nullable accountName, UInt32 pathLength, const char *_Nullable path, UInt16 port, SecProtocolType protocol, SecAuthenticationType authenticationType, UInt32 *_Nullable passwordLength, void *_Nullable *_Nullable passwordData, SecKeychainItemRef _Nullable *_Nullable CF_RETURNS_RETAINED itemRef);

CF_EXTERN_C_END

#endif
