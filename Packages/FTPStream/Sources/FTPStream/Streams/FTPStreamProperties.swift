public import StreamKit

// MARK: - Properties

extension StreamProperty where Value == UInt64 {
    /// The size of the file in bytes; nil if the server has not reported it, and for uploads.
    ///
    /// Replaces `kCFStreamPropertyFTPResourceSize`.
    public static var ftpResourceSize: Self { .init(setting: "FTPStream.resourceSize", access: .readOnly) }
}

extension StreamProperty where Value == FTPReply {
    /// The last reply of the server; nil before the first.
    public static var ftpLastReply: Self { .init(setting: "FTPStream.lastReply", access: .readOnly) }
}

extension StreamProperty where Value == TLSInformation {
    /// The TLS parameters of the data connection after its end, and whether it resumed the control connection's session.
    ///
    /// For the control connection, see `StreamProperty.tlsInformation`.
    public static var ftpDataTLSInformation: Self { .init(setting: "FTPStream.dataTLSInformation", access: .readOnly) }
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
    /// The default of ``FTPOptions/replyTimeout``: 60 s for one command.
    public static let reply = Duration.seconds(60)

    /// The silence of an `ftps` server on another port than 990 that means it expects TLS from the first byte: 5 s. Without it, the
    /// server greets in plaintext, and AUTH TLS follows. If it answers TLS with a late greeting, the session begins again, with AUTH
    /// TLS.
    public static let silence = Duration.seconds(5)

    /// The default of ``FTPOptions/keepAlive``: 60 s.
    public static let keepAlive = Duration.seconds(60)

    /// The longest time without data on a data connection in ``FTPClient/list(_:)``, ``FTPClient/entries(_:)``,
    /// ``FTPClient/download(_:to:_:)`` and ``FTPClient/upload(_:to:_:)``, unless `StreamProperty.readTimeout` or
    /// `StreamProperty.writeTimeout` is set on the client: 60 s.
    public static let idleData = Duration.seconds(60)

    /// The time that the port of EPSV has to accept the data connection before PASV is tried: 5 s, and at most a quarter of
    /// ``FTPOptions/replyTimeout``. Firewalls that understand only PASV drop the connection without a word.
    public static let extendedPassive = Duration.seconds(5)

    /// The time that the data of a transfer has to begin or end after the server has confirmed it: 5 s, and at most a quarter of
    /// ``FTPOptions/replyTimeout``. Some servers confirm a transfer and never serve its data connection; the error is
    /// ``FTPError/Code/incomplete``.
    public static let confirmedData = Duration.seconds(5)

    /// The time that the server has to state the reason after the data connection has failed: 5 s, and at most ``FTPOptions/replyTimeout``.
    public static let cause = Duration.seconds(5)

    /// The time that the server has to confirm the end of a session (QUIT) in ``FTPClient/close()``: 2 s.
    public static let quit = Duration.seconds(2)

    /// The time limit for the resynchronization of a session after an aborted transfer; then the session is closed: 15 s.
    public static let recovery = Duration.seconds(15)
}

/// The limits of ``FTPTimeLimits`` after which a session takes another way, or gives up what the server has confirmed.
struct FTPTurningPoints: Sendable {
    var silence = FTPTimeLimits.silence
    var extendedPassive = FTPTimeLimits.extendedPassive
    var confirmedData = FTPTimeLimits.confirmedData
}

// MARK: - Kinds of streams

extension StreamPropertyTable {
    /// The properties of an FTP stream to which these options do not apply.
    fileprivate static func ftp(without options: [PartialKeyPath<FTPOptions>] = []) -> StreamPropertyTable {
        connection
            .including(FTPOptions.table, without: options)
            .telling(.ftpDataTLSInformation)
            .telling(.ftpLastReply)
            .telling(.nativeDescriptor)
            .telling(.remoteAddress)
    }
}

extension StreamKind {
    /// `ReadStream(ftpURL:)` of a file, and `FTPClient.reader(_:offset:)`.
    public static let readFTPFile = StreamKind(
        "a file on an FTP server being read",
        .ftp(without: [\.appends, \.listingCommand]).without(.writeTimeout).telling(.ftpResourceSize))

    /// `ReadStream(ftpURL:)` of a directory, and `FTPClient.lister(_:)`.
    public static let ftpListing = StreamKind(
        "the listing of an FTP directory",
        .ftp(without: [\.appends, \.fetchesResourceInfo, \.transferOffset, \.transfersText]).without(.writeTimeout))

    /// `WriteStream(ftpURL:)` into a file, `FTPClient.writer(_:offset:)` and `FTPClient.appender(_:)`.
    public static let writtenFTPFile = StreamKind(
        "a file on an FTP server being written",
        .ftp(without: [\.fetchesResourceInfo, \.listingCommand]).without(.readTimeout))

    /// `WriteStream(ftpURL:)` with the URL of a directory, which it creates. It transfers nothing.
    public static let madeFTPDirectory = StreamKind(
        "the creation of an FTP directory",
        .ftp(without: [
            \.appends, \.fetchesResourceInfo, \.keepAlive, \.listingCommand, \.passiveModeDefault, \.transferOffset,
            \.transfersText, \.usesPassiveMode,
        ])
        .without(.ftpDataTLSInformation).without(.readTimeout).without(.writeTimeout))

    /// An ``FTPClient``, which sets the properties of the streams that it creates.
    public static let ftpClient = StreamKind("an FTP client", .ftp())

    /// All kinds of streams in this package.
    public static let ofFTPStream: [StreamKind] = [
        .readFTPFile, .ftpListing, .writtenFTPFile, .madeFTPDirectory, .ftpClient,
    ]
}
