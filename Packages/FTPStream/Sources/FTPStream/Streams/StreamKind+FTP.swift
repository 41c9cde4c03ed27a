public import StreamKit

extension StreamPropertyTable {
    /// What everything honours that talks to an FTP server.
    static let ftpSession = StreamPropertyTable.connection
        .without(.readLimit)
        .without(.writeLimit)
        .using(.ftpAccount)
        .using(.ftpKeepsConnection)
        .using(.ftpPassword)
        .using(.ftpPool)
        .using(.ftpProxy)
        .using(.ftpReplyLimit)
        .using(.ftpSecurity)
        .using(.ftpUserName)
        .telling(.ftpLastReply)
        .telling(.nativeDescriptor)
        .telling(.remoteAddress)

    /// What every transfer honours.
    static let ftpTransfer = StreamPropertyTable.ftpSession
        .using(.ftpKeepAlive)
        .using(.ftpPassiveModeDefault)
        .using(.ftpUsesPassiveMode)
        .telling(.ftpDataTLSInformation)

    /// What a download honours.
    static let ftpDownload = StreamPropertyTable.ftpTransfer.using(.readLimit)

    /// What an upload honours.
    static let ftpUpload = StreamPropertyTable.ftpTransfer.using(.writeLimit)
}

/// The kinds of FTPStream.
extension StreamKind {
    /// `ReadStream(ftpURL:)` of a file, and `FTPClient.reader(_:offset:)`.
    public static let readFTPFile = StreamKind(
        "a file on an FTP server being read",
        .ftpDownload.using(.ftpFetchesResourceInfo).using(.ftpTransferOffset).telling(.ftpResourceSize))

    /// `ReadStream(ftpURL:)` of a directory, and `FTPClient.lister(_:)`.
    public static let ftpListing = StreamKind(
        "the listing of an FTP directory", .ftpDownload.using(.ftpListingCommand))

    /// `WriteStream(ftpURL:)` into a file, `FTPClient.writer(_:offset:)` and `FTPClient.appender(_:)`.
    public static let writtenFTPFile = StreamKind(
        "a file on an FTP server being written", .ftpUpload.using(.ftpAppends).using(.ftpTransferOffset))

    /// `WriteStream(ftpURL:)` with a directory, which it makes.
    public static let madeFTPDirectory = StreamKind("the creation of an FTP directory", .ftpSession)

    /// An ``FTPClient``, which sets the properties of the streams that it makes.
    public static let ftpClient = StreamKind(
        "an FTP client",
        readFTPFile.properties.including(writtenFTPFile.properties).including(ftpListing.properties)
            .without(.ftpResourceSize))

    /// All kinds of this package.
    public static let ofFTPStream: [StreamKind] = [
        .readFTPFile, .ftpListing, .writtenFTPFile, .madeFTPDirectory, .ftpClient,
    ]
}
