public import FoundationEssentials
public import StreamKit

extension ReadStream {
    /// Creates a stream of a file or of a directory listing on an FTP server.
    ///
    /// ```swift
    /// let stream = try ReadStream(ftpURL: URL(string: "ftp://ftp.example.org/pub/notes.txt")!)
    /// try stream.set(.ftp(\.userName), to: "ann")
    /// try stream.open()
    /// for try await line in stream.lines() { print(line) }
    /// ```
    ///
    /// A URL that ends in a slash names a directory: the stream returns the output of MLSD or LIST, for
    /// ``FTPListing/ListingParser``. A path is relative to the login directory, unless it begins with `%2F`. Files are
    /// transferred in binary mode; `;type=a` selects text mode, with line ends as received. The scheme `ftps` selects FTP over
    /// TLS.
    ///
    /// The stream is open when the transfer begins. It ends only after the server has confirmed the transfer; a data connection
    /// that ends early is an error.
    ///
    /// All ``FTPOptions`` must be set before `open()`. Replaces `CFReadStreamCreateWithFTPURL`.
    ///
    /// - Throws: An error whose `StreamError.underlying` is an ``FTPError`` with code ``FTPError/Code/badURL``.
    public convenience init(ftpURL url: URL, loop: EventLoop = .shared) throws(StreamError) {
        let location = try StreamError.converting { () throws(FTPError) in try FTPLocation(url) }
        let transport: FTPTransport =
            location.isDirectory
            ? .listing(location.path, at: location, loop: loop)
            : .reading(location.path, at: location, loop: loop)
        self.init(transport: transport)
    }
}

extension WriteStream {
    /// Creates a stream that writes a file on an FTP server, or creates a directory if the URL ends in a slash.
    ///
    /// ```swift
    /// let stream = try WriteStream(ftpURL: URL(string: "ftp://ann@ftp.example.org/notes.txt")!)
    /// try stream.set(.ftp(\.password), to: password)
    /// try stream.open()
    /// try await stream.writeAll(bytes)
    /// try await stream.finish()        // waits until the server confirms that it has everything
    /// stream.close()
    /// ```
    ///
    /// `finish()` throws if the server refuses the upload at the very end, for example because the disk is full. Closing
    /// without `finish()` aborts the upload. A directory is created when the stream opens, and the stream is then at its end;
    /// the parent directory must exist. Replaces `CFWriteStreamCreateWithFTPURL`, which does not wait for the server's final
    /// reply when it is closed.
    ///
    /// - Throws: As `ReadStream.init(ftpURL:loop:)`; a type other than `a` and `i` is refused.
    public convenience init(ftpURL url: URL, loop: EventLoop = .shared) throws(StreamError) {
        let location = try StreamError.converting { () throws(FTPError) in
            let location = try FTPLocation(url)
            if location.type == "d" { throw .badURL("a listing cannot be written.") }
            if location.path.isEmpty { throw .badURL("it does not name a file or directory.") }
            return location
        }
        if location.isDirectory {
            let transport = FTPTransport(.madeFTPDirectory, location, loop: loop) { (_) throws(StreamError) in
                .commands([
                    try StreamError.converting { () throws(FTPError) in
                        try FTPCommand("MKD", bytes: location.path)
                    }
                ])
            }
            self.init(transport: transport)
        } else {
            self.init(
                transport: FTPTransport.writing(location.path, at: location, loop: loop))
        }
    }
}

// MARK: - Transfers

extension FTPTransport {
    static func reading(
        _ path: [UInt8], at location: FTPLocation, _ options: FTPOptions = FTPOptions(), loop: EventLoop
    ) -> FTPTransport {
        FTPTransport(.readFTPFile, location, options: options, loop: loop) { options in
            .retrieve(
                path, offset: options.transferOffset, asksSize: options.fetchesResourceInfo,
                isASCII: location.isText(options))
        }
    }

    static func writing(
        _ path: [UInt8], at location: FTPLocation, _ options: FTPOptions = FTPOptions(), loop: EventLoop
    ) -> FTPTransport {
        FTPTransport(.writtenFTPFile, location, options: options, loop: loop) { (options) throws(StreamError) in
            if options.appends, options.transferOffset > 0 {
                throw StreamError(.appendsAtOffset)
            }
            return .store(path, options.writing, isASCII: location.isText(options))
        }
    }

    static func listing(
        _ path: [UInt8], at location: FTPLocation, _ options: FTPOptions = FTPOptions(), loop: EventLoop
    ) -> FTPTransport {
        FTPTransport(.ftpListing, location, options: options, loop: loop) { options in
            .list(path, options.listingCommand.kind)
        }
    }
}

extension FTPLocation {
    /// Whether a file is transferred in text mode: by `;type=`, otherwise by ``FTPOptions/transfersText``.
    fileprivate func isText(_ options: FTPOptions) -> Bool {
        type.map { $0 == "a" } ?? options.transfersText
    }
}

extension FTPListingCommand {
    var kind: FTPJob.Listing {
        switch self {
        case .automatic: .automatic
        case .list: .list
        case .names: .names
        case .facts: .facts
        }
    }
}
