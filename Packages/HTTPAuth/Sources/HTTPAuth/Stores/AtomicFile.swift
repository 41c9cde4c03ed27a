internal import Glibc

/// A file that is replaced as a whole, or not at all.
///
/// The new contents go into a file beside it, reach the disk, and take the old one's name in one step; then the folder
/// reaches the disk. Who crashes in between leaves the old file, and at most the unfinished one beside it, which the next
/// writer removes. The lock is a file of its own, since the one that is replaced has no lasting identity.
struct AtomicFile {
    /// The moments at which a crash would leave something else behind, in their order.
    enum Step: CaseIterable {
        case locked, created, writtenHalf, written, synchronized, renamed
    }

    /// Holds the lock until it goes away.
    final class Lock {
        private let descriptor: Int32

        init(adopting descriptor: Int32) {
            self.descriptor = descriptor
        }

        deinit { close(descriptor) }
    }

    let path: String

    /// Waits until no other program has the lock.
    func lock(limit: Duration) throws(HTTPAuthError) -> Lock {
        let name = path + ".lock"
        let descriptor = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw PrivateFile.failure(name, errno) }
        let lock = Lock(adopting: descriptor)
        let end = ContinuousClock.now + limit
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw PrivateFile.failure(name, errno) }
            guard ContinuousClock.now < end else {
                throw HTTPAuthError(.storeUnavailable, detail: "another program holds the lock \(name)")
            }
            // flock(2) waits for ever or not at all.
            usleep(2000)
        }
        return lock
    }

    /// Replaces the contents. Throws ``HTTPAuthError/Code/storeUnavailable``; the file is then as it was.
    func replace(
        with bytes: [UInt8], onStep: (Step) throws(HTTPAuthError) -> Void = { _ in }
    ) throws(HTTPAuthError) {
        try onStep(.locked)
        let new = path + ".new"
        unlink(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw PrivateFile.failure(new, errno) }
        var isOpen = true
        defer { if isOpen { close(descriptor) } }
        try onStep(.created)
        try write(bytes[..<(bytes.count / 2)], to: descriptor, new)
        try onStep(.writtenHalf)
        try write(bytes[(bytes.count / 2)...], to: descriptor, new)
        try onStep(.written)
        // The mode of O_CREAT is subject to the umask; this one is not.
        guard fchmod(descriptor, 0o600) == 0, fsync(descriptor) == 0 else { throw failed(new) }
        isOpen = false
        guard close(descriptor) == 0 else { throw failed(new) }
        try onStep(.synchronized)
        guard rename(new, path) == 0 else { throw failed(new) }
        try onStep(.renamed)
        try synchronizeFolder()
    }

    private func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, _ name: String) throws(HTTPAuthError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failed(name) }
            rest = rest.dropFirst(count)
        }
    }

    private func synchronizeFolder() throws(HTTPAuthError) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw PrivateFile.failure(folder, errno) }
        defer { close(descriptor) }
        // Some file systems know no fsync of folders; there the rename is as lasting as they make it.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw PrivateFile.failure(folder, errno) }
    }

    /// An error of the file system; what was written so far is removed.
    private func failed(_ name: String) -> HTTPAuthError {
        let error = PrivateFile.failure(name, errno)
        unlink(name)
        return error
    }
}
