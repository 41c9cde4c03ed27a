/// How long FTP waits for a server, unless told otherwise.
///
/// A wait that the caller performs itself, reading from or writing to a stream, has no limit unless `StreamProperty.readLimit` or
/// `StreamProperty.writeLimit` sets one. Every other wait ends by one of these.
public enum FTPTimeLimits {
    /// The default of `ftpReplyLimit`: 60 s for one command.
    public static let reply = Duration.seconds(60)

    /// The default of `ftpKeepAlive`: 60 s.
    public static let keepAlive = Duration.seconds(60)

    /// How long a data connection may stand still where the library itself moves the bytes, unless `StreamProperty.readLimit` or
    /// `StreamProperty.writeLimit` is set on the client: ``FTPClient/list(_:)``, ``FTPClient/entries(_:)``,
    /// ``FTPClient/download(_:to:_:)``, ``FTPClient/upload(_:to:_:)``. 60 s.
    public static let idleData = Duration.seconds(60)

    /// How long a session whose transfer was given up may take to come back into step before it is closed: 15 s.
    public static let recovery = Duration.seconds(15)
}
