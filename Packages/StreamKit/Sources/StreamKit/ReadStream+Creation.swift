public import EventLoops
public import FoundationEssentials

extension ReadStream {
    /// A stream of bytes in memory; it opens at once.
    ///
    /// Replaces `CFReadStreamCreateWithBytesNoCopy` and `InputStream(data:)`.
    public convenience init(bytes: [UInt8], loop: EventLoop = .shared) {
        let point = WaitPoint(loop: loop)
        self.init(
            Connection(.readMemory, point: point, only: .reader) { _ in
                .opened(.other(MemorySource(bytes, point: point)))
            })
    }

    /// A stream of a file's bytes. Nothing is touched before `open()`, which fails if there is no such file.
    ///
    /// Replaces `InputStream(fileAtPath:)`.
    public convenience init(path: String, loop: EventLoop = .shared) {
        let point = WaitPoint(loop: loop)
        self.init(
            Connection(.readFile, point: point, only: .reader) { (connection) throws(StreamError) in
                let offset = connection.takeFileOffset()
                return .opened(.other(try FileTransport(path: path, mode: .read, from: offset, point: point)))
            })
    }

    /// A stream of a file's bytes, by `file:` URL. Replaces `CFReadStreamCreateWithFile`.
    ///
    /// Nil if the URL is no file URL.
    public convenience init?(url: URL, loop: EventLoop = .shared) {
        guard url.isFileURL else { return nil }
        self.init(path: url.path, loop: loop)
    }

    /// A stream over a transport of your own.
    public convenience init(transport: any StreamTransport) {
        self.init(Connection(transport: transport, only: .reader))
    }
}

extension WriteStream {
    /// A stream into a file, which is created if need be, and emptied unless `append`.
    ///
    /// With ``StreamProperty/fileOffset`` set before opening it is not emptied, and written from there.
    ///
    /// Replaces `OutputStream(toFileAtPath:append:)`.
    public convenience init(path: String, append: Bool = false, loop: EventLoop = .shared) {
        let point = WaitPoint(loop: loop)
        self.init(
            Connection(.writtenFile, point: point, only: .writer) { (connection) throws(StreamError) in
                let appends = connection.details.withLock { $0.properties[.appendToFile] } ?? false
                let offset = connection.takeFileOffset()
                let mode: FileTransport.Mode = appends ? .append : offset == nil ? .truncate : .overwrite
                return .opened(.other(try FileTransport(path: path, mode: mode, from: offset, point: point)))
            })
        if append { connection.details.withLock { $0.properties[.appendToFile] = true } }
    }

    /// A stream into a file, by `file:` URL. Replaces `CFWriteStreamCreateWithFile`.
    ///
    /// Nil if the URL is no file URL.
    public convenience init?(url: URL, append: Bool = false, loop: EventLoop = .shared) {
        guard url.isFileURL else { return nil }
        self.init(path: url.path, append: append, loop: loop)
    }

    /// A stream into memory: all of it (nil), or `capacity` bytes, after which it is at its end.
    ///
    /// Read what was written with ``StreamProperty/dataWritten``. Replaces `CFWriteStreamCreateWithAllocatedBuffers` and
    /// `CFWriteStreamCreateWithBuffer`.
    public convenience init(toMemoryOfCapacity capacity: Int?, loop: EventLoop = .shared) {
        let point = WaitPoint(loop: loop)
        self.init(
            Connection(.writtenMemory, point: point, only: .writer) { _ in
                .opened(.other(MemorySink(capacity: capacity, point: point)))
            })
    }

    /// A stream over a transport of your own.
    public convenience init(transport: any StreamTransport) {
        self.init(Connection(transport: transport, only: .writer))
    }
}

extension Connection {
    /// The offset to begin at; from now on the file itself says where it is.
    fileprivate func takeFileOffset() -> UInt64? {
        details.withLock { details in
            defer { details.properties[.fileOffset] = nil }
            return details.properties[.fileOffset]
        }
    }
}
