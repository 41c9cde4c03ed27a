internal import Glibc

/// A regular file that is open for writing and that no other user has prepared.
///
/// In a folder such as `/tmp`, another user may have created the file before, or a link in its place. A file of that user could be
/// changed afterwards, and a link leads to some other file of the program's own user. Therefore a file is either new (`O_EXCL`), or a
/// regular file that belongs to the effective user and has one name. Symbolic links are not followed.
///
/// ```swift
/// let log = try WritableFile("/tmp/keys.log", permissions: 0o600, appends: true)
/// try log.write(Array("first line\n".utf8).span.bytes)
/// ```
///
/// The calls block while the disk is slow: make them on a thread of ``BlockingThreads``. The descriptor is closed when the last reference
/// to the object is gone (``FileDescriptor``), so that a call that outlives the wait for it never uses a descriptor of another file.
@_spi(Packages) public final class WritableFile: Sendable {
    /// Which files may be opened.
    public enum Opening: Hashable, Sendable {
        /// A file that does not exist yet.
        case new
        /// A file that exists. Its contents stay.
        case existing
        /// Either of them.
        case any
    }

    /// The result of ``lock()``.
    public enum Locking: Hashable, Sendable {
        /// The file is locked.
        case locked
        /// The file is not locked: the file system has no locks, or another program holds one for reading.
        case unavailable
    }

    /// The reason why a file is not written.
    @nonexhaustive
    public enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// A call of the system failed; the value is its `errno`.
        case system(CInt)
        /// The path leads to a symbolic link, a folder, a device or a pipe.
        case notRegular
        /// The file belongs to another user.
        case foreign
        /// The file has a second name (a hard link): writing would change another file of this user.
        case linked
        /// Another program, or another transfer of this one, is writing the file (``ReplacementFile``).
        case busy
        /// The file does not have the bytes that an earlier look at it has found.
        case changed

        /// The `errno` of the failure, or the one that comes closest.
        public var number: CInt {
            switch self {
            case .system(let number): number
            case .notRegular: EINVAL
            case .foreign: EPERM
            case .linked: EMLINK
            case .busy: EBUSY
            case .changed: ESTALE
            }
        }

        /// The message about a file.
        ///
        /// - Parameter path: The file's path, as the user knows it.
        public func sentence(_ path: String) -> Sentence {
            switch self {
            case .system(let number):
                Sentence("file.unwritable", "%1 cannot be written: %2.", path, SystemCall.text(of: number))
            case .notRegular:
                Sentence(
                    "file.unwritable.special",
                    "%1 cannot be written: it is a symbolic link or special file; remove it first.", path)
            case .foreign:
                Sentence(
                    "file.unwritable.foreign", "%1 cannot be written: it belongs to another user; remove it first.",
                    path)
            case .linked:
                Sentence(
                    "file.unwritable.linked",
                    "%1 cannot be written: it has another name, too (hard link); remove it first.", path)
            case .busy:
                Sentence(
                    "file.unwritable.busy", "%1 cannot be written: another transfer is writing it at the moment.", path)
            case .changed:
                Sentence(
                    "file.unwritable.changed", "%1 cannot be written: something else has changed it meanwhile.", path)
            }
        }

        /// The message, without the path.
        public var description: String { sentence("The file").description }
    }

    /// The open descriptor. It remains this object's: do not close it.
    public var descriptor: CInt { file.number }
    private let file: FileDescriptor
    /// Whether this object has created the file.
    public let isNew: Bool
    /// Whether the lock is released before the descriptor is closed, which may be later, on another thread: the next object must find the file
    /// unlocked. Not on a network file system, whose server would be asked.
    private let unlocksAtEnd = Locked(false)

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - folder: The descriptor of the folder to which a relative path belongs; nil for the current folder.
    ///   - opening: Which files may be opened.
    ///   - permissions: The mode of a new file, less the process's umask.
    ///   - appends: Whether all bytes are written to the end of the file, whatever other programs write (`O_APPEND`).
    /// - Throws: `EEXIST` for an existing file with ``Opening/new``, `ENOENT` for a missing one with ``Opening/existing``; the other reasons of
    ///   ``Failure``.
    public convenience init(
        _ path: String, in folder: CInt? = nil, opening: Opening = .any, permissions: UInt32 = 0o666,
        appends: Bool = false
    ) throws(Failure) {
        try self.init(path, folder, opening, permissions, appends: appends, user: geteuid())
    }

    /// - Parameter user: The owner that an existing file must have.
    init(
        _ path: String, _ folder: CInt?, _ opening: Opening, _ permissions: UInt32, appends: Bool = false, user: uid_t
    ) throws(Failure) {
        let flags = O_WRONLY | (appends ? O_APPEND : 0)
        let (descriptor, isNew) = try WritableFile.open(path, folder, opening, permissions, flags)
        file = FileDescriptor(descriptor)
        self.isNew = isNew
        if !isNew { try check(user) }
    }

    deinit {
        if unlocksAtEnd.withLock({ $0 }) { unlock() }
    }

    private static func open(
        _ path: String, _ folder: CInt?, _ opening: Opening, _ permissions: UInt32, _ flags: CInt
    ) throws(Failure) -> (descriptor: CInt, isNew: Bool) {
        // Another program may create or remove the file between the two calls, but not for ever.
        for _ in 0..<16 {
            if opening != .new {
                // Without O_NONBLOCK, opening a named pipe would wait for its other end.
                let opened = openat(folder ?? AT_FDCWD, path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                if opened >= 0 { return (opened, false) }
                guard errno == ENOENT, opening == .any else { throw Failure(openErrno: errno) }
            }
            do throws(Failure) {
                return (try create(path, in: folder, permissions: permissions, flags: flags), true)
            } catch .system(EEXIST) where opening == .any {
            }
        }
        throw .busy
    }

    /// Creates a file (`O_EXCL`) and opens it. This is the only call that creates files in these packages.
    ///
    /// - Parameters:
    ///   - path: The path; the last component must not exist, not even as a link.
    ///   - folder: The descriptor of the folder to which a relative path belongs; nil for the current folder.
    ///   - permissions: The mode, less the process's umask.
    ///   - flags: The access mode, such as `O_WRONLY`, and other flags of `open(2)`.
    /// - Returns: The descriptor, which the caller closes.
    /// - Throws: ``Failure/system(_:)``, with `EEXIST` for a name that exists.
    public static func create(
        _ path: String, in folder: CInt? = nil, permissions: UInt32 = 0o666, flags: CInt
    ) throws(Failure) -> CInt {
        let created = openat(
            folder ?? AT_FDCWD, path, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, permissions)
        guard created >= 0 else { throw Failure(openErrno: errno) }
        return created
    }

    /// The size of the file in bytes.
    public func size() throws(Failure) -> Int64 { Int64(try status().st_size) }

    /// What `fstat(2)` reports.
    func status() throws(Failure) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(errno) }
        return status
    }

    /// Writes bytes at the current position, or at the end with `appends`.
    ///
    /// - Throws: The failure of the system, such as a full disk. A part of the bytes may then have been written.
    public func write(_ bytes: RawSpan) throws(Failure) {
        try writeAll(bytes) { bytes, _ in Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
    }

    /// Writes bytes at an offset; the current position stays. As ``write(_:)``.
    public func write(_ bytes: RawSpan, at offset: Int64) throws(Failure) {
        try writeAll(bytes) { bytes, written in
            pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(offset) + off_t(written))
        }
    }

    private func writeAll(
        _ bytes: RawSpan, _ call: (UnsafeRawBufferPointer, _ written: Int) -> Int
    ) throws(Failure) {
        if let number = SystemCall.writing(all: bytes, call) { throw .system(number) }
    }

    /// Keeps the first bytes of the file, removes the rest, and continues to write there.
    ///
    /// - Throws: ``Failure/changed`` for a file that is shorter: the missing bytes would be zeros.
    public func truncate(to count: Int64) throws(Failure) {
        guard try size() >= count else { throw .changed }
        guard ftruncate(descriptor, off_t(count)) == 0, lseek(descriptor, off_t(count), SEEK_SET) >= 0 else {
            throw .system(errno)
        }
    }

    /// Locks the file without waiting, until ``unlock()`` or until this object and its descriptor are gone.
    ///
    /// The lock is one for writing that belongs to the open file (`F_OFD_SETLK`): it also excludes other objects of this process, and only a
    /// user who may write the file can hold it. With `flock(2)`, a user who may only read the file could exclude its owner. Such
    /// a user can also hold a lock for reading, which this class never takes, and which does not count as one.
    ///
    /// - Returns: Whether the file is locked now.
    /// - Throws: ``Failure/busy`` if another object or program holds the lock.
    public func lock() throws(Failure) -> Locking { try lock { fcntl($0, $1, $2) } }

    /// - Parameter call: `fcntl(2)`.
    func lock(_ call: Control) throws(Failure) -> Locking {
        // The holder may unlock the file between the two calls, but not for ever.
        for _ in 0..<16 {
            if control(WritableFile.setLock, F_WRLCK, call) != nil {
                unlocksAtEnd.withLock { $0 = !Mounts.present.device(of: descriptor).isRemote }
                return .locked
            }
            guard errno == EAGAIN || errno == EACCES else { return .unavailable }
            switch control(WritableFile.getLock, F_WRLCK, call) {
            case F_WRLCK: throw .busy
            case F_UNLCK: continue
            default: return .unavailable
            }
        }
        throw .busy
    }

    /// Unlocks the file.
    public func unlock() {
        _ = control(WritableFile.setLock, F_UNLCK) { fcntl($0, $1, $2) }
    }

    /// `fcntl(2)` with the lock as its argument.
    typealias Control = (CInt, CInt, UnsafeMutablePointer<flock>) -> CInt

    // F_OFD_GETLK and F_OFD_SETLK, macros that Swift does not import
    private static let getLock: CInt = 36
    static let setLock: CInt = 37

    /// Makes a call about a lock of the whole file. Returns the type of the lock afterwards; nil with `errno` if it failed.
    private func control(_ command: CInt, _ type: CInt, _ call: Control) -> CInt? {
        var lock = flock()
        lock.l_type = Int16(type)
        return SystemCall.retrying { call(descriptor, command, &lock) } == 0 ? CInt(lock.l_type) : nil
    }

    /// Sets the time of the last change, in seconds since 1970; returns whether that succeeded.
    @discardableResult
    public func setDate(_ seconds: Int64) -> Bool {
        let unchanged = (1 << 30) - 2  // UTIME_OMIT, a macro that Swift does not import
        let times = [timespec(tv_sec: 0, tv_nsec: unchanged), timespec(tv_sec: Int(seconds), tv_nsec: 0)]
        return futimens(descriptor, times) == 0
    }

    /// Sets the mode, regardless of the umask.
    func setPermissions(_ permissions: UInt32) throws(Failure) {
        guard fchmod(descriptor, permissions) == 0 else { throw .system(errno) }
    }

    private func check(_ user: uid_t) throws(Failure) {
        let status = try status()
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
        guard status.st_uid == user else { throw .foreign }
        guard status.st_nlink == 1 else { throw .linked }
    }
}

extension WritableFile.Failure {
    /// The failure of `open(2)` with `O_NOFOLLOW` and `O_NONBLOCK`: a link is ELOOP, a pipe or a socket ENXIO, a folder EISDIR.
    fileprivate init(openErrno number: CInt) {
        self = [ELOOP, ENXIO, EISDIR].contains(number) ? .notRegular : .system(number)
    }
}
