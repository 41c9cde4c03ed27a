@_spi(Packages) public import StreamKit

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
    @_spi(Packages) public static let readFTPFile = StreamKind(
        "a file on an FTP server being read",
        .ftp(without: [\.appends, \.listingCommand]).without(.writeTimeout).telling(.ftpResourceSize))

    /// `ReadStream(ftpURL:)` of a directory, and `FTPClient.lister(_:)`.
    @_spi(Packages) public static let ftpListing = StreamKind(
        "the listing of an FTP directory",
        .ftp(without: [\.appends, \.fetchesResourceInfo, \.transferOffset, \.transfersText]).without(.writeTimeout))

    /// `WriteStream(ftpURL:)` into a file, `FTPClient.writer(_:offset:)` and `FTPClient.appender(_:)`.
    @_spi(Packages) public static let writtenFTPFile = StreamKind(
        "a file on an FTP server being written",
        .ftp(without: [\.fetchesResourceInfo, \.listingCommand]).without(.readTimeout))

    /// `WriteStream(ftpURL:)` with the URL of a directory, which it creates. It transfers nothing.
    @_spi(Packages) public static let madeFTPDirectory = StreamKind(
        "the creation of an FTP directory",
        .ftp(without: [
            \.appends, \.fetchesResourceInfo, \.keepAlive, \.listingCommand, \.passiveModeDefault, \.transferOffset,
            \.transfersText, \.usesPassiveMode,
        ])
        .without(.ftpDataTLSInformation).without(.readTimeout).without(.writeTimeout))

    /// An ``FTPClient``, which sets the properties of the streams that it creates.
    @_spi(Packages) public static let ftpClient = StreamKind("an FTP client", .ftp())

    /// All kinds of streams in this package.
    @_spi(Packages) public static let ofFTPStream: [StreamKind] = [
        .readFTPFile, .ftpListing, .writtenFTPFile, .madeFTPDirectory, .ftpClient,
    ]
}
