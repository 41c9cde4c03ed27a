@_spi(Packages) internal import EventLoops
internal import Glibc
internal import HTTPStream

/// A file below a folder, opened for reading. Owns the descriptor.
///
/// The calls on files block, for as long as a disk or a network file system likes, so they run on the threads for files (`BlockingThreads`).
final class OpenedFile: Sendable {
    /// The result of opening a path.
    enum Result {
        case file(OpenedFile)
        case folder
        case missing
    }

    private let file: FileDescriptor
    let length: Int64
    let lastModified: HTTPDate
    let tag: EntityTag

    private init(_ file: FileDescriptor, _ status: stat) {
        self.file = file
        length = Int64(status.st_size)
        lastModified = HTTPDate(secondsSinceEpoch: Int64(status.st_mtim.tv_sec))
        let parts = [
            UInt64(status.st_ino), UInt64(bitPattern: Int64(status.st_mtim.tv_sec)),
            UInt64(bitPattern: Int64(status.st_mtim.tv_nsec)), UInt64(bitPattern: Int64(status.st_size)),
        ]
        tag = EntityTag(parts.map { String($0, radix: 16) }.joined(separator: "-"))
    }

    /// Opens a path below a folder. Each component is opened in its folder and no symbolic link is followed, so a path cannot
    /// leave the folder, whatever changes meanwhile.
    ///
    /// - Throws: the error of the system, other than those for a missing file; `EMFILE` also if no descriptor is free but those of
    ///   the `DescriptorReserve`.
    static func open(
        _ components: [String], below root: FileDescriptor
    ) throws(StreamError) -> Result {
        var folder = root.number
        defer { if folder != root.number { close(folder) } }
        if components.isEmpty { return .folder }
        for (index, component) in components.enumerated() {
            let isLast = index == components.count - 1
            // Without O_NONBLOCK, opening a FIFO would wait for a writer.
            let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | (isLast ? 0 : O_DIRECTORY)
            let next = openat(folder, component, flags)
            guard next >= 0 else {
                switch errno {
                case ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EACCES, EPERM, ENXIO: return .missing
                case let number: throw StreamError(posix: number)
                }
            }
            if DescriptorReserve.contains(next) {
                close(next)
                throw StreamError(posix: EMFILE)
            }
            if isLast { return result(next, root.threads) }
            if folder != root.number { close(folder) }
            folder = next
        }
        return .missing
    }

    private static func result(_ descriptor: CInt, _ threads: BlockingThreads) -> Result {
        var status = stat()
        if fstat(descriptor, &status) == 0 {
            switch status.st_mode & S_IFMT {
            case S_IFREG: return .file(OpenedFile(FileDescriptor(descriptor, threads: threads), status))
            case S_IFDIR:
                close(descriptor)
                return .folder
            default: break
            }
        }
        close(descriptor)
        return .missing
    }

    /// Returns bytes from an offset.
    ///
    /// - Throws: the error of the system; an error at the end of the file, which was longer when it was opened.
    func read(at offset: Int64, upTo count: Int) throws(StreamError) -> [UInt8] {
        var number: CInt = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let read = SystemCall.retrying { pread(file.number, buffer.baseAddress, count, off_t(offset)) }
            if read < 0 { number = errno }
            initialized = max(0, read)
        }
        if number != 0 { throw StreamError(posix: number) }
        if bytes.isEmpty {
            throw StreamError(
                posix: EIO, Sentence("kit.file.shrunk", "The file became shorter while it was sent."))
        }
        return bytes
    }

    /// Returns bytes from an offset as far as they are in memory, and none if they are not, or an error is to be found.
    func readCached(at offset: Int64, upTo count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            initialized = max(
                0, SystemCall.readCached(file.number, into: UnsafeMutableRawBufferPointer(buffer), at: offset))
        }
    }
}
