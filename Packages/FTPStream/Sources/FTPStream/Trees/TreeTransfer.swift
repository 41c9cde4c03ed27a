internal import FTPListing
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
    private let state = Locked(FTPTreeReport())

    init(client: FTPClient, options: FTPTreeOptions) {
        self.client = client
        self.options = options
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

    /// Reports a file or directory that the server refuses; throws any other error.
    func handle(_ error: StreamError, _ path: FTPPath, isRoot: Bool = false) throws(StreamError) {
        let reply = (error.underlying as? FTPError).flatMap { $0.code == .refused ? $0.reply : nil }
        if !isRoot, let reply, TreeTransfer.concernsOneFile.contains(reply.code) {
            return update { $0.skip(path.description, .refused(reply)) }
        }
        if error == .cancelled { throw error }
        throw StreamError(
            domain: error.domain, code: error.code,
            sentence: Sentence("ftp.tree", "%1: %2", path.description, error.description), underlying: error.underlying)
    }

    /// The codes for a file that is busy, missing or not accessible, or whose name is not allowed. A full disk (452, 552)
    /// concerns all files.
    private static let concernsOneFile: Set<Int> = [450, 550, 553]

    func reportProgress(_ path: FTPPath, _ count: UInt64, _ size: UInt64?) {
        options.progress?(FTPTreeProgress(path: path.description, count: count, size: size, report: report))
    }
}
