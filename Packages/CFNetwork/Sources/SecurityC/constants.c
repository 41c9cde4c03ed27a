// The string constants, as in CFNetworkC.

#include <CFNetworkConstants.h>
#include <Security/Security.h>

STRING(kSecClass, "class");
STRING(kSecClassInternetPassword, "inet");
STRING(kSecAttrServer, "srvr");
STRING(kSecAttrSecurityDomain, "sdmn");
STRING(kSecAttrAccount, "acct");
STRING(kSecAttrProtocol, "ptcl");
STRING(kSecAttrAuthenticationType, "atyp");
STRING(kSecAttrPort, "port");
STRING(kSecAttrPath, "path");
STRING(kSecAttrLabel, "labl");
STRING(kSecAttrCreationDate, "cdat");
STRING(kSecAttrModificationDate, "mdat");
STRING(kSecValueData, "v_Data");
STRING(kSecValueRef, "v_Ref");
STRING(kSecReturnData, "r_Data");
STRING(kSecReturnAttributes, "r_Attributes");
STRING(kSecReturnRef, "r_Ref");
STRING(kSecMatchLimit, "m_Limit");
STRING(kSecMatchLimitOne, "m_LimitOne");
STRING(kSecMatchLimitAll, "m_LimitAll");

STRING(kSecAttrProtocolFTP, "ftp ");
STRING(kSecAttrProtocolFTPAccount, "ftpa");
STRING(kSecAttrProtocolHTTP, "http");
STRING(kSecAttrProtocolIRC, "irc ");
STRING(kSecAttrProtocolNNTP, "nntp");
STRING(kSecAttrProtocolPOP3, "pop3");
STRING(kSecAttrProtocolSMTP, "smtp");
STRING(kSecAttrProtocolSOCKS, "sox ");
STRING(kSecAttrProtocolIMAP, "imap");
STRING(kSecAttrProtocolLDAP, "ldap");
STRING(kSecAttrProtocolAFP, "afp ");
STRING(kSecAttrProtocolTelnet, "teln");
STRING(kSecAttrProtocolSSH, "ssh ");
STRING(kSecAttrProtocolFTPS, "ftps");
STRING(kSecAttrProtocolHTTPS, "htps");
STRING(kSecAttrProtocolHTTPProxy, "htpx");
STRING(kSecAttrProtocolHTTPSProxy, "htsx");
STRING(kSecAttrProtocolFTPProxy, "ftpx");
STRING(kSecAttrProtocolSMB, "smb ");
STRING(kSecAttrProtocolRTSP, "rtsp");
STRING(kSecAttrProtocolRTSPProxy, "rtsx");
STRING(kSecAttrProtocolDAAP, "daap");
STRING(kSecAttrProtocolIPP, "ipp ");
STRING(kSecAttrProtocolNNTPS, "ntps");
STRING(kSecAttrProtocolLDAPS, "ldps");
STRING(kSecAttrProtocolTelnetS, "tels");
STRING(kSecAttrProtocolIMAPS, "imps");
STRING(kSecAttrProtocolIRCS, "ircs");
STRING(kSecAttrProtocolPOP3S, "pops");

STRING(kSecAttrAuthenticationTypeNTLM, "ntlm");
STRING(kSecAttrAuthenticationTypeHTTPBasic, "http");
STRING(kSecAttrAuthenticationTypeHTTPDigest, "httd");
STRING(kSecAttrAuthenticationTypeHTMLForm, "form");
STRING(kSecAttrAuthenticationTypeDefault, "dflt");
STRING(kSecAttrAuthenticationTypeMSN, "msna");
STRING(kSecAttrAuthenticationTypeDPA, "dpaa");
STRING(kSecAttrAuthenticationTypeRPA, "rpaa");

STRING(kSecImportExportPassphrase, "passphrase");
STRING(kSecImportItemTrust, "trust");
STRING(kSecImportItemCertChain, "chain");
STRING(kSecImportItemIdentity, "identity");
