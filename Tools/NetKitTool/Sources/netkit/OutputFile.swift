import Glibc
import NetKit

/// The destination of a body: a file, or standard output.
struct OutputFile: ~Copyable {
    /// A file that cannot be used, and the reason given by the system.
    struct Failure: Error, CustomStringConvertible {
        let description: String
        /// The reader of the pipe has closed it.
        let isBrokenPipe: Bool

        init(description: String, isBrokenPipe: Bool = false) {
            self.description = description
            self.isBrokenPipe = isBrokenPipe
        }

        /// The reason why a file cannot be written.
        init(writing path: String, _ number: Int32) {
            self.init(
                description: number == EBADF
                    ? "\(path) is closed." : "\(path) cannot be written: \(String(cString: strerror(number))).",
                isBrokenPipe: number == EPIPE)
        }

        /// The reason why a file or folder cannot be read; nil if it can.
        init?(reading path: String) {
            if access(path, R_OK) == 0 { return nil }
            self.init(description: "\(path) cannot be read: \(String(cString: strerror(errno))).")
        }
    }

    /// The suffix of a file that is not complete.
    static let partialSuffix = ".part"

    private let descriptor: Int32
    private let name: String
    private let keepsExisting: Bool
    /// The file under construction, which ``finish()`` renames to `name`; nil if the bytes go to `name` itself.
    private let partial: String?

    /// Standard output.
    init() {
        descriptor = STDOUT_FILENO
        name = "standard output"
        partial = nil
        keepsExisting = false
    }

    /// Begins to write a file. It replaces an existing one only when it is complete (``finish()``); until then, and after a
    /// failure, it has the suffix ``partialSuffix``. A device or pipe, and all below /dev and /proc, is written directly. A
    /// symbolic link stays; the file that it leads to is written.
    ///
    /// - Parameters:
    ///   - path: the file; created if it does not exist.
    ///   - keeps: the number of bytes of the partial file to keep; the rest is truncated. See ``partialSize(of:)``.
    ///   - isPrivate: whether a new file is readable by its user only.
    ///   - keepsExisting: whether an existing file stays as it is, and the new one gets a number: `FILE.1`, `FILE.2` …
    init(path: String, keeping keeps: Int64, isPrivate: Bool = false, keepsExisting: Bool = false) throws(Failure) {
        var candidate = keepsExisting ? OutputFile.unusedPath(path) : OutputFile.resolved(path)
        var busy: Set<String> = []
        var opened = try OutputFile.open(candidate, keeping: keeps, mode: isPrivate ? 0o600 : nil)
        while opened == nil {
            guard keepsExisting else {
                throw Failure(
                    description: "\(candidate) cannot be written: another transfer is writing it at the moment.")
            }
            busy.insert(candidate)
            candidate = OutputFile.unusedPath(path, besides: busy)
            opened = try OutputFile.open(candidate, keeping: keeps, mode: isPrivate ? 0o600 : nil)
        }
        guard let opened else { preconditionFailure("the loop ends with a file") }
        (descriptor, partial) = opened
        self.keepsExisting = keepsExisting
        name = candidate
        // Both calls fail for devices and pipes, which have neither a length nor an offset.
        _ = ftruncate(descriptor, off_t(keeps))
        _ = lseek(descriptor, off_t(keeps), SEEK_SET)
    }

    /// The path of the file that a symbolic link leads to; the same path for a file that does not exist.
    private static func resolved(_ path: String) -> String {
        // A descriptor's link in /proc or /dev/fd has a target that may be no path at all.
        guard !isSpecial(path), let pointer = realpath(path, nil) else { return path }
        defer { free(pointer) }
        return String(cString: pointer)
    }

    /// Whether a file is in a folder of the system whose files are not renamed.
    private static func isSpecial(_ path: String) -> Bool {
        (path.hasPrefix("/dev/") && !path.hasPrefix("/dev/shm/")) || path.hasPrefix("/proc/")
    }

    /// Opens a file to write; nil if another transfer is writing it.
    private static func open(
        _ path: String, keeping keeps: Int64, mode: mode_t?
    ) throws(Failure) -> (Int32, partial: String?)? {
        var status = stat()
        let exists = stat(path, &status) == 0
        let partial = path + partialSuffix
        if !isSpecial(path), !exists || status.st_mode & S_IFMT == S_IFREG {
            // Another program's partial file has the name of the whole.
            if keeps > 0, access(partial, F_OK) != 0, rename(path, partial) != 0 { throw failure(writing: path) }
            while let descriptor = try openPartial(partial, like: exists ? status.st_mode & 0o7777 : mode) {
                switch lock(descriptor, partial) {
                case .locked: return (descriptor, partial)
                case .busy:
                    close(descriptor)
                    return nil
                case .renamed: close(descriptor)
                }
            }
            // A file may be writable in a folder that is not.
            guard exists, errno == EACCES else { throw failure(writing: path) }
        }
        let descriptor = Glibc.open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(writing: path) }
        return (descriptor, nil)
    }

    /// Opens a partial file; nil with `errno` if that fails.
    ///
    /// - Parameter mode: the mode of the file to replace, which the partial file has before it has any content.
    private static func openPartial(_ path: String, like mode: mode_t?) throws(Failure) -> Int32? {
        // Another user may have put a link or a pipe there.
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let descriptor = Glibc.open(path, flags, mode.map { $0 & 0o666 } ?? 0o666)
        if descriptor < 0 {
            if errno == ELOOP || errno == ENXIO { throw notRegular(path) }
            return nil
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw notRegular(path)
        }
        if let mode { fchmod(descriptor, mode) }
        return descriptor
    }

    private enum LockResult {
        case locked
        /// Another transfer is writing the file.
        case busy
        /// Another transfer has given the file its final name meanwhile.
        case renamed
    }

    /// Locks a partial file until its descriptor is closed, so that two transfers do not mix their bytes in it.
    private static func lock(_ descriptor: Int32, _ path: String) -> LockResult {
        // Some file systems have no locks.
        if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK { return .busy }
        var (opened, named) = (stat(), stat())
        let isSame = fstat(descriptor, &opened) == 0 && stat(path, &named) == 0 && opened.st_ino == named.st_ino
        return isSame ? .locked : .renamed
    }

    private static func notRegular(_ path: String) -> Failure {
        Failure(description: "\(path) cannot be written: it is a symbolic link or special file; remove it first.")
    }

    deinit {
        if descriptor != STDOUT_FILENO { close(descriptor) }
    }

    /// Gives the complete file its name, and returns it; nil for standard output.
    @discardableResult
    func finish() throws(Failure) -> String? {
        guard let partial else { return descriptor == STDOUT_FILENO ? nil : name }
        guard keepsExisting else {
            guard rename(partial, name) == 0 else { throw OutputFile.failure(writing: name) }
            return name
        }
        // Another program may have made a file of that name meanwhile.
        var name = name
        while link(partial, name) != 0 {
            guard errno == EEXIST else { throw OutputFile.failure(writing: name) }
            name = OutputFile.unusedPath(name)
        }
        unlink(partial)
        return name
    }

    /// The first of `path`, `path.1`, `path.2` … that neither exists nor is busy. Devices and pipes are not numbered.
    private static func unusedPath(_ path: String, besides busy: Set<String> = []) -> String {
        var status = stat()
        var (candidate, number) = (path, 0)
        while busy.contains(candidate) || lstat(candidate, &status) == 0, !isSpecial(path) {
            number += 1
            candidate = "\(path).\(number)"
        }
        return candidate
    }

    /// The size of a file in bytes; 0 if it does not exist.
    static func size(of path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// The number of bytes that an earlier transfer has left of a file: the size of the partial file, or that of the file itself.
    static func partialSize(of path: String) -> Int64 {
        let path = resolved(path)
        let partial = path + partialSuffix
        return size(of: access(partial, F_OK) == 0 ? partial : path)
    }

    func write(_ bytes: RawSpan) throws(Failure) {
        var written = 0
        while written < bytes.byteCount {
            let count = bytes.extracting(droppingFirst: written).withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw OutputFile.failure(writing: name) }
            written += count
        }
    }

    /// Writes a whole file; `-` is standard output. A new one is readable by its user only.
    static func write(_ text: ShownText, to path: String) throws(Failure) {
        let file = path == "-" ? OutputFile() : try OutputFile(path: path, keeping: 0, isPrivate: true)
        try file.write(Array(text.text.utf8).span.bytes)
        try file.finish()
    }

    private static func failure(writing name: String) -> Failure { Failure(writing: name, errno) }
}
