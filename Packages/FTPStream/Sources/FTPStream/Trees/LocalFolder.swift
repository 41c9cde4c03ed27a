internal import Glibc
@_spi(Packages) internal import StreamKit

/// A local folder of a tree, held by its descriptor.
///
/// Whatever is in it is reached from the descriptor by single names, and links are not followed. A tree therefore stays below its root,
/// whatever another program does with the folders meanwhile.
///
/// The calls block while the disk is slow: a tree makes them by `TreeTransfer.onDisk(_:)`.
final class LocalFolder: Sendable {
    private let folder: FileDescriptor
    private var descriptor: CInt { folder.number }
    /// The path for messages.
    let path: String

    private init(_ folder: FileDescriptor, _ path: String) {
        self.folder = folder
        self.path = path
    }

    // MARK: Folders

    /// Opens the root of a tree. A link to a folder is followed here, because the caller has named it.
    ///
    /// - Parameter creates: whether a folder that does not exist is created.
    static func root(_ path: String, creates: Bool) throws(StreamError) -> LocalFolder {
        if creates, mkdir(path, 0o777) != 0, errno != EEXIST { throw .uncreatedFolder(path, errno) }
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw creates ? .uncreatedFolder(path, errno) : .unreadFolder(path, errno) }
        return LocalFolder(FileDescriptor(descriptor), path)
    }

    /// Opens a folder below this one.
    ///
    /// - Parameters:
    ///   - names: the path from here, with slashes; empty for this folder.
    ///   - creates: whether the last folder is created if it does not exist.
    func folder(at names: [UInt8], creates: Bool) throws(StreamError) -> LocalFolder {
        let names = names.split(separator: UInt8(ascii: "/"))
        var folder = self
        for (index, name) in names.enumerated() {
            folder = try folder.child(Array(name), creates: creates && index == names.count - 1)
        }
        return folder
    }

    private func child(_ name: [UInt8], creates: Bool) throws(StreamError) -> LocalFolder {
        let childPath = pathOf(name)
        let (child, number) = withName(name) { name -> (CInt, CInt) in
            if creates, mkdirat(descriptor, name, 0o777) != 0, errno != EEXIST { return (-1, errno) }
            let child = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            return (child, errno)
        }
        guard child >= 0 else {
            throw creates ? .uncreatedFolder(childPath, number) : .unreadFolder(childPath, number)
        }
        return LocalFolder(FileDescriptor(child, threads: folder.threads), childPath)
    }

    func pathOf(_ name: [UInt8]) -> String { path + "/" + ListingEntry(nameBytes: name).name }

    /// An entry of a folder.
    typealias Entry = (name: [UInt8], kind: ListingKind)

    /// The entries of a folder, which are read a batch at a time: one call for all of a large folder could take longer than a disk may need
    /// for one call. Links are not followed.
    final class Reading: Sendable {
        /// The maximum number of entries that one call looks at.
        static let batchSize = 256

        private let folder: LocalFolder
        private let directory: Locked<OpaquePointer>

        fileprivate init(_ folder: LocalFolder) throws(StreamError) {
            // The stream of a directory closes its descriptor, and shares the position with one made by dup(2).
            let own = openat(folder.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard own >= 0, let directory = fdopendir(own) else {
                let number = errno
                if own >= 0 { close(own) }
                throw .unreadFolder(folder.path, number)
            }
            self.folder = folder
            self.directory = Locked(directory)
        }

        deinit {
            let directory = UInt(bitPattern: directory.withLock { $0 })
            folder.folder.threads.release { _ = OpaquePointer(bitPattern: directory).map { closedir($0) } }
        }

        /// The next entries; none at the end.
        func next() throws(StreamError) -> [Entry] {
            try directory.withLock { (directory) throws(StreamError) in
                var entries: [Entry] = []
                while entries.count < Self.batchSize {
                    errno = 0
                    guard let entry = readdir(directory) else { break }
                    let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
                    if ListingEntry(nameBytes: name).relation == .inside {
                        entries.append((name, folder.kind(of: name)))
                    }
                }
                if entries.count < Self.batchSize, errno != 0 { throw .unreadFolder(folder.path, errno) }
                return entries
            }
        }
    }

    /// Begins to read the entries.
    func reading() throws(StreamError) -> Reading { try Reading(self) }

    func kind(of name: [UInt8]) -> ListingKind {
        switch (status(name)?.st_mode ?? 0) & S_IFMT {
        case S_IFREG: .file
        case S_IFDIR: .directory
        default: .unknown
        }
    }

    /// Removes a file, a link or an empty folder.
    func remove(_ name: [UInt8], isFolder: Bool) throws(StreamError) {
        let number = withName(name) { unlinkat(descriptor, $0, isFolder ? AT_REMOVEDIR : 0) == 0 ? 0 : errno }
        guard number == 0 else { throw .local("ftp.unremoved", "%1 cannot be deleted", pathOf(name), number) }
    }

    private func status(_ name: [UInt8]) -> stat? {
        var status = stat()
        return withName(name) { fstatat(descriptor, $0, &status, AT_SYMLINK_NOFOLLOW) } == 0 ? status : nil
    }

    private func withName<Value>(_ name: [UInt8], _ body: (UnsafePointer<CChar>) -> Value) -> Value {
        (name + [0]).withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { body($0.baseAddress!) }
        }
    }

    // MARK: Files

    /// The size in bytes and the date, in seconds since 1970, of a regular file; nil if there is none.
    func file(_ name: [UInt8]) -> (size: UInt64, date: Int64)? {
        guard let status = status(name), status.st_mode & S_IFMT == S_IFREG else { return nil }
        return (UInt64(clamping: status.st_size), Int64(status.st_mtim.tv_sec))
    }

    /// Opens a file for reading from an offset.
    func source(_ name: [UInt8], from offset: UInt64) throws(StreamError) -> LocalSource {
        // Without O_NONBLOCK, opening a named pipe would wait for its other end.
        let flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let (file, number) = withName(name) { name in (openat(descriptor, name, flags), errno) }
        guard file >= 0 else { throw .unread(pathOf(name), number) }
        return try LocalSource(FileDescriptor(file, threads: folder.threads), pathOf(name), from: offset)
    }

    /// The suffix of the file beside its place that a download is written to.
    static let partialSuffix = ".netkit\(ReplacementFile.partialSuffix)"

    /// Where an earlier download of a file can be continued; nil if it cannot.
    ///
    /// - Parameter size: the size of the file on the server.
    func progress(of name: [UInt8], size: UInt64) -> LocalTarget.Progress? {
        if let part = file(name + Array(Self.partialSuffix.utf8)), part.size > 0, part.size < size {
            return .partial(part.size)
        }
        guard let existing = file(name), existing.size > 0, existing.size < size else { return nil }
        return .existing(existing.size)
    }

    /// Opens the local file of a download, which only one transfer writes at a time.
    func target(_ name: String, continuing progress: LocalTarget.Progress?) throws(StreamError) -> LocalTarget {
        do throws(WritableFile.Failure) {
            switch progress {
            case .existing(let count):
                let file = try WritableFile(name, in: descriptor, opening: .existing)
                // Without locks, the size shows whether another transfer writes the file, too.
                _ = try file.lock()
                // Another transfer may have continued it meanwhile, even to its end.
                guard try file.size() == Int64(clamping: count) else { throw .changed }
                try file.truncate(to: Int64(clamping: count))
                return LocalTarget(file, nil, in: self, name)
            case .partial(let count):
                let replacement = try replacement(name, keepsPartial: true)
                try replacement.file.truncate(to: Int64(clamping: count))
                return LocalTarget(replacement.file, replacement, in: self, name)
            case nil:
                let replacement = try replacement(name, keepsPartial: false)
                return LocalTarget(replacement.file, replacement, in: self, name)
            }
        } catch {
            throw .unwritten(pathOf(Array(name.utf8)), error)
        }
    }

    private func replacement(_ name: String, keepsPartial: Bool) throws(WritableFile.Failure) -> ReplacementFile {
        // Renaming would put the file in the place of a link, and a folder or a pipe is in the way.
        if let status = status(Array(name.utf8)), status.st_mode & S_IFMT != S_IFREG { throw .notRegular }
        return try ReplacementFile(of: name, in: descriptor, suffix: Self.partialSuffix, keepsPartial: keepsPartial)
    }
}

/// The local file of an upload, read in order.
final class LocalSource: Sendable {
    private let file: FileDescriptor
    private let path: String

    fileprivate init(_ file: FileDescriptor, _ path: String, from offset: UInt64) throws(StreamError) {
        self.file = file
        self.path = path
        var status = stat()
        guard fstat(file.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw .unread(path, ENXIO) }
        guard lseek(file.number, off_t(clamping: offset), SEEK_SET) >= 0 else { throw .unread(path, errno) }
    }

    /// The next bytes, at most `limit`; none at the end.
    func read(upTo limit: Int) throws(StreamError) -> [UInt8] {
        do throws(SystemCall.Failure) {
            return try SystemCall.reading(upTo: limit) { Glibc.read(file.number, $0.baseAddress, $0.count) }
        } catch {
            throw .unread(path, error.number)
        }
    }
}

/// The local file of a download. It is written beside its place and takes it when it is complete, so that a transfer that fails leaves
/// the old file as it was; unless it continues a shorter file.
final class LocalTarget: Sendable {
    /// What there is of an earlier download, in bytes.
    enum Progress: Sendable, Hashable {
        /// A file beside the place of the complete one.
        case partial(UInt64)
        /// A shorter file in its place.
        case existing(UInt64)

        var count: UInt64 {
            switch self {
            case .partial(let count), .existing(let count): count
            }
        }
    }

    private let file: WritableFile
    private let replacement: ReplacementFile?
    private let folder: LocalFolder
    private let name: String
    /// Held during each call: the wait for one may end before the call does.
    private let turn = Locked(())

    fileprivate init(_ file: WritableFile, _ replacement: ReplacementFile?, in folder: LocalFolder, _ name: String) {
        self.file = file
        self.replacement = replacement
        self.folder = folder
        self.name = name
    }

    func write(_ bytes: ArraySlice<UInt8>) throws(StreamError) {
        try converting { () throws(WritableFile.Failure) in try file.write(bytes.span.bytes) }
    }

    /// Gives the file its date, in seconds since 1970, and its place.
    ///
    /// - Returns: Whether the date could be set.
    func finish(date: Int64?) throws(StreamError) -> Bool {
        let hasDate = date.map { file.setDate($0) } ?? false
        try converting { () throws(WritableFile.Failure) in try replacement?.finish() }
        return hasDate
    }

    /// Ends the download before the file is complete. When this returns, another one of the same file can begin.
    ///
    /// - Parameter keepsPartial: whether what was written beside the place of the file stays.
    func abandon(keepsPartial: Bool) {
        turn.withLock { _ in
            if !keepsPartial { replacement?.discard() }
            file.unlock()
        }
    }

    private func converting(_ body: () throws(WritableFile.Failure) -> Void) throws(StreamError) {
        do throws(WritableFile.Failure) {
            try turn.withLock { (_) throws(WritableFile.Failure) in try body() }
        } catch {
            throw .unwritten(folder.pathOf(Array(name.utf8)), error)
        }
    }
}

/// The failure of a call on a local file or folder of a tree: the `StreamError.underlying` of its error.
struct LocalFailure: Error {
    /// The `errno`.
    let number: CInt
}

extension StreamError {
    /// - Parameter number: `errno`. `O_NOFOLLOW` fails with ELOOP, and a pipe or a socket with ENXIO.
    fileprivate static func local(_ key: String, _ text: String, _ path: String, _ number: CInt) -> StreamError {
        let sentence =
            [ELOOP, ENXIO].contains(number)
            ? Sentence("\(key).special", "\(text): it is a link or a special file.", path)
            : Sentence(key, "\(text): %2.", path, SystemCall.text(of: number))
        return StreamError(posix: number, sentence, reason: .localFile, underlying: LocalFailure(number: number))
    }

    fileprivate static func uncreatedFolder(_ path: String, _ number: CInt) -> StreamError {
        .local("ftp.folder", "The folder %1 cannot be created", path, number)
    }

    fileprivate static func unreadFolder(_ path: String, _ number: CInt) -> StreamError {
        .local("ftp.folderUnread", "The folder %1 cannot be read", path, number)
    }

    fileprivate static func unread(_ path: String, _ number: CInt) -> StreamError {
        .local("ftp.fileUnread", "The file %1 cannot be read", path, number)
    }

    fileprivate static func unwritten(_ path: String, _ failure: WritableFile.Failure) -> StreamError {
        StreamError(
            posix: failure.number, failure.sentence(path), reason: .localFile,
            underlying: LocalFailure(number: failure.number))
    }
}
