public import FoundationEssentials
public import StreamKit

extension ReadStream {
    /// A stream of a file on an FTP server, or of a directory's listing.
    ///
    /// ```swift
    /// let stream = try ReadStream(ftpURL: URL(string: "ftp://ftp.example.org/pub/notes.txt")!)
    /// try stream.set(.ftpUserName, to: "ann")
    /// try stream.open()
    /// for try await chunk in stream.chunks() { … }
    /// ```
    ///
    /// A URL that ends in a slash is a directory: the bytes are those of MLSD or LIST, for ``FTPListing/ListingParser``. A path is
    /// relative to the directory of the log-in, unless it begins with `%2F`. Files are binary; `;type=a` takes them as the
    /// server's text, line ends as they come. The stream is open when the transfer begins. It ends only after the server
    /// has confirmed the transfer; a data connection that was cut short is an error. `ftps` is FTP over TLS.
    ///
    /// All `ftp…` properties are set before `open()`. Replaces `CFReadStreamCreateWithFTPURL`.
    ///
    /// - Throws: an error whose `StreamError.underlying` is an ``FTPError`` with code ``FTPError/Code/badURL``.
    public convenience init(ftpURL url: URL, loop: EventLoop = .shared) throws(StreamError) {
        let location = try FTPConversation.converting { () throws(FTPError) in try FTPLocation(url) }
        let exchange: FTPExchange =
            location.isDirectory
            ? .listing(location.path, at: location, loop: loop)
            : .reading(location.path, at: location, isASCII: location.type == "a", loop: loop)
        self.init(transport: exchange)
    }
}

extension WriteStream {
    /// A stream into a file on an FTP server; with a URL that ends in a slash, one that makes that directory.
    ///
    /// ```swift
    /// let stream = try WriteStream(ftpURL: URL(string: "ftp://ann@ftp.example.org/notes.txt")!)
    /// try stream.set(.ftpPassword, to: password)
    /// try stream.open()
    /// try await stream.writeAll(bytes)
    /// try await stream.finish()        // waits for the server to say that it has everything
    /// stream.close()
    /// ```
    ///
    /// `finish()` throws what the server finds wrong at the very end (a full disk). Closing without it gives the upload up. A
    /// directory is made by opening; its parent must exist; the stream is then at its end. Replaces
    /// `CFWriteStreamCreateWithFTPURL`, whose close does not wait for the server's last word.
    ///
    /// - Throws: as `ReadStream.init(ftpURL:loop:)`; a type other than `a` and `i` is refused.
    public convenience init(ftpURL url: URL, loop: EventLoop = .shared) throws(StreamError) {
        let location = try FTPConversation.converting { () throws(FTPError) in
            let location = try FTPLocation(url)
            if location.type == "d" { throw .badURL("a listing cannot be written.") }
            if location.path.isEmpty { throw .badURL("it does not name a file or directory.") }
            return location
        }
        if location.isDirectory {
            let exchange = FTPExchange(.madeFTPDirectory, location, loop: loop) { (_) throws(StreamError) in
                .commands([
                    try FTPConversation.converting { () throws(FTPError) in
                        try FTPCommand("MKD", bytes: location.path)
                    }
                ])
            }
            self.init(transport: exchange)
        } else {
            self.init(
                transport: FTPExchange.writing(
                    location.path, at: location, isASCII: location.type == "a", loop: loop))
        }
    }
}

/// The three transfers, as the properties say when the stream is opened.
extension FTPExchange {
    static func reading(
        _ path: [UInt8], at location: FTPLocation, isASCII: Bool, _ settings: FTPSettings = FTPSettings(),
        loop: EventLoop
    ) -> FTPExchange {
        FTPExchange(.readFTPFile, location, settings: settings, loop: loop) { settings in
            .retrieve(path, offset: settings.offset, asksSize: settings.fetchesInfo, isASCII: isASCII)
        }
    }

    static func writing(
        _ path: [UInt8], at location: FTPLocation, isASCII: Bool, _ settings: FTPSettings = FTPSettings(),
        loop: EventLoop
    ) -> FTPExchange {
        FTPExchange(.writtenFTPFile, location, settings: settings, loop: loop) { (settings) throws(StreamError) in
            if settings.appends, settings.offset > 0 {
                throw StreamError(.appendsAtOffset)
            }
            return .store(path, settings.writing, isASCII: isASCII)
        }
    }

    static func listing(
        _ path: [UInt8], at location: FTPLocation, _ settings: FTPSettings = FTPSettings(), loop: EventLoop
    ) -> FTPExchange {
        FTPExchange(.ftpListing, location, settings: settings, loop: loop) { settings in
            .list(path, settings.listing.kind)
        }
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
