@_spi(Packages) internal import EventLoops
internal import Glibc
internal import HTTPAuth

/// Reads files with secrets.
enum PrivateFile {
    /// Reads a file like ``read(_:limit:sharedWithOthers:)``; returns nil if it does not exist.
    static func readIfPresent(_ path: String, limit: Int) throws(HTTPAuthError) -> [UInt8]? {
        if access(path, F_OK) != 0, errno == ENOENT { return nil }
        return try read(path, limit: limit)
    }

    /// Reads a file that belongs to this user or root, and that no other user can read or change.
    ///
    /// - Parameter sharedWithOthers: Whether other users may read the file; they must still not be able to change it.
    static func read(_ path: String, limit: Int, sharedWithOthers: Bool = false) throws(HTTPAuthError) -> [UInt8] {
        // O_NONBLOCK, so that opening a named pipe does not block.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure(path, errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure(path, errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw HTTPAuthError(.storeUnavailable, detail: "\(path) is not a regular file")
        }
        let isOurs = status.st_uid == geteuid() || status.st_uid == 0
        let isClosed = status.st_mode & (sharedWithOthers ? 0o022 : 0o077) == 0
        guard isOurs, isClosed else { throw HTTPAuthError(.storeNotPrivate, detail: path) }
        guard status.st_size <= limit else {
            throw HTTPAuthError(.storeUnavailable, detail: "\(path) is larger than \(limit) bytes")
        }
        var bytes: [UInt8]
        do throws(SystemCall.Failure) {
            bytes = try SystemCall.reading(upTo: Int(status.st_size)) {
                Glibc.read(descriptor, $0.baseAddress, $0.count)
            }
        } catch {
            throw failure(path, error.number)
        }
        guard bytes.count == Int(status.st_size) else {
            bytes.wipe()
            throw HTTPAuthError(.storeUnavailable, detail: "\(path) became shorter while it was read")
        }
        return bytes
    }

    static func failure(_ path: String, _ number: Int32) -> HTTPAuthError {
        HTTPAuthError(.storeUnavailable, detail: "\(path): \(SystemCall.text(of: number))")
    }
}

/// A file that is replaced as a whole or not at all.
///
/// The new contents are written to a temporary file in the same folder and synchronized to disk. Then the file is
/// renamed, and the folder is synchronized. A crash leaves the old or the new contents and, at most, the temporary file,
/// which the next writer removes. The lock is a separate file, because the replaced file has no lasting identity.
struct AtomicFile {
    /// The points at which a crash leaves different files behind, in order.
    enum Step: CaseIterable {
        case locked, created, writtenHalf, written, synchronized, renamed
    }

    let path: String

    /// Acquires the lock, waiting for other programs. It is held until the last reference to the result is gone.
    func lock(limit: Duration) throws(HTTPAuthError) -> WritableFile {
        let name = path + ".lock"
        let lock = try AtomicFile.open(name, .any)
        let end = Moment.now + limit
        while true {
            switch try AtomicFile.locking(lock, name) {
            case .locked: return lock
            case .unavailable: throw HTTPAuthError(.storeUnavailable, detail: "\(name) cannot be locked")
            case nil:
                guard Moment.now < end else {
                    throw HTTPAuthError(.storeUnavailable, detail: "another program holds the lock \(name)")
                }
                // A wait for the lock would have no end, so it is polled.
                usleep(2000)
            }
        }
    }

    /// Tries to lock a file; nil if another program holds the lock.
    private static func locking(_ file: WritableFile, _ name: String) throws(HTTPAuthError) -> WritableFile.Locking? {
        do throws(WritableFile.Failure) {
            return try file.lock()
        } catch .busy {
            return nil
        } catch {
            throw HTTPAuthError(.storeUnavailable, detail: error.sentence(name).description)
        }
    }

    /// Replaces the contents.
    ///
    /// - Throws: `HTTPAuthError.Code.storeUnavailable`. The file is then unchanged, except if only the last
    ///   synchronization failed.
    func replace(
        with bytes: [UInt8], onStep: (Step) throws(HTTPAuthError) -> Void = { _ in }
    ) throws(HTTPAuthError) {
        try onStep(.locked)
        let new = path + ".new"
        unlink(new)
        let file = try AtomicFile.open(new, .new)
        try onStep(.created)
        try write(bytes[..<(bytes.count / 2)], to: file, new)
        try onStep(.writtenHalf)
        try write(bytes[(bytes.count / 2)...], to: file, new)
        try onStep(.written)
        // The mode of a new file depends on the umask; this one does not.
        guard fchmod(file.descriptor, 0o600) == 0, fsync(file.descriptor) == 0 else { throw failed(new) }
        try onStep(.synchronized)
        guard rename(new, path) == 0 else { throw failed(new) }
        try onStep(.renamed)
        try synchronizeFolder()
    }

    private static func open(_ name: String, _ opening: WritableFile.Opening) throws(HTTPAuthError) -> WritableFile {
        do throws(WritableFile.Failure) {
            return try WritableFile(name, opening: opening, permissions: 0o600)
        } catch {
            throw HTTPAuthError(.storeUnavailable, detail: error.sentence(name).description)
        }
    }

    private func write(_ bytes: ArraySlice<UInt8>, to file: WritableFile, _ name: String) throws(HTTPAuthError) {
        do throws(WritableFile.Failure) {
            try file.write(bytes.span.bytes)
        } catch {
            unlink(name)
            throw PrivateFile.failure(name, error.number)
        }
    }

    static func folder(of path: String) -> String {
        path.unicodeScalars.lastIndex(of: "/").map { String(path.unicodeScalars[...$0]) } ?? "."
    }

    private func synchronizeFolder() throws(HTTPAuthError) {
        let folder = AtomicFile.folder(of: path)
        let descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw PrivateFile.failure(folder, errno) }
        defer { close(descriptor) }
        // Some file systems do not support fsync(2) on folders. The rename is then as durable as they make it.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw PrivateFile.failure(folder, errno) }
    }

    /// Returns the error for the current `errno` and removes the temporary file.
    private func failed(_ name: String) -> HTTPAuthError {
        let error = PrivateFile.failure(name, errno)
        unlink(name)
        return error
    }
}
