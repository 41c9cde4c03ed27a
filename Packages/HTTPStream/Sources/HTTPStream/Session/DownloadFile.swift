@_spi(Packages) internal import EventLoops
internal import Glibc
internal import HTTPMessage
@_spi(Packages) internal import StreamKit

/// The file of a download. All calls of the system are made on the threads for files, since a disk may be slow.
struct DownloadFile: Sendable {
    /// The number of bytes that are written at once.
    static let pieceSize = 256 * 1024

    private let path: String
    private let threads: BlockingThreads
    private let fileTimeout: Duration
    private var replacement: ReplacementFile?
    /// The bytes of an earlier download and the date of their resource.
    let kept: (count: Int64, date: HTTPDate)?
    /// Whether these are the file itself, since there is no partial one.
    let isWhole: Bool

    /// - Parameters:
    ///   - resuming: whether to keep the bytes of an earlier download.
    ///   - threads: the threads for the calls of the system; nil for those of the device.
    ///   - fileTimeout: the longest wait for one of the calls.
    init(
        _ path: String, resuming: Bool, threads: BlockingThreads? = nil,
        fileTimeout: Duration = BlockingThreads.fileTimeout
    ) async throws(StreamError) {
        self.path = path
        let threads = threads ?? .files(at: path)
        self.threads = threads
        self.fileTimeout = fileTimeout
        (kept, isWhole) = try await threads.fileResult(within: fileTimeout) { () throws(StreamError) in
            DownloadFile.earlier(path, resuming: resuming)
        }
    }

    /// What an earlier download has left.
    static func earlier(_ path: String, resuming: Bool) -> (kept: (count: Int64, date: HTTPDate)?, isWhole: Bool) {
        var status = stat()
        let hasPart = lstat(path + ReplacementFile.partialSuffix, &status) == 0
        let isWhole = !hasPart && stat(path, &status) == 0
        // A date with a fraction is that of the last write, not one set by ``setDate(_:)``.
        guard resuming, hasPart || isWhole, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_size > 0, status.st_mtim.tv_nsec == 0
        else { return (nil, isWhole) }
        let date = HTTPDate(secondsSinceEpoch: Int64(status.st_mtim.tv_sec))
        return ((Int64(status.st_size), date), isWhole)
    }

    /// Prepares to write at an offset, and cuts off everything after it. The bytes before it must still be there.
    mutating func begin(at offset: Int64) async throws(StreamError) {
        let (path, opened) = (path, replacement)
        replacement = try await onDisk(path + ReplacementFile.partialSuffix) {
            () throws(WritableFile.Failure) in
            let replacement =
                if let opened { opened } else { try ReplacementFile(of: path, keepsPartial: offset > 0) }
            try replacement.file.truncate(to: offset)
            return replacement
        }
    }

    /// Writes bytes at an offset.
    func write(_ bytes: [UInt8], at offset: Int64) async throws(StreamError) {
        guard let replacement else { throw .closed }
        try await onDisk(replacement.partialPath) { () throws(WritableFile.Failure) in
            try replacement.file.write(bytes.span.bytes, at: offset)
        }
    }

    /// Writes the last bytes of a download that has failed, at an offset.
    func keep(_ bytes: [UInt8], at offset: Int64) async throws(StreamError) {
        try await regardless { () async throws(StreamError) in try await write(bytes, at: offset) }
    }

    /// Sets the modification time to the date of the resource, so that the rest can be requested later.
    func setDate(_ date: HTTPDate) async {
        guard let replacement else { return }
        // Without the date, a later download begins again.
        try? await regardless { () async throws(StreamError) in
            try await onDisk(path) { _ = replacement.file.setDate(date.secondsSinceEpoch) }
        }
    }

    /// Lets another download of the same file begin.
    func release() async {
        guard let replacement else { return }
        try? await regardless { () async throws(StreamError) in try await onDisk(path) { replacement.file.unlock() } }
    }

    /// Makes calls in a task of their own: the present one may have been cancelled, and the file is to be completed later.
    private func regardless(_ calls: @escaping @Sendable () async throws(StreamError) -> Void) async throws(StreamError)
    {
        let result = await Task { () async -> Result<Void, StreamError> in
            do throws(StreamError) {
                return .success(try await calls())
            } catch {
                return .failure(error)
            }
        }.value
        try result.get()
    }

    /// Gives the complete file its name. A file that an earlier download has completed keeps it.
    ///
    /// - Parameter count: the number of bytes of the file. Another number is an error: something else has changed it.
    func finish(_ count: Int64) async throws(StreamError) {
        let (path, opened, isWhole) = (path, replacement, isWhole)
        if opened == nil, isWhole { return }
        try await onDisk(path + ReplacementFile.partialSuffix) { () throws(WritableFile.Failure) in
            // Without one that is open, the partial file of an earlier download has everything.
            let replacement = if let opened { opened } else { try ReplacementFile(of: path, keepsPartial: true) }
            guard try replacement.file.size() == count else { throw .changed }
            try replacement.finish()
        }
    }

    /// - Parameter shownPath: the path for the error message.
    private func onDisk<Value: Sendable>(
        _ shownPath: String, _ call: @escaping @Sendable () throws(WritableFile.Failure) -> Value
    ) async throws(StreamError) -> Value {
        try await threads.fileResult(within: fileTimeout) { () throws(StreamError) in
            do throws(WritableFile.Failure) {
                return try call()
            } catch {
                throw StreamError(posix: error.number, error.sentence(shownPath), reason: .localFile)
            }
        }
    }
}
