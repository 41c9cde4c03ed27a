public import EventLoops
public import FoundationEssentials

extension ReadStream {
    /// Makes a stream of bytes in memory, which opens at once.
    ///
    /// Replaces `CFReadStreamCreateWithBytesNoCopy` and `InputStream(data:)`.
    public convenience init(bytes: [UInt8], loop: EventLoop = .shared) {
        let point = WaitPoint(loop: loop)
        self.init(
            Connection(.readMemory, point: point, only: .reader) { _ in
                .opened(.other(MemorySource(bytes, point: point)))
            })
    }

    /// Makes a stream of the bytes of a file. The file is first accessed by `open()`, which fails if it does not exist.
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

    /// Makes a stream of the bytes of a file, from a `file:` URL; nil for any other URL. Replaces
    /// `CFReadStreamCreateWithFile`.
    public convenience init?(url: URL, loop: EventLoop = .shared) {
        guard url.isFileURL else { return nil }
        self.init(path: url.path, loop: loop)
    }

    /// Makes a stream over a custom transport.
    public convenience init(transport: any StreamTransport) {
        self.init(Connection(transport: transport, only: .reader))
    }
}

extension WriteStream {
    /// Makes a stream that writes to a file. The file is created if necessary, and truncated unless `append` is true.
    ///
    /// If ``StreamProperty/fileOffset`` is set before opening, the file is not truncated, and writing begins at that
    /// offset.
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

    /// Makes a stream that writes to a file, from a `file:` URL; nil for any other URL. Replaces
    /// `CFWriteStreamCreateWithFile`.
    public convenience init?(url: URL, append: Bool = false, loop: EventLoop = .shared) {
        guard url.isFileURL else { return nil }
        self.init(path: url.path, append: append, loop: loop)
    }

    /// Makes a stream that writes to memory: without limit (nil), or up to `capacity` bytes, after which it is at its
    /// end.
    ///
    /// ``StreamProperty/dataWritten`` returns the bytes written. Replaces `CFWriteStreamCreateWithAllocatedBuffers` and
    /// `CFWriteStreamCreateWithBuffer`.
    public convenience init(toMemoryOfCapacity capacity: Int?, loop: EventLoop = .shared) {
        let point = WaitPoint(loop: loop)
        self.init(
            Connection(.writtenMemory, point: point, only: .writer) { _ in
                .opened(.other(MemorySink(capacity: capacity, point: point)))
            })
    }

    /// Makes a stream over a custom transport.
    public convenience init(transport: any StreamTransport) {
        self.init(Connection(transport: transport, only: .writer))
    }
}

extension Connection {
    /// The offset to begin at, removed from the properties: once open, the file itself knows its offset.
    fileprivate func takeFileOffset() -> UInt64? {
        details.withLock { details in
            defer { details.properties[.fileOffset] = nil }
            return details.properties[.fileOffset]
        }
    }
}
