internal import Glibc

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
        // One allocation: growing would leave copies of secrets in freed memory.
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var count = 0
        while count < bytes.count {
            let moved = bytes.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress! + count, $0.count - count, off_t(count))
            }
            if moved < 0, errno == EINTR { continue }
            guard moved > 0 else {
                let number = errno
                bytes.wipe()
                throw moved < 0
                    ? failure(path, number)
                    : HTTPAuthError(.storeUnavailable, detail: "\(path) became shorter while it was read")
            }
            count += moved
        }
        return bytes
    }

    static func failure(_ path: String, _ number: Int32) -> HTTPAuthError {
        HTTPAuthError(.storeUnavailable, detail: "\(path): \(String(cString: strerror(number)))")
    }
}
