internal import FTPListing
internal import Glibc
@_spi(Packages) internal import StreamKit

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
    /// The number of failures of data connections since the last success.
    private let brokenInARow = Locked(0)

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

    // MARK: Offsets

    /// Opens the transfer of a file from an offset; that of the whole file, if the server cannot start in the middle.
    ///
    /// - Returns: the stream, and the offset at which it begins.
    nonisolated(nonsending) func opened<Stream: StreamHalf>(
        at offset: UInt64, _ make: (UInt64) -> Stream
    ) async throws(StreamError) -> (Stream, UInt64) {
        let stream = make(offset)
        do throws(StreamError) {
            try stream.open()
            try await stream.opened()
            return (stream, offset)
        } catch {
            stream.close()
            guard offset > 0, (error.underlying as? FTPError)?.refusesOffset == true else { throw error }
            return try await opened(at: 0, make)
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
            // A date that cannot be read is no date.
            guard TreeTransfer.isRefusal(error) || TreeTransfer.isUnreadable(error) else { throw error }
            return nil
        }
    }

    // MARK: Errors and progress

    static func isRefusal(_ error: StreamError) -> Bool {
        (error.underlying as? FTPError)?.code == .refused
    }

    /// Whether a reply could not be read. The session has ended, unless it is known what the reply is for; others go on.
    static func isUnreadable(_ error: StreamError) -> Bool {
        switch (error.underlying as? FTPError)?.code {
        case .unexpectedReply, .notAReply, .replyTooLong: true
        case .refused, .loginRefused, .connectionLost, .notSecure, .badURL, .badArgument, .timedOut, .incomplete, nil:
            false
        }
    }

    /// The disk that the transfers of a tree fill. If it is full, the others would fail as well.
    enum FilledDisk { case local, server, none }

    /// Reports a file or directory that the server refuses, that was not transferred completely, or whose local counterpart cannot be
    /// used; throws an error that concerns the session, the disk or the way to the server, and so the other files.
    func handle(
        _ error: StreamError, _ path: FTPPath, filling disk: FilledDisk, isRoot: Bool = false
    ) throws(StreamError) {
        if !isRoot, let reason = TreeTransfer.reason(of: error, filling: disk), tolerate(error) {
            return update { $0.skip(path.description, reason) }
        }
        if error == .cancelled { throw error }
        throw StreamError(
            domain: error.domain, code: error.code,
            sentence: Sentence("ftp.tree", "%1: %2", path.description, error.description), reason: error.reason,
            underlying: error.underlying)
    }

    /// Why an error concerns one file or directory; nil if it concerns all.
    private static func reason(
        of error: StreamError, filling disk: FilledDisk
    ) -> FTPTreeReport.Skipped.Reason? {
        if let refusal = error.underlying as? FTPError {
            switch refusal.code {
            case .refused:
                guard let reply = refusal.reply else { return nil }
                return disk == .server && fullDiskCodes.contains(reply.code) ? nil : .refused(reply)
            case .incomplete, .unexpectedReply, .notAReply, .replyTooLong: return .failed(error.description)
            case .loginRefused, .connectionLost, .notSecure, .badURL, .badArgument, .timedOut: return nil
            }
        }
        if let failure = error.underlying as? LocalFailure {
            return disk == .local && exhaustedNumbers.contains(failure.number) ? nil : .failed(error.description)
        }
        if error.underlying is ListingError { return .failed(error.description) }
        // Sockets need descriptors, too, and the other files of the tree will release some.
        let isScarce = error.isPOSIX(EMFILE) || error.isPOSIX(ENFILE)
        return isScarce || isBrokenData(error) ? .failed(error.description) : nil
    }

    /// A connection of data that the other side has broken off.
    private static func isBrokenData(_ error: StreamError) -> Bool { error.isPOSIX(ECONNRESET) || error.isPOSIX(EPIPE) }

    /// Counts a failure of one file. Returns whether the transfer goes on: failures of data connections and replies that cannot be read
    /// cost time, and many in a row concern the way to the server.
    private func tolerate(_ error: StreamError) -> Bool {
        let reply = (error.underlying as? FTPError)?.reply?.code
        guard Self.isBrokenData(error) || Self.isUnreadable(error) || reply.map(Self.brokenDataCodes.contains) == true
        else { return true }
        return brokenInARow.withLock { count in
            count += 1
            return count < Self.maximumBroken
        }
    }

    /// Notes that the data connection of a file has worked.
    func noteTransfer() { brokenInARow.withLock { $0 = 0 } }

    /// The most failures of data connections and unreadable replies without a success between them; then the transfer ends.
    static let maximumBroken = 8

    /// The codes of a data connection that could not be opened, or was broken off.
    private static let brokenDataCodes: Set<Int> = [425, 426]

    /// The codes of a full disk or quota.
    private static let fullDiskCodes: Set<Int> = [452, 552]

    /// The failures of a local disk that is full, read-only or broken. A file that cannot be read concerns only itself.
    private static let exhaustedNumbers: Set<CInt> = [ENOSPC, EDQUOT, EFBIG, EROFS, EIO]

    func reportProgress(_ path: FTPPath, _ count: UInt64, _ size: UInt64?) {
        options.progress?(FTPTreeProgress(path: path.description, count: count, size: size, report: report))
    }
}
