internal import FoundationEssentials
internal import Glibc
internal import StreamKit

/// A local file of a tree, read or written sequentially. Links are not followed, and special files are refused.
struct LocalFile: ~Copyable {
    private let descriptor: Int32
    private let path: String
    /// The position at which reading or writing began.
    let offset: UInt64

    /// Opens a file for writing, or creates it.
    ///
    /// - Parameter offset: the number of bytes that remain; the file is truncated after them.
    init(writing path: String, keeping offset: UInt64) throws(StreamError) {
        // Without O_NONBLOCK, opening a named pipe would wait for its other end.
        let flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        descriptor = open(path, flags, 0o666)
        self.path = path
        self.offset = offset
        let isFile = descriptor >= 0 && LocalFile.isFile(descriptor)
        guard isFile, ftruncate(descriptor, off_t(clamping: offset)) == 0,
            lseek(descriptor, off_t(clamping: offset), SEEK_SET) >= 0
        else { throw .file("ftp.file", "The file %1 cannot be written", path, errno) }
    }

    /// Opens a file for reading.
    init(reading path: String, from offset: UInt64) throws(StreamError) {
        descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        self.path = path
        self.offset = offset
        let isFile = descriptor >= 0 && LocalFile.isFile(descriptor)
        guard isFile, lseek(descriptor, off_t(clamping: offset), SEEK_SET) >= 0 else {
            throw .file("ftp.fileUnread", "The file %1 cannot be read", path, errno)
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    func write(_ bytes: RawSpan) throws(StreamError) {
        var written = 0
        while written < bytes.byteCount {
            let count = bytes.extracting(droppingFirst: written).withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .file("ftp.file", "The file %1 cannot be written", path, errno) }
            written += count
        }
    }

    /// Reads the next bytes; returns 0 at the end.
    func read(into buffer: inout [UInt8]) throws(StreamError) -> Int {
        while true {
            let count = buffer.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .file("ftp.fileUnread", "The file %1 cannot be read", path, errno) }
            return count
        }
    }

    /// Sets the time of the last change, in seconds since 1970; returns whether that succeeded.
    func setDate(_ seconds: Int64) -> Bool {
        let unchanged = (1 << 30) - 2  // UTIME_OMIT, a macro that Swift does not import
        let times = [timespec(tv_sec: 0, tv_nsec: unchanged), timespec(tv_sec: Int(seconds), tv_nsec: 0)]
        return futimens(descriptor, times) == 0
    }

    /// The size and date of a file.
    struct Status {
        /// In bytes.
        let size: UInt64
        /// The time of the last change, in whole seconds since 1970.
        let date: Int64

        /// Nil if the file does not exist or is not a regular file.
        init?(of path: String) {
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            size = UInt64(clamping: status.st_size)
            date = Int64(status.st_mtim.tv_sec)
        }
    }

    private static func isFile(_ descriptor: Int32) -> Bool {
        errno = 0
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}

extension StreamError {
    /// The error of a local file or folder.
    ///
    /// - Parameter number: `errno`; 0 if the file is open, but not a regular one.
    fileprivate static func file(_ key: String, _ text: String, _ path: String, _ number: Int32) -> StreamError {
        switch number {
        // O_NOFOLLOW fails with ELOOP, and a pipe or a socket with ENXIO.
        case 0, ELOOP, ENXIO:
            StreamError(
                posix: number == 0 ? EINVAL : number,
                Sentence("\(key).special", "\(text): it is a link or a special file.", path))
        default:
            StreamError(posix: number, Sentence(key, "\(text): %2.", path, String(cString: strerror(number))))
        }
    }
}

/// The local folders of a tree. Nothing is written outside of them: names are single path components, and links are not followed.
enum LocalFolder {
    /// Creates a folder, unless it exists. A link to a folder is refused, except for the root of the tree.
    static func make(_ path: String, isRoot: Bool) throws(StreamError) {
        if mkdir(path, 0o777) == 0 { return }
        let number = errno
        var status = stat()
        let found = isRoot ? stat(path, &status) : lstat(path, &status)
        guard number == EEXIST, found == 0, status.st_mode & S_IFMT == S_IFDIR else {
            let isLink = found == 0 && status.st_mode & S_IFMT == S_IFLNK
            let error = StreamError.file(
                "ftp.folder", "The folder %1 cannot be created", path, number != EEXIST ? number : isLink ? 0 : ENOTDIR)
            throw isLink ? StreamError(posix: ENOTDIR, error.sentence) : error
        }
    }

    /// Removes a file, or a folder with everything below it. Links are not followed.
    ///
    /// - Returns: The number of entries removed.
    static func remove(_ path: String, depth: Int = 0) throws(StreamError) -> Int {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, depth < FTPTreeReport.depthLimit else {
            guard unlink(path) == 0 else { throw notRemoved(path) }
            return 1
        }
        var count = 1
        for (name, _) in try contents(of: path) { count += try remove(path + "/" + name, depth: depth + 1) }
        guard rmdir(path) == 0 else { throw notRemoved(path) }
        return count
    }

    private static func notRemoved(_ path: String) -> StreamError {
        .file("ftp.unremoved", "%1 cannot be deleted", path, errno)
    }

    /// The entries of a folder, sorted by name. Links are not followed.
    static func contents(of path: String) throws(StreamError) -> [(name: String, kind: ListingKind)] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        } catch {
            throw StreamError(
                posix: ENOENT, Sentence("ftp.folderUnread", "The folder %1 cannot be read.", path), underlying: error)
        }
        return names.map { name in
            var status = stat()
            guard lstat(path + "/" + name, &status) == 0 else { return (name, .unknown) }
            switch status.st_mode & S_IFMT {
            case S_IFREG: return (name, .file)
            case S_IFDIR: return (name, .directory)
            default: return (name, .unknown)
            }
        }
    }
}
