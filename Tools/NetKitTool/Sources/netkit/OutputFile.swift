import Foundation
import Glibc
@_spi(Packages) import NetKit

/// The destination of a body: a file, or standard output.
///
/// The functions that wait on the calling thread are for tests and for files that are written before or after the transfers. The
/// asynchronous ones wait on a thread for files: a disk that does not answer, and a pipe that is not read, stop no other transfer.
struct OutputFile: Sendable {
    /// A file that cannot be used, and the reason given by the system.
    struct Failure: Error, CustomStringConvertible {
        let description: String
        /// The reader of the pipe has closed it.
        let isBrokenPipe: Bool
        /// The file has more bytes than `--max-filesize` allows.
        let isTooLarge: Bool
        /// The disk is full, read-only or broken, so that other files could not be written either.
        let isDiskExhausted: Bool

        init(
            description: String, isBrokenPipe: Bool = false, isTooLarge: Bool = false, isDiskExhausted: Bool = false
        ) {
            self.description = description
            self.isBrokenPipe = isBrokenPipe
            self.isTooLarge = isTooLarge
            self.isDiskExhausted = isDiskExhausted
        }

        /// The failures of a disk that is full, read-only or broken.
        static let exhaustedNumbers: Set<CInt> = [ENOSPC, EDQUOT, EFBIG, EROFS, EIO]

        /// The refusal of a file with more bytes than a limit.
        static func tooLarge(_ limit: Int64) -> Failure {
            Failure(description: "The file has more than the \(limit) bytes of --max-filesize.", isTooLarge: true)
        }

        /// The reason why a file cannot be written.
        init(writing path: String, _ number: Int32) {
            self.init(
                description: number == EBADF
                    ? "\(path) is closed." : "\(path) cannot be written: \(String(cString: strerror(number))).",
                isBrokenPipe: number == EPIPE, isDiskExhausted: Failure.exhaustedNumbers.contains(number))
        }

        /// The reason why a file cannot be written.
        init(writing path: String, _ failure: WritableFile.Failure) {
            self.init(
                description: failure.sentence(path).description, isBrokenPipe: failure.number == EPIPE,
                isDiskExhausted: Failure.exhaustedNumbers.contains(failure.number))
        }

        /// The reason why a file or folder cannot be read; nil if it can.
        init?(reading path: String) {
            if access(path, R_OK) == 0 { return nil }
            self.init(description: "\(path) cannot be read: \(String(cString: strerror(errno))).")
        }
    }

    private enum Target: Sendable {
        case standardOutput
        /// A device or pipe; or a file that may be written, in a folder that may not.
        case existing(FileDescriptor)
        /// A file under construction, whose name ends in `.part`.
        case replacement(ReplacementFile)
    }

    private let target: Target
    private let name: String
    private let keepsExisting: Bool

    /// Standard output.
    init() {
        target = .standardOutput
        name = "standard output"
        keepsExisting = false
    }

    /// Begins to write a file. It replaces an existing one only when it is complete (``finish()``); until then, and after a
    /// failure, it is a ``ReplacementFile``'s partial file. A device or pipe, and all below /dev and /proc, is written directly. A
    /// symbolic link stays; the file that it leads to is written.
    ///
    /// - Parameters:
    ///   - path: the file; created if it does not exist.
    ///   - keeps: the number of bytes of the partial file to keep; the rest is truncated. See ``partialSize(of:)``.
    ///   - isPrivate: whether a new file is readable by its user only.
    ///   - keepsExisting: whether an existing file stays as it is, and the new one gets a number: `FILE.1`, `FILE.2` …
    @available(*, noasync)
    init(path: String, keeping keeps: Int64, isPrivate: Bool = false, keepsExisting: Bool = false) throws(Failure) {
        self.keepsExisting = keepsExisting
        var candidate = keepsExisting ? OutputFile.unusedPath(path) : try OutputFile.resolved(path)
        var busy: Set<String> = []
        while true {
            do throws(WritableFile.Failure) {
                target = try OutputFile.open(candidate, keeping: keeps, isPrivate: isPrivate)
                name = candidate
                return
            } catch .busy where keepsExisting {
                busy.insert(candidate)
                candidate = OutputFile.unusedPath(path, besides: busy)
            } catch {
                throw Failure(writing: candidate, error)
            }
        }
    }

    /// The path of the file that symbolic links lead to; the same path for a file that does not exist.
    ///
    /// As the kernel does in `/tmp`, a link of another user is not followed, unless the folder is that user's.
    private static func resolved(_ path: String) throws(Failure) -> String {
        var path = path
        for _ in 0..<maximumLinks {
            var link = stat()
            // A descriptor's link in /proc or /dev/fd has a target that may be no path at all.
            guard !isSpecial(path), lstat(path, &link) == 0, link.st_mode & S_IFMT == S_IFLNK else { return path }
            guard isTrusted(link, at: path) else { throw Failure(writing: path, .foreign) }
            var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(path, &buffer, buffer.count)
            guard count > 0, count < buffer.count else {
                throw Failure(writing: path, count < 0 ? errno : ENAMETOOLONG)
            }
            let goal = String(decoding: buffer[..<count], as: UTF8.self)
            path = goal.hasPrefix("/") ? goal : parent(of: path) + goal
        }
        throw Failure(writing: path, ELOOP)
    }

    /// The folder of a path with a slash at the end; empty for the current folder.
    private static func parent(of path: String) -> String {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? ""
    }

    /// Whether a link or a special file belongs to this user, or to that of its folder.
    private static func isTrusted(_ status: stat, at path: String) -> Bool {
        if status.st_uid == geteuid() { return true }
        let parent = parent(of: path)
        var folder = stat()
        return stat(parent.isEmpty ? "." : parent, &folder) == 0 && status.st_uid == folder.st_uid
    }

    /// The maximum number of links that lead to a file, as in the kernel.
    private static let maximumLinks = 40

    /// Whether a file is in a folder of the system whose files are not renamed.
    private static func isSpecial(_ path: String) -> Bool {
        (path.hasPrefix("/dev/") && !path.hasPrefix("/dev/shm/")) || path.hasPrefix("/proc/")
    }

    /// Opens a file to write.
    private static func open(
        _ path: String, keeping keeps: Int64, isPrivate: Bool
    ) throws(WritableFile.Failure) -> Target {
        var status = stat()
        let exists = stat(path, &status) == 0
        if isSpecial(path) { return try existing(path, keeps) }
        if exists, status.st_mode & S_IFMT != S_IFREG {
            // A user who makes a pipe in /tmp could read what is written, or let the program wait for ever.
            guard isTrusted(status, at: path) else { throw .foreign }
            return try existing(path, keeps)
        }
        let partial = path + ReplacementFile.partialSuffix
        // Other programs write partial files under the name of the whole.
        if keeps > 0, access(partial, F_OK) != 0 {
            // A file that must not be written keeps its name.
            _ = try WritableFile(path, opening: .existing)
            guard rename(path, partial) == 0 else { throw .system(errno) }
        }
        do throws(WritableFile.Failure) {
            let replacement = try ReplacementFile(of: path, keepsPartial: keeps > 0, isPrivate: isPrivate)
            try replacement.file.truncate(to: keeps)
            return .replacement(replacement)
        } catch .system(EACCES) where exists && (!isPrivate || status.st_uid == geteuid()) {
            return try existing(path, keeps)
        }
    }

    private static func existing(_ path: String, _ keeps: Int64) throws(WritableFile.Failure) -> Target {
        let descriptor = Glibc.open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(errno) }
        // Both calls fail for devices and pipes, which have neither a length nor an offset.
        _ = ftruncate(descriptor, off_t(keeps))
        _ = lseek(descriptor, off_t(keeps), SEEK_SET)
        return .existing(FileDescriptor(descriptor))
    }

    /// Gives the complete file its name, and returns it; nil for standard output.
    @available(*, noasync)
    @discardableResult
    func finish() throws(Failure) -> String? {
        switch target {
        case .standardOutput: return nil
        case .existing: return name
        case .replacement(let replacement):
            var name = name
            while true {
                do throws(WritableFile.Failure) {
                    if keepsExisting { try replacement.finish(as: name) } else { try replacement.finish() }
                    return name
                } catch .system(EEXIST) where keepsExisting {
                    // Another program has made a file of that name meanwhile.
                    name = OutputFile.unusedPath(name)
                } catch {
                    throw Failure(writing: name, error)
                }
            }
        }
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
        let path = (try? resolved(path)) ?? path
        let partial = path + ReplacementFile.partialSuffix
        return size(of: access(partial, F_OK) == 0 ? partial : path)
    }

    @available(*, noasync)
    func write(_ bytes: RawSpan) throws(Failure) {
        let descriptor: Int32
        switch target {
        case .standardOutput: descriptor = STDOUT_FILENO
        case .existing(let opened): descriptor = opened.number
        case .replacement(let replacement):
            do throws(WritableFile.Failure) {
                return try replacement.file.write(bytes)
            } catch {
                throw Failure(writing: name, error)
            }
        }
        let failure = SystemCall.writing(all: bytes) { rest, _ in Glibc.write(descriptor, rest.baseAddress, rest.count)
        }
        if let failure { throw Failure(writing: name, failure) }
    }

    /// Sets the time of the last change of a file under construction, in seconds since 1970.
    func setDate(_ seconds: Int64) {
        if case .replacement(let replacement) = target { replacement.file.setDate(seconds) }
    }

    /// Writes a whole file; `-` is standard output. A new one is readable by its user only.
    static func write(_ text: ShownText, to path: String) throws(Failure) {
        try write(Array(text.text.utf8).span.bytes, to: path)
    }

    /// Writes a whole file; `-` is standard output. A new one is readable by its user only.
    static func write(_ bytes: RawSpan, to path: String) throws(Failure) {
        let file = path == "-" ? OutputFile() : try OutputFile(path: path, keeping: 0, isPrivate: true)
        try file.write(bytes)
        try file.finish()
    }
}

// MARK: - Off the event loop

extension OutputFile {
    /// Standard output has one thread, so that the pieces of several bodies are not mixed with one another.
    private static let standardOutput = BlockingThreads(limit: 1)

    /// No limit: a person may read the other end of a pipe.
    static let patience = Duration.seconds(TimeLimit.longest)

    private var threads: BlockingThreads {
        switch target {
        case .standardOutput: OutputFile.standardOutput
        case .existing(let file): file.threads
        case .replacement(let replacement): .files(of: replacement.file.descriptor)
        }
    }

    /// The longest wait for a call: that for files, and none for a pipe or a device.
    private var timeout: Duration {
        if case .replacement = target { BlockingThreads.fileTimeout } else { OutputFile.patience }
    }

    /// Opens a file, as ``init(path:keeping:isPrivate:keepsExisting:)``.
    ///
    /// - Parameter makesFolders: whether its folders are created.
    static func open(
        _ path: String, keeping keeps: Int64 = 0, keepsExisting: Bool = false, makesFolders: Bool = false
    ) async throws -> OutputFile {
        let threads = BlockingThreads.files(at: path)
        // Opening a pipe waits for its reader.
        let waits = try await threads.call { () throws(Failure) in !isRegular(path) }
        return try await threads.call(within: waits ? patience : BlockingThreads.fileTimeout) {
            () throws(Failure) in
            if makesFolders { try makeFolders(of: path) }
            return try OutputFile(path: path, keeping: keeps, keepsExisting: keepsExisting)
        }
    }

    private static func isRegular(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
    }

    private static func makeFolders(of path: String) throws(Failure) {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw Failure(description: "\(folder) cannot be created.")
        }
    }

    /// Writes the first bytes of a buffer, or all.
    func write(_ buffer: [UInt8], count: Int? = nil) async throws {
        try await threads.call(within: timeout) { () throws(Failure) in
            try write(buffer.span.bytes.extracting(first: count ?? buffer.count))
        }
    }

    /// Removes the bytes from a position on, of a file under construction.
    func truncate(to count: Int64) async throws {
        guard case .replacement(let replacement) = target else { return }
        try await threads.call(within: timeout) { () throws(Failure) in
            do throws(WritableFile.Failure) {
                try replacement.file.truncate(to: count)
            } catch {
                throw Failure(writing: name, error)
            }
        }
    }

    /// Gives the complete file its name, and returns it; nil for standard output.
    ///
    /// - Parameter date: the time of the last change of a file under construction, in seconds since 1970.
    @discardableResult
    func finish(date: Int64? = nil) async throws -> String? {
        try await threads.call(within: timeout) { () throws(Failure) in
            if let date { setDate(date) }
            return try finish()
        }
    }
}

extension BlockingThreads {
    /// Makes a call, and suspends until it has returned.
    ///
    /// - Throws: the error of the call; the errors of `fileResult`.
    func call<Value: Sendable, Failure: Error>(
        within timeout: Duration = fileTimeout, _ call: @escaping @Sendable () throws(Failure) -> Value
    ) async throws -> Value {
        try await fileResult(within: timeout) { Result(catching: call) }.get()
    }
}
