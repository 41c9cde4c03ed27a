public import StreamKit

/// What FTP streams can be told before they are opened, and tell.
extension StreamProperty where Value == String {
    /// The user name; wins over one in the URL. Without any, the log-in is anonymous.
    ///
    /// One with a line end or NUL is refused. Replaces `kCFStreamPropertyFTPUserName`.
    public static var ftpUserName: Self { .init(setting: "FTPStream.userName", access: .beforeOpen) }

    /// The password; wins over one in the URL. Replaces `kCFStreamPropertyFTPPassword`.
    public static var ftpPassword: Self { .init(setting: "FTPStream.password", access: .beforeOpen) }

    /// The account, for servers that want one besides the password (ACCT).
    public static var ftpAccount: Self { .init(setting: "FTPStream.account", access: .beforeOpen) }
}

extension StreamProperty where Value == Bool {
    /// The server listens for data connections, and we connect (EPSV, PASV); else we listen (EPRT, PORT). Default:
    /// ``StreamProperty/ftpPassiveModeDefault``.
    ///
    /// Replaces `kCFStreamPropertyFTPUsePassiveMode`.
    public static var ftpUsesPassiveMode: Self {
        .init(setting: "FTPStream.usesPassiveMode", access: .beforeOpen, default: true)
    }

    /// What ``StreamProperty/ftpUsesPassiveMode`` is unless it is set itself: for what a machine's settings demand
    /// (`ProxySettings.usesPassiveFTP`). Default true.
    ///
    /// Replaces the key `kCFNetworkProxiesFTPPassive` of a dictionary for `kCFStreamPropertyFTPProxy`.
    public static var ftpPassiveModeDefault: Self {
        .init(setting: "FTPStream.passiveModeDefault", access: .beforeOpen, default: true)
    }

    /// Ask for the size before the transfer, so that ``StreamProperty/ftpResourceSize`` is there once the stream is open.
    /// Default false.
    ///
    /// Replaces `kCFStreamPropertyFTPFetchResourceInfo`.
    public static var ftpFetchesResourceInfo: Self {
        .init(setting: "FTPStream.fetchesResourceInfo", access: .beforeOpen, default: false)
    }

    /// Use a session that is logged in already, and leave this one to others afterwards. Default true.
    ///
    /// Replaces `kCFStreamPropertyFTPAttemptPersistentConnection`.
    public static var ftpKeepsConnection: Self {
        .init(setting: "FTPStream.keepsConnection", access: .beforeOpen, default: true)
    }

    /// Add to the end of the file (APPE) instead of replacing it. Default false.
    public static var ftpAppends: Self { .init(setting: "FTPStream.appends", access: .beforeOpen, default: false) }
}

extension StreamProperty where Value == UInt64 {
    /// How many bytes the file has, as far as the server said; nil while unknown, and for uploads.
    ///
    /// Replaces `kCFStreamPropertyFTPResourceSize`.
    public static var ftpResourceSize: Self { .init(setting: "FTPStream.resourceSize", access: .readOnly) }

    /// How many bytes of the file to leave out at its beginning: a download begins there, an upload writes there. Default 0.
    ///
    /// A server that cannot (REST refused) is an error, never a transfer from the beginning. Replaces
    /// `kCFStreamPropertyFTPFileTransferOffset`.
    public static var ftpTransferOffset: Self {
        .init(setting: "FTPStream.transferOffset", access: .beforeOpen, default: 0)
    }
}

extension StreamProperty where Value == FTPSecurity {
    /// TLS. Default: none for `ftp`, unless `StreamProperty.tls` is set, which demands it; for `ftps` required, from the first byte on port 990, after AUTH TLS on another.
    public static var ftpSecurity: Self { .init(setting: "FTPStream.security", access: .beforeOpen) }
}

extension StreamProperty where Value == FTPProxy {
    /// A proxy that speaks FTP. Default none. Replaces `kCFStreamPropertyFTPProxy` and its keys.
    public static var ftpProxy: Self { .init(setting: "FTPStream.proxy", access: .beforeOpen) }
}

extension StreamProperty where Value == FTPSessionPool {
    /// Where idle sessions are kept. Default ``FTPSessionPool/shared``.
    public static var ftpPool: Self { .init(setting: "FTPStream.pool", access: .beforeOpen) }
}

extension StreamProperty where Value == Duration {
    /// The longest that the server may take for one command, from sending it to its last reply: preliminary replies do not
    /// extend it. Connecting counts with the greeting; the confirmation of a transfer counts from the end of its data. Default
    /// ``FTPTimeLimits/reply``; zero for no limit.
    public static var ftpReplyLimit: Self {
        .init(setting: "FTPStream.replyLimit", access: .beforeOpen, default: FTPTimeLimits.reply)
    }

    /// How often a NOOP goes over the control connection during a transfer, lest firewalls forget it. Default
    /// ``FTPTimeLimits/keepAlive``; zero for never.
    ///
    /// That data must keep moving, too, is said with `StreamProperty.readLimit` and `StreamProperty.writeLimit`.
    public static var ftpKeepAlive: Self {
        .init(setting: "FTPStream.keepAlive", access: .beforeOpen, default: FTPTimeLimits.keepAlive)
    }
}

extension StreamProperty where Value == FTPListingCommand {
    /// How a directory is listed. Default ``FTPListingCommand/automatic``.
    public static var ftpListingCommand: Self {
        .init(setting: "FTPStream.listingCommand", access: .beforeOpen, default: .automatic)
    }
}

extension StreamProperty where Value == FTPReply {
    /// What the server said last; nil before it said anything.
    public static var ftpLastReply: Self { .init(setting: "FTPStream.lastReply", access: .readOnly) }
}

/// How a directory is listed.
public enum FTPListingCommand: Sendable, Hashable {
    /// MLSD if the server has it, else LIST.
    case automatic
    /// LIST: for people, in the server's own format.
    case list
    /// NLST: names only.
    case names
    /// MLSD: facts that are exact (RFC 3659 §7).
    case facts
}

extension StreamProperty where Value == TLSInformation {
    /// What TLS agreed on for the data connection, once it has ended; whether it resumed the control connection's session.
    ///
    /// That of the control connection is `StreamProperty.tlsInformation`.
    public static var ftpDataTLSInformation: Self { .init(setting: "FTPStream.dataTLSInformation", access: .readOnly) }
}
