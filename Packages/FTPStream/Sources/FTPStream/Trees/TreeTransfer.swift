internal import FTPListing
internal import Glibc
internal import StreamKit

/// A running transfer of a tree: what downloads and uploads share.
final class TreeTransfer: Sendable {
    typealias Transfer = @Sendable () async throws(StreamError) -> Void

    /// The transfers in progress of several sessions.
    struct Workers {
        fileprivate var group: TaskGroup<Result<Void, StreamError>>
        fileprivate var running = 0
    }

    let client: FTPClient
    let options: FTPTreeOptions
    /// The threads for the calls on local files, so that no event loop waits for a disk.
    let diskThreads: BlockingThreads
    /// The longest wait for one of those calls.
    let fileTimeout: Duration
    private let state = Locked(FTPTreeReport())

    /// - Parameter folder: the local folder, on whose device the files are; any other if there are no local files.
    convenience init(client: FTPClient, options: FTPTreeOptions, folder: String = ".") {
        self.init(
            client: client, options: options, diskThreads: .files(at: folder), fileTimeout: BlockingThreads.fileTimeout)
    }

    init(client: FTPClient, options: FTPTreeOptions, diskThreads: BlockingThreads, fileTimeout: Duration) {
        self.client = client
        self.options = options
        self.diskThreads = diskThreads
        self.fileTimeout = fileTimeout
    }

    /// Makes calls on local files.
    ///
    /// - Throws: the error of the calls; that of `BlockingThreads.fileResult(within:of:)`, if the disk does not answer.
    nonisolated(nonsending) func onDisk<Value: Sendable>(
        _ calls: @escaping @Sendable () throws(StreamError) -> Value
    ) async throws(StreamError) -> Value {
        try await diskThreads.fileResult(within: fileTimeout, of: calls)
    }

    /// The result so far.
    var report: FTPTreeReport { state.withLock { $0 } }

    func update(_ change: (inout FTPTreeReport) -> Void) { state.withLock { change(&$0) } }

    // MARK: Several sessions

    /// Runs `body`, whose transfers may still be in progress when it returns, and waits for them. The first error cancels the
    /// others.
    nonisolated(nonsending) func withWorkers(
        _ body: (inout Workers) async throws(StreamError) -> Void
    ) async throws(StreamError) {
        let result = await withTaskGroup(of: Result<Void, StreamError>.self) { group in
            var workers = Workers(group: group)
            do throws(StreamError) {
                try await body(&workers)
                while let outcome = await workers.group.next() { try outcome.get() }
                return Result<Void, StreamError>.success(())
            } catch {
                workers.group.cancelAll()
                return .failure(error)
            }
        }
        try result.get()
    }

    /// Performs a transfer, beside others if the options allow it.
    nonisolated(nonsending) func perform(
        _ workers: inout Workers, _ transfer: @escaping Transfer
    ) async throws(StreamError) {
        let limit = min(options.connections, FTPTreeOptions.maximumConnections)
        if limit <= 1 { return try await transfer() }
        if workers.running == limit {
            workers.running -= 1
            try await workers.group.next()?.get()
        }
        workers.running += 1
        workers.group.addTask {
            do throws(StreamError) {
                return .success(try await transfer())
            } catch {
                return .failure(error)
            }
        }
    }

    // MARK: Dates

    /// The date of a file on the server in seconds since 1970: that of its listing if it is exact, otherwise by MDTM. Nil if the
    /// server does not state it.
    nonisolated(nonsending) func date(
        of path: FTPPath, listed date: ListingDate?
    ) async throws(StreamError) -> Int64? {
        if let date, date.precision == .second, date.zone != .unknown { return date.secondsSince1970() }
        do throws(StreamError) {
            return try await client.modificationDate(of: path).secondsSince1970()
        } catch {
            guard TreeTransfer.isRefusal(error) else { throw error }
            return nil
        }
    }

    // MARK: Errors and progress

    static func isRefusal(_ error: StreamError) -> Bool {
        (error.underlying as? FTPError)?.code == .refused
    }

    /// Reports a file or directory that the server refuses, that was not received completely, or whose local counterpart cannot be used;
    /// throws any other error.
    func handle(_ error: StreamError, _ path: FTPPath, isRoot: Bool = false) throws(StreamError) {
        if !isRoot, let reason = TreeTransfer.reason(of: error) {
            return update { $0.skip(path.description, reason) }
        }
        if error == .cancelled { throw error }
        throw StreamError(
            domain: error.domain, code: error.code,
            sentence: Sentence("ftp.tree", "%1: %2", path.description, error.description), reason: error.reason,
            underlying: error.underlying)
    }

    /// Why an error concerns one file or directory; nil if it concerns all.
    private static func reason(of error: StreamError) -> FTPTreeReport.Skipped.Reason? {
        if let refusal = error.underlying as? FTPError {
            switch refusal.code {
            case .refused: return refusal.reply.flatMap { refusedCodes.contains($0.code) ? .refused($0) : nil }
            case .incomplete: return .failed(error.description)
            default: return nil
            }
        }
        let concernsAll = (error.underlying as? LocalFailure).map { exhaustedNumbers.contains($0.number) }
        // Sockets need descriptors, too, and the other files of the tree will release some.
        let isScarce = error.isPOSIX(EMFILE) || error.isPOSIX(ENFILE)
        return concernsAll == false || isScarce ? .failed(error.description) : nil
    }

    /// The codes for a file that is busy, missing or not accessible, or whose name is not allowed. A full disk (452, 552)
    /// concerns all files.
    private static let refusedCodes: Set<Int> = [450, 550, 553]

    /// The failures of a local disk that is full, read-only or broken, or of a limit of the process, which concern all files.
    private static let exhaustedNumbers: Set<CInt> = [ENOSPC, EDQUOT, EFBIG, EROFS, EIO]

    func reportProgress(_ path: FTPPath, _ count: UInt64, _ size: UInt64?) {
        options.progress?(FTPTreeProgress(path: path.description, count: count, size: size, report: report))
    }
}
