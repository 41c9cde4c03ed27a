public import StreamKit

// MARK: - Properties

extension StreamProperty where Value == String {
    /// The user name. It takes precedence over one in the URL; without either, the login is anonymous.
    ///
    /// A line end or NUL in it is refused. Replaces `kCFStreamPropertyFTPUserName`.
    public static var ftpUserName: Self { .init(setting: "FTPStream.userName", access: .beforeOpen) }

    /// The password. It takes precedence over one in the URL. Replaces `kCFStreamPropertyFTPPassword`.
    public static var ftpPassword: Self { .init(setting: "FTPStream.password", access: .beforeOpen) }

    /// The account, for servers that require one in addition to the password (ACCT).
    public static var ftpAccount: Self { .init(setting: "FTPStream.account", access: .beforeOpen) }
}

extension StreamProperty where Value == Bool {
    /// Whether the server listens for data connections and the client connects (EPSV, PASV); otherwise the client listens (EPRT,
    /// PORT). Default: ``StreamProperty/ftpPassiveModeDefault``.
    ///
    /// Replaces `kCFStreamPropertyFTPUsePassiveMode`.
    public static var ftpUsesPassiveMode: Self {
        .init(setting: "FTPStream.usesPassiveMode", access: .beforeOpen, default: true)
    }

    /// The value of ``StreamProperty/ftpUsesPassiveMode`` unless that is set, for the settings of a machine
    /// (`ProxySettings.usesPassiveFTP`). Default true.
    ///
    /// Replaces the key `kCFNetworkProxiesFTPPassive` of a dictionary for `kCFStreamPropertyFTPProxy`.
    public static var ftpPassiveModeDefault: Self {
        .init(setting: "FTPStream.passiveModeDefault", access: .beforeOpen, default: true)
    }

    /// Whether to query the size before the transfer, so that ``StreamProperty/ftpResourceSize`` is available when the stream is
    /// open. Default false.
    ///
    /// Replaces `kCFStreamPropertyFTPFetchResourceInfo`.
    public static var ftpFetchesResourceInfo: Self {
        .init(setting: "FTPStream.fetchesResourceInfo", access: .beforeOpen, default: false)
    }

    /// Whether to use an idle session of the pool, and to return the session to the pool afterwards. Default true.
    ///
    /// Replaces `kCFStreamPropertyFTPAttemptPersistentConnection`.
    public static var ftpKeepsConnection: Self {
        .init(setting: "FTPStream.keepsConnection", access: .beforeOpen, default: true)
    }

    /// Whether files are transferred in text mode (TYPE A), with line ends as received. Default false; `;type=` in the URL of a
    /// stream takes precedence. Replaces `;type=a` for ``FTPClient``.
    public static var ftpTransfersText: Self {
        .init(setting: "FTPStream.transfersText", access: .beforeOpen, default: false)
    }

    /// Whether to append to the file (APPE) instead of replacing it. Default false.
    public static var ftpAppends: Self { .init(setting: "FTPStream.appends", access: .beforeOpen, default: false) }
}

extension StreamProperty where Value == UInt64 {
    /// The size of the file in bytes; nil if the server has not reported it, and for uploads.
    ///
    /// Replaces `kCFStreamPropertyFTPResourceSize`.
    public static var ftpResourceSize: Self { .init(setting: "FTPStream.resourceSize", access: .readOnly) }

    /// The offset in the file, in bytes, at which a download or upload begins. Default 0.
    ///
    /// A server that does not support it (REST refused) is an error; the transfer never starts from the beginning instead.
    /// Replaces `kCFStreamPropertyFTPFileTransferOffset`.
    public static var ftpTransferOffset: Self {
        .init(setting: "FTPStream.transferOffset", access: .beforeOpen, default: 0)
    }
}

extension StreamProperty where Value == FTPSecurity {
    /// The encryption. Default for `ftp`: none, unless `StreamProperty.tls` is set, which requires TLS. Default for `ftps`:
    /// required, from the first byte on port 990, after AUTH TLS on any other port; if the server there does not greet for
    /// ``FTPTimeLimits/silence``, also from the first byte.
    public static var ftpSecurity: Self { .init(setting: "FTPStream.security", access: .beforeOpen) }
}

extension StreamProperty where Value == FTPProxy {
    /// A proxy that speaks FTP. Default none. Replaces `kCFStreamPropertyFTPProxy` and its keys.
    public static var ftpProxy: Self { .init(setting: "FTPStream.proxy", access: .beforeOpen) }
}

extension StreamProperty where Value == FTPSessionPool {
    /// The pool of idle sessions. Default ``FTPSessionPool/shared``.
    public static var ftpPool: Self { .init(setting: "FTPStream.pool", access: .beforeOpen) }
}

extension StreamProperty where Value == Duration {
    /// The time limit for one command, from sending it to its last reply.
    ///
    /// Preliminary replies do not extend it. The limit of the greeting includes connecting; that of the confirmation of a
    /// transfer begins at the end of the data. Default ``FTPTimeLimits/reply``; zero for no limit.
    public static var ftpReplyTimeout: Self {
        .init(setting: "FTPStream.replyLimit", access: .beforeOpen, default: FTPTimeLimits.reply)
    }

    /// The interval between NOOPs on the control connection during a transfer, which prevent firewalls from dropping it. Default
    /// ``FTPTimeLimits/keepAlive``; zero for no NOOPs.
    ///
    /// To limit the time without data, use `StreamProperty.readTimeout` and `StreamProperty.writeTimeout`.
    public static var ftpKeepAlive: Self {
        .init(setting: "FTPStream.keepAlive", access: .beforeOpen, default: FTPTimeLimits.keepAlive)
    }
}

extension StreamProperty where Value == FTPListingCommand {
    /// The command that lists a directory. Default ``FTPListingCommand/automatic``.
    public static var ftpListingCommand: Self {
        .init(setting: "FTPStream.listingCommand", access: .beforeOpen, default: .automatic)
    }
}

extension StreamProperty where Value == FTPReply {
    /// The last reply of the server; nil before the first.
    public static var ftpLastReply: Self { .init(setting: "FTPStream.lastReply", access: .readOnly) }
}

/// The command that lists a directory.
public enum FTPListingCommand: Sendable, Hashable {
    /// MLSD if the server supports it, otherwise LIST.
    case automatic
    /// LIST: the server's own format, made for people.
    case list
    /// NLST: names only.
    case names
    /// MLSD: exact facts (RFC 3659 §7).
    case facts
}

extension StreamProperty where Value == TLSInformation {
    /// The TLS parameters of the data connection after its end, and whether it resumed the control connection's session.
    ///
    /// For the control connection, see `StreamProperty.tlsInformation`.
    public static var ftpDataTLSInformation: Self { .init(setting: "FTPStream.dataTLSInformation", access: .readOnly) }
}

/// A proxy that speaks FTP, at which the client logs in as `user@host`.
///
/// Data connections go to the proxy, too. SOCKS and HTTP (CONNECT) proxies are set with the properties of StreamKit.
public struct FTPProxy: Sendable, Hashable {
    /// The host name or address of the proxy.
    public var host: String
    /// The port of the proxy.
    public var port: UInt16
    /// The user name for the proxy; nil if the proxy requires no login.
    public var userName: String?
    /// The password for the proxy. With a password and no user name, opening fails.
    public var password: String?

    /// Creates a description of a proxy.
    public init(host: String, port: UInt16 = 21, userName: String? = nil, password: String? = nil) {
        self.host = host
        self.port = port
        self.userName = userName
        self.password = password
    }
}

extension FTPProxy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Host and port.
    public var description: String { host.contains(":") ? "ftp [\(host)]:\(port)" : "ftp \(host):\(port)" }

    /// Host and port.
    public var debugDescription: String { description }

    /// A mirror of the properties without the password.
    public var customMirror: Mirror {
        Mirror(self, children: ["host": host, "port": port, "userName": userName ?? "none"])
    }
}

/// The default time limits of FTP.
///
/// When the caller reads from or writes to a stream, the wait has no limit unless `StreamProperty.readTimeout` or
/// `StreamProperty.writeTimeout` sets one. Every other wait has one of these limits.
public enum FTPTimeLimits {
    /// The default of `ftpReplyTimeout`: 60 s for one command.
    public static let reply = Duration.seconds(60)

    /// The silence of an `ftps` server on another port than 990 that means it expects TLS from the first byte: 5 s. Without it, the
    /// server greets in plaintext, and AUTH TLS follows. If it answers TLS with a late greeting, the session begins again, with AUTH
    /// TLS.
    public static let silence = Duration.seconds(5)

    /// The default of `ftpKeepAlive`: 60 s.
    public static let keepAlive = Duration.seconds(60)

    /// The longest time without data on a data connection in ``FTPClient/list(_:)``, ``FTPClient/entries(_:)``,
    /// ``FTPClient/download(_:to:_:)`` and ``FTPClient/upload(_:to:_:)``, unless `StreamProperty.readTimeout` or
    /// `StreamProperty.writeTimeout` is set on the client: 60 s.
    public static let idleData = Duration.seconds(60)

    /// The time that the port of EPSV has to accept the data connection before PASV is tried: 5 s, and at most a quarter of
    /// `ftpReplyTimeout`. Firewalls that understand only PASV drop the connection without a word.
    public static let extendedPassive = Duration.seconds(5)

    /// The time that the data of a transfer has to begin or end after the server has confirmed it: 5 s, and at most a quarter of
    /// `ftpReplyTimeout`. Some servers confirm a transfer and never serve its data connection; the error is
    /// ``FTPError/Code/incomplete``.
    public static let confirmedData = Duration.seconds(5)

    /// The time that the server has to state the reason after the data connection has failed: 5 s, and at most `ftpReplyTimeout`.
    public static let cause = Duration.seconds(5)

    /// The time that the server has to confirm the end of a session (QUIT) in ``FTPClient/close()``: 2 s.
    public static let quit = Duration.seconds(2)

    /// The time limit for the resynchronization of a session after an aborted transfer; then the session is closed: 15 s.
    public static let recovery = Duration.seconds(15)
}

// MARK: - Kinds of streams

extension StreamPropertyTable {
    /// The properties that every kind of FTP stream honours.
    static let ftpSession = StreamPropertyTable.connection
        .without(.readTimeout)
        .without(.writeTimeout)
        .using(.ftpAccount)
        .using(.ftpKeepsConnection)
        .using(.ftpPassword)
        .using(.ftpPool)
        .using(.ftpProxy)
        .using(.ftpReplyTimeout)
        .using(.ftpSecurity)
        .using(.ftpUserName)
        .telling(.ftpLastReply)
        .telling(.nativeDescriptor)
        .telling(.remoteAddress)

    /// The properties that every transfer honours.
    static let ftpTransfer = StreamPropertyTable.ftpSession
        .using(.ftpKeepAlive)
        .using(.ftpPassiveModeDefault)
        .using(.ftpUsesPassiveMode)
        .telling(.ftpDataTLSInformation)

    /// The properties that every download honours.
    static let ftpDownload = StreamPropertyTable.ftpTransfer.using(.readTimeout)

    /// The properties that every upload honours.
    static let ftpUpload = StreamPropertyTable.ftpTransfer.using(.writeTimeout)
}

extension StreamKind {
    /// `ReadStream(ftpURL:)` of a file, and `FTPClient.reader(_:offset:)`.
    public static let readFTPFile = StreamKind(
        "a file on an FTP server being read",
        .ftpDownload.using(.ftpFetchesResourceInfo).using(.ftpTransferOffset).using(.ftpTransfersText)
            .telling(.ftpResourceSize))

    /// `ReadStream(ftpURL:)` of a directory, and `FTPClient.lister(_:)`.
    public static let ftpListing = StreamKind(
        "the listing of an FTP directory", .ftpDownload.using(.ftpListingCommand))

    /// `WriteStream(ftpURL:)` into a file, `FTPClient.writer(_:offset:)` and `FTPClient.appender(_:)`.
    public static let writtenFTPFile = StreamKind(
        "a file on an FTP server being written",
        .ftpUpload.using(.ftpAppends).using(.ftpTransferOffset).using(.ftpTransfersText))

    /// `WriteStream(ftpURL:)` with the URL of a directory, which it creates.
    public static let madeFTPDirectory = StreamKind("the creation of an FTP directory", .ftpSession)

    /// An ``FTPClient``, which sets the properties of the streams that it creates.
    public static let ftpClient = StreamKind(
        "an FTP client",
        readFTPFile.properties.including(writtenFTPFile.properties).including(ftpListing.properties)
            .without(.ftpResourceSize))

    /// All kinds of streams in this package.
    public static let ofFTPStream: [StreamKind] = [
        .readFTPFile, .ftpListing, .writtenFTPFile, .madeFTPDirectory, .ftpClient,
    ]
}
