@_spi(Packages) internal import EventLoops
internal import Glibc

/// A FIFO or a device opened by path, which is waited for like a socket.
///
/// A FIFO opens for reading at once, and reads wait for a writer. Opening it for writing fails with ENXIO while it has
/// no reader.
final class FileTransport: PolledTransport {
    enum Mode: Sendable {
        case read
        case truncate
        case append
        /// Keeps the file's contents except for the bytes written over.
        case overwrite
    }

    let waitPoint: WaitPoint
    private let appends: Bool

    /// Opens a file of any kind; for writing, creates it if necessary (mode 0666 less the umask).
    ///
    /// - Parameters:
    ///   - offset: where to begin; nil for the beginning.
    ///   - point: the wait point of the transport, without a descriptor.
    /// - Returns: a transport for this kind of file.
    /// - Throws: `EINVAL` for an offset if the file is opened for appending, or for one that is too large; `ESPIPE` if
    ///   the file cannot seek, such as a FIFO.
    static func open(
        path: String, mode: Mode, from offset: UInt64? = nil, point: WaitPoint
    ) throws(StreamError) -> any StreamTransport {
        if mode == .append, offset != nil { throw .offsetOfAppending }
        let descriptor: CInt
        do throws(WritableFile.Failure) {
            descriptor = try Self.descriptor(of: path, mode)
        } catch {
            throw StreamError.fileNotOpened(path, error.number)
        }
        if let offset, let number = FileTransport.seek(descriptor, to: offset) {
            Glibc.close(descriptor)
            throw StreamError.fileNotOpened(path, number)
        }
        var status = stat()
        if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
            let start = mode == .append ? Int64(status.st_size) : Int64(offset ?? 0)
            let file = FileDescriptor(descriptor)
            return RegularFileTransport(
                OpenFile(file), from: start, appends: mode == .append, point: point, threads: file.threads)
        }
        return FileTransport(descriptor, appends: mode == .append, point: point)
    }

    /// Opens the file, or creates it for writing.
    private static func descriptor(of path: String, _ mode: Mode) throws(WritableFile.Failure) -> CInt {
        let access =
            switch mode {
            case .read: O_RDONLY
            case .truncate: O_WRONLY | O_TRUNC
            case .append: O_WRONLY | O_APPEND
            case .overwrite: O_WRONLY
            }
        // Non-blocking, so that opening a FIFO does not wait for its other end. Regular files are unaffected.
        let flags = access | O_CLOEXEC | O_NONBLOCK
        return try descriptor(creating: mode != .read) {
            let opened = Glibc.open(path, flags)
            return opened >= 0 ? .success(opened) : .failure(.system(errno))
        } create: { () throws(WritableFile.Failure) in
            try WritableFile.create(path, flags: flags)
        }
    }

    /// Opens a file or, if there is none, creates it. Another program may create or remove it between the two calls, but not for ever.
    static func descriptor(
        creating: Bool, _ open: () -> Result<CInt, WritableFile.Failure>,
        create: () throws(WritableFile.Failure) -> CInt
    ) throws(WritableFile.Failure) -> CInt {
        for _ in 0..<16 {
            do throws(WritableFile.Failure) {
                return try open().get()
            } catch .system(ENOENT) where creating {
            }
            do throws(WritableFile.Failure) {
                return try create()
            } catch .system(EEXIST) {
            }
        }
        // A link that leads nowhere exists, too.
        return try open().get()
    }

    private init(_ descriptor: CInt, appends: Bool, point: WaitPoint) {
        self.appends = appends
        waitPoint = point
        point.attach(descriptor, ownership: .owned)
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        try bytes.withUnsafeBytes { (bytes) throws(StreamError) in try Syscalls.write(waitPoint.descriptor, bytes) }
    }

    func property(named name: String) -> (any Sendable)? {
        guard name == StreamProperty<UInt64>.fileOffset.name else { return nil }
        let offset = waitPoint.withDescriptor { lseek($0, 0, SEEK_CUR) } ?? -1
        return offset < 0 ? nil : UInt64(offset)
    }

    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        guard name == StreamProperty<UInt64>.fileOffset.name else { return false }
        if appends { throw .offsetOfAppending }
        let offset = value as? UInt64 ?? 0
        guard let failure = waitPoint.withDescriptor({ FileTransport.seek($0, to: offset) }) else { throw .closed }
        if let failure { throw StreamError(posix: failure) }
        return true
    }

    /// Moves to an offset. Returns the error number, or nil.
    private static func seek(_ descriptor: CInt, to offset: UInt64) -> CInt? {
        guard let offset = off_t(exactly: offset) else { return EINVAL }
        return lseek(descriptor, offset, SEEK_SET) < 0 ? errno : nil
    }
}

extension StreamError {
    /// An appending write goes to the end of the file whatever the offset is.
    static var offsetOfAppending: StreamError {
        .refused(StreamProperty<UInt64>.fileOffset.name, "the file is opened for appending.")
    }
}

/// A descriptor that is not a socket: a pipe, a terminal, a device.
///
/// The descriptor may be borrowed, so its flags are never changed. Instead, `poll(2)` tells before each call whether it
/// would wait.
final class DescriptorTransport: PolledTransport {
    /// POSIX guarantees room for this many bytes in a pipe that is reported writable.
    private static let safeWrite = 4096

    let waitPoint: WaitPoint

    init(_ point: WaitPoint) {
        waitPoint = point
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        if Syscalls.ready(waitPoint.descriptor, for: .writable).isEmpty { return .wouldBlock(.writable) }
        return try bytes.withUnsafeBytes { (bytes) throws(StreamError) in
            try Syscalls.write(
                waitPoint.descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(DescriptorTransport.safeWrite)))
        }
    }
}

/// A transport over a descriptor other than a socket. `poll(2)` tells whether there is something to read.
protocol PolledTransport: StreamTransport {}

extension PolledTransport {
    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        // Without this check, a FIFO that no writer has opened yet would return 0, which means the end.
        if Syscalls.ready(waitPoint.descriptor, for: .readable).isEmpty { return .wouldBlock(.readable) }
        return try buffer.withUnsafeMutableBytes { (bytes) throws(StreamError) in
            try Syscalls.read(waitPoint.descriptor, into: bytes)
        }
    }

    func peek() throws(StreamError) -> Attempt {
        Syscalls.ready(waitPoint.descriptor, for: .readable).isEmpty ? .wouldBlock(.readable) : .moved(1)
    }

    func writability() throws(StreamError) -> Attempt {
        Syscalls.ready(waitPoint.descriptor, for: .writable).isEmpty ? .wouldBlock(.writable) : .moved(1)
    }
}

extension Connection {
    /// A connection on a descriptor that is already open.
    convenience init(
        adopting descriptor: CInt, as kind: ConnectionKind, ownership: DescriptorOwnership,
        _ properties: StreamProperties = StreamProperties(), loop: EventLoop
    ) {
        let point = WaitPoint(descriptor: descriptor, ownership: ownership, loop: loop)
        self.init(kind, point: point, properties) { (connection) throws(StreamError) in
            guard let kind = Syscalls.socketType(descriptor) else {
                guard fcntl(descriptor, F_GETFD) >= 0 else { throw StreamError(posix: errno) }
                return .opened(DescriptorTransport(point))
            }
            guard kind == CInt(SOCK_STREAM.rawValue) else { throw StreamError(posix: EPROTOTYPE, .notAStreamSocket) }
            let properties = connection.withDetails { $0.properties }
            if properties[.tls] != nil {
                return .continues(StreamConnector(securing: ConnectPlan(to: .addresses([], name: nil), properties)))
            }
            if Syscalls.localAddress(descriptor)?.ipAddress != nil { connection.noteShortReadDrains() }
            return .opened(SocketTransport(point))
        }
    }
}

extension Sentence {
    fileprivate static let notAStreamSocket = Sentence(
        "adopt.notAStream",
        "The descriptor is not a stream socket (it may be a datagram socket); use Socket instead.")
}
