internal import Glibc

/// A file under construction, beside the one that it replaces when it is complete.
///
/// The bytes are written to a partial file, whose name has a suffix. ``finish()`` gives it the name of the whole: a reader sees the old
/// contents or the new ones, and an interruption leaves the old file as it was. The partial file stays, and can be continued later.
///
/// ```swift
/// let replacement = try ReplacementFile(of: "/tmp/cookies.txt", isPrivate: true)
/// try replacement.file.write(text.span.bytes)
/// try replacement.finish()
/// ```
///
/// The partial file is a ``WritableFile``: a new one, or one that belongs to the user and has one name. It has its final mode before it has
/// a byte, and its user can read and write it until ``finish()``. The mode is that of the file that it replaces if this belongs to the
/// user, without set-id bits. A file of another user only takes permissions away from those of a new file. Until ``finish()`` or
/// ``discard()``, another object for the same path fails with ``WritableFile/Failure/busy``, also in another process, on file systems
/// with locks.
@_spi(Packages) public final class ReplacementFile: Sendable {
    /// The suffix of a partial file.
    public static let partialSuffix = ".part"

    /// The path of the complete file.
    public let path: String
    /// The path of the partial file.
    public let partialPath: String
    /// The partial file.
    public let file: WritableFile

    private let folder: CInt
    /// The mode of the file that is replaced, as far as it is taken over.
    private let permissions: Permissions

    private enum Permissions {
        /// Those of a file of this user: exactly these, regardless of the umask.
        case exactly(UInt32)
        /// Those of a new file.
        case new(UInt32)
    }

    /// Opens the partial file of a path.
    ///
    /// - Parameters:
    ///   - path: The path of the complete file. If it is a symbolic link, ``finish()`` replaces the link itself.
    ///   - folder: The descriptor of the folder to which a relative path belongs, which must stay open as long as this object;
    ///     nil for the current folder.
    ///   - suffix: The suffix of the partial file.
    ///   - keepsPartial: Whether an existing partial file is continued: see ``WritableFile/size()``, and
    ///     ``WritableFile/truncate(to:)``. Otherwise one that exists is deleted, and a new one created.
    ///   - isPrivate: Whether a file that replaces none is readable by its user only.
    /// - Throws: The reason why the partial file cannot be written; `ENOENT` if there is none to continue.
    public convenience init(
        of path: String, in folder: CInt? = nil, suffix: String = partialSuffix, keepsPartial: Bool = false,
        isPrivate: Bool = false
    ) throws(WritableFile.Failure) {
        let user = geteuid()
        try self.init(
            of: path, in: folder, suffix: suffix, keepsPartial: keepsPartial, isPrivate: isPrivate, user: user,
            partialOf: user)
    }

    /// - Parameters:
    ///   - user: The owner of the files whose mode is taken over.
    ///   - partialOwner: The owner that an existing partial file must have.
    init(
        of path: String, in folder: CInt? = nil, suffix: String = partialSuffix, keepsPartial: Bool = false,
        isPrivate: Bool = false, user: uid_t, partialOf partialOwner: uid_t
    ) throws(WritableFile.Failure) {
        let folder = folder ?? AT_FDCWD
        self.path = path
        self.folder = folder
        partialPath = path + suffix
        permissions = ReplacementFile.permissions(replacing: path, folder, isPrivate: isPrivate, user)
        file = try ReplacementFile.open(path + suffix, folder, permissions, keepsPartial: keepsPartial, partialOwner)
    }

    /// Gives the complete file its name, and replaces the existing one.
    ///
    /// - Throws: The failure of the system. The partial file then remains.
    public func finish() throws(WritableFile.Failure) {
        try setFinalPermissions()
        guard renameat(folder, partialPath, folder, path) == 0 else { throw .system(errno) }
    }

    /// Gives the complete file a name that no file has yet.
    ///
    /// - Parameter name: The path of the complete file, in the same folder.
    /// - Throws: `EEXIST` if there is such a file: try again with another name. The partial file then remains.
    public func finish(as name: String) throws(WritableFile.Failure) {
        try setFinalPermissions()
        // rename(2) would replace a file.
        guard linkat(folder, partialPath, folder, name, 0) == 0 else { throw .system(errno) }
        unlinkat(folder, partialPath, 0)
    }

    /// Deletes the partial file, unless another one has its name by now: that of a transfer that began after ``finish()``.
    public func discard() {
        if ReplacementFile.isOpen(file, at: partialPath, folder) { unlinkat(folder, partialPath, 0) }
    }

    private func setFinalPermissions() throws(WritableFile.Failure) {
        if case .exactly(let mode) = permissions { try file.setPermissions(mode) }
    }

    private static func permissions(
        replacing path: String, _ folder: CInt, isPrivate: Bool, _ user: uid_t
    ) -> Permissions {
        let usual: UInt32 = isPrivate ? 0o600 : 0o666
        var status = stat()
        guard fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return .new(usual)
        }
        // The owner chose the mode of an own file. Another user may have chosen one that lets everybody write.
        return status.st_uid == user ? .exactly(status.st_mode & 0o777) : .new(usual & status.st_mode | 0o600)
    }

    private static func open(
        _ partial: String, _ folder: CInt, _ permissions: Permissions, keepsPartial: Bool,
        _ owner: uid_t
    ) throws(WritableFile.Failure) -> WritableFile {
        // Another transfer may finish or begin between two calls, but not for ever.
        for _ in 0..<16 {
            do throws(WritableFile.Failure) {
                let existing = try WritableFile(partial, folder, .existing, 0, user: owner)
                guard try lock(existing, partial, folder) else { continue }
                if keepsPartial {
                    try prepare(existing, permissions)
                    return existing
                }
                // A program that has the old one open must not read the new contents.
                guard unlinkat(folder, partial, 0) == 0 else { throw .system(errno) }
            } catch .system(ENOENT) where !keepsPartial {
            }
            do throws(WritableFile.Failure) {
                let mode: UInt32 = if case .new(let mode) = permissions { mode } else { 0o600 }
                let new = try WritableFile(partial, in: folder, opening: .new, permissions: mode)
                guard try lock(new, partial, folder) else { continue }
                try prepare(new, permissions)
                return new
            } catch .system(EEXIST) {
            }
        }
        throw .busy
    }

    /// Sets the mode before the first byte is written. The file stays writable, so that it can be continued later.
    private static func prepare(_ file: WritableFile, _ permissions: Permissions) throws(WritableFile.Failure) {
        if case .exactly(let mode) = permissions { try file.setPermissions(mode | 0o600) }
    }

    /// Locks a partial file until its descriptor is closed. Returns false if another transfer has renamed or deleted it meanwhile.
    private static func lock(
        _ file: WritableFile, _ path: String, _ folder: CInt
    ) throws(WritableFile.Failure) -> Bool {
        // Without locks, two transfers of one file are not kept apart; each checks the number of bytes at its end.
        _ = try file.lock()
        return ReplacementFile.isOpen(file, at: path, folder)
    }

    /// Whether a path leads to the open file.
    private static func isOpen(_ file: WritableFile, at path: String, _ folder: CInt) -> Bool {
        var named = stat()
        guard let opened = try? file.status(), fstatat(folder, path, &named, AT_SYMLINK_NOFOLLOW) == 0 else {
            return false
        }
        return (opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino)
    }
}
