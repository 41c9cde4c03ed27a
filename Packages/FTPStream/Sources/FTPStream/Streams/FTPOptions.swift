@_spi(Packages) public import StreamKit

/// The options of an FTP stream or an ``FTPClient``: login, security, transfers.
///
/// Each is a property (`StreamProperty.ftp(_:)`), which can be set until the stream is opened:
///
/// ```swift
/// try stream.set(.ftp(\.userName), to: "ann")
/// ```
///
/// A client can also be made with all of them (``FTPClient/init(_:options:loop:)``). A stream refuses with `EINVAL` the options that do not
/// apply to it, such as ``appends`` to a download.
public struct FTPOptions: Sendable {
    // MARK: Login

    /// The user name. It takes precedence over one in the URL; without either (nil, the default), the login is anonymous.
    ///
    /// A line end or NUL in it is refused. Replaces `kCFStreamPropertyFTPUserName`.
    public var userName: String?

    /// The password. It takes precedence over one in the URL. Default nil.
    ///
    /// A line end or NUL in it is refused. No description of the options shows it. Replaces `kCFStreamPropertyFTPPassword`.
    public var password: String? {
        get { secrets.password }
        set { secrets.password = newValue }
    }

    /// The account, for servers that require one in addition to the password (ACCT). Default nil.
    ///
    /// A line end or NUL in it is refused. No description of the options shows it.
    public var account: String? {
        get { secrets.account }
        set { secrets.account = newValue }
    }

    private var secrets = Secrets()

    // MARK: Sessions

    /// The encryption. Default (nil) for `ftp`: none, unless `StreamProperty.tls` is set, which requires TLS. Default for `ftps`:
    /// required, from the first byte on port 990, after AUTH TLS on any other port; if the server there does not greet for
    /// 5 s, also from the first byte.
    public var security: FTPSecurity?

    /// A proxy that speaks FTP. Default nil: none. Replaces `kCFStreamPropertyFTPProxy` and its keys.
    public var proxy: FTPProxy?

    /// Whether to use an idle session of the ``pool``, and to return the session to the pool afterwards. Default true.
    ///
    /// Replaces `kCFStreamPropertyFTPAttemptPersistentConnection`.
    public var keepsConnection = true

    /// The pool of idle sessions. Default ``FTPSessionPool/shared``.
    public var pool = FTPSessionPool.shared

    /// The time limit for one command, from sending it to its last reply.
    ///
    /// Preliminary replies do not extend it. The limit of the greeting includes connecting; that of the confirmation of a
    /// transfer begins at the end of the data. Default 60 s; zero for no limit.
    public var replyTimeout = FTPTimeLimits.reply

    // MARK: Transfers

    /// Whether the server listens for data connections and the client connects (EPSV, PASV); otherwise the client listens (EPRT,
    /// PORT). Default nil: ``passiveModeDefault`` decides. As a property of a stream, it has the value that applies.
    ///
    /// Replaces `kCFStreamPropertyFTPUsePassiveMode`.
    public var usesPassiveMode: Bool?

    /// The value of ``usesPassiveMode`` unless that is set, for the settings of a machine (`ProxySettings.usesPassiveFTP`). Default
    /// true.
    ///
    /// Replaces the key `kCFNetworkProxiesFTPPassive` of a dictionary for `kCFStreamPropertyFTPProxy`.
    public var passiveModeDefault = true

    /// The interval between NOOPs on the control connection during a transfer, which prevent firewalls from dropping it. Default
    /// 60 s; zero for no NOOPs.
    ///
    /// To limit the time without data, use `StreamProperty.readTimeout` and `StreamProperty.writeTimeout`.
    public var keepAlive = FTPTimeLimits.keepAlive

    /// Whether files are transferred in text mode (TYPE A), with line ends as received. Default false; `;type=` in the URL of a
    /// stream takes precedence. Replaces `;type=a` for ``FTPClient``.
    public var transfersText = false

    /// The offset in the file, in bytes, at which a download or upload begins. Default 0.
    ///
    /// A server that does not support it (REST refused) is an error; the transfer never starts from the beginning instead.
    /// Replaces `kCFStreamPropertyFTPFileTransferOffset`.
    public var transferOffset: UInt64 = 0

    /// Whether to append to the file (APPE) instead of replacing it. Default false.
    public var appends = false

    /// Whether to query the size before the transfer, so that `StreamProperty.ftpResourceSize` is available when the stream is
    /// open. Default false.
    ///
    /// Replaces `kCFStreamPropertyFTPFetchResourceInfo`.
    public var fetchesResourceInfo = false

    /// The command that lists a directory. Default ``FTPListingCommand/automatic``.
    public var listingCommand = FTPListingCommand.automatic

    /// The time limits after which another way is taken; a test replaces them.
    var turningPoints = FTPTurningPoints()

    /// The properties of both connections, such as `StreamProperty.tls`. Set with the stream's or the client's own `set(_:to:)`.
    var connection = StreamProperties()

    /// Makes options with their defaults.
    public init() {}

    /// The options as properties.
    static let table = StreamOptionTable<FTPOptions>(
        "FTPStream", defaults: FTPOptions(),
        [
            .using("account", \.account),
            .using("appends", \.appends),
            .using("fetchesResourceInfo", \.fetchesResourceInfo),
            .using("keepAlive", \.keepAlive),
            .using("keepsConnection", \.keepsConnection),
            .using("listingCommand", \.listingCommand),
            .using("passiveModeDefault", \.passiveModeDefault),
            .using("password", \.password),
            .using("pool", \.pool),
            .using("proxy", \.proxy),
            .using("replyTimeout", \.replyTimeout),
            .using("security", \.security),
            .using("transferOffset", \.transferOffset),
            .using("transfersText", \.transfersText),
            .using("userName", \.userName),
            .using("usesPassiveMode", \.usesPassiveMode),
        ],
        check: { (options) throws(StreamError) in try options.check() })

    /// Throws if an option has an invalid value. Setting an option by name checks all of them.
    func check() throws(StreamError) {
        try FTPOptions.checkArgument(account, "account")
        try FTPOptions.checkArgument(password, "password")
        try FTPOptions.checkArgument(userName, "userName")
    }

    /// Checks that a command can carry the text.
    private static func checkArgument(_ text: String?, _ label: String) throws(StreamError) {
        if let text, text.utf8.contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) {
            throw StreamError(.badArgument("FTPStream.\(label) contains a line end or NUL."))
        }
    }

    // MARK: Use

    /// Whether the server listens for data connections.
    var isPassive: Bool { usesPassiveMode ?? passiveModeDefault }

    /// How an upload treats the existing contents of the file.
    var writing: FTPJob.Writing { appends ? .append : transferOffset > 0 ? .resume(transferOffset) : .replace }

    /// Sets a property of FTP streams or of their connections; nil restores its default.
    ///
    /// - Throws: `FTPError.Code.badArgument` for text that a command cannot contain. Nothing has changed then.
    mutating func set(_ value: (any Sendable)?, named name: String) throws(StreamError) {
        if try FTPOptions.table.set(value, named: name, in: &self) { return }
        connection.set(value, named: name)
    }

    /// The value of a property of FTP streams, or of their connections if it was set.
    func value(named name: String) -> (any Sendable)? {
        FTPOptions.table.value(named: name, in: self) ?? connection.value(named: name)
    }

    /// What a description of the options does not show.
    private struct Secrets: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        var password: String?
        var account: String?

        var description: String { "(hidden)" }
        var debugDescription: String { description }
        var customMirror: Mirror { Mirror(self, children: []) }
    }
}

extension StreamProperty {
    /// An option of FTP streams: `.ftp(\.transferOffset)`. It can be set until the stream is opened.
    public static func ftp(_ option: any WritableKeyPath<FTPOptions, Value> & Sendable) -> Self {
        FTPOptions.table[option]
    }

    /// An option of FTP streams that need not have a value: `.ftp(\.userName)`. It can be set until the stream is opened.
    public static func ftp(_ option: any WritableKeyPath<FTPOptions, Value?> & Sendable) -> Self {
        FTPOptions.table[option]
    }
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
