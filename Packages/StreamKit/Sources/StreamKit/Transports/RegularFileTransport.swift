@_spi(Packages) internal import EventLoops
internal import Glibc

/// A regular file, which is read or written without keeping an event loop waiting for the disk.
///
/// Theory of operation. A try first asks the kernel for what needs no disk (`RWF_NOWAIT`); for bytes in the page cache that is all. If the
/// disk is needed, or the file system cannot tell, a thread for files (`BlockingThreads`) does the work, and the try would block: a piece of
/// the file is read ahead, or accepted bytes are written behind. One piece is under way at a time, and its end signals the wait point.
/// A piece that the disk does not end in time is a failure that lasts: what has become of it is unknown. Blocking calls do the same work on
/// their own thread, without a time limit.
///
/// Positions are kept here, not by the kernel, so that a piece that was read for an old position can be dropped. The descriptor stays open
/// until the last piece is done, however long a disk takes after the stream was closed.
final class RegularFileTransport: StreamTransport {
    /// The largest piece, in bytes. Large enough that changing the thread costs little.
    static let pieceSize = 256 << 10

    /// How the file is accessed. Tests replace it by a slow disk.
    protocol Disk: Sendable {
        /// `pread(2)` and `pwrite(2)`: the number of bytes, or a negative `errno`.
        func read(into buffer: UnsafeMutableRawBufferPointer, at position: Int64) -> Int
        func write(_ bytes: UnsafeRawBufferPointer, at position: Int64) -> Int
        /// The same without waiting: EAGAIN or EOPNOTSUPP if the disk may be needed.
        func readCached(into buffer: UnsafeMutableRawBufferPointer, at position: Int64) -> Int
        func writeCached(_ bytes: UnsafeRawBufferPointer, at position: Int64) -> Int
        /// The descriptor, for callers.
        var descriptor: CInt { get }
    }

    private struct State {
        /// Nil once the stream is closed.
        var disk: (any Disk)?
        /// Where the next piece is read or written.
        var position: Int64
        /// The bytes read ahead, of which the first `taken` were delivered.
        var ahead: [UInt8] = []
        var taken = 0
        /// Whether the file ended behind the bytes read ahead.
        var hasEnded = false
        /// The piece that is read or written now.
        var piece: Underway?
        /// The number of pieces begun.
        var pieces = 0
        /// Counts the changes of position by the caller. A piece read before the last one is dropped.
        var changes = 0
        /// The failure of a piece, which lasts.
        var failure: StreamError?

        var aheadCount: Int { ahead.count - taken }
    }

    /// A piece under way, by the thread that reads or writes it.
    private enum Underway {
        /// The thread of a blocking call.
        case caller(Int)
        /// A thread for files, until the time is over. Bytes that were accepted are written even if the stream is closed.
        case reader(Int, BlockingThreads.Work, LoopTimer)
        case writer(Int, BlockingThreads.Work, LoopTimer)

        var number: Int {
            switch self {
            case .caller(let number), .reader(let number, _, _), .writer(let number, _, _): number
            }
        }

        func cancelTimer() {
            switch self {
            case .caller: break
            case .reader(_, _, let timer), .writer(_, _, let timer): timer.cancel()
            }
        }
    }

    let waitPoint: WaitPoint
    private let appends: Bool
    private let threads: BlockingThreads
    private let fileTimeout: Duration
    private let state: Locked<State>

    /// - Parameters:
    ///   - disk: the open file, which the transport releases when the stream is closed.
    ///   - threads: the threads for the device of the file.
    ///   - fileTimeout: the longest time that one of these threads may need for a piece.
    init(
        _ disk: any Disk, from position: Int64 = 0, appends: Bool = false, point: WaitPoint,
        threads: BlockingThreads, fileTimeout: Duration = BlockingThreads.fileTimeout
    ) {
        waitPoint = point
        self.appends = appends
        self.threads = threads
        self.fileTimeout = fileTimeout
        state = Locked(State(disk: disk, position: position))
    }

    func close() {
        let (disk, piece) = state.withLock { ($0.disk.take(), $0.piece) }
        if case .reader(let number, let work, _) = piece, threads.withdraw(work) { end(number) }
        withExtendedLifetime(disk) {}  // released after the lock
    }

    func property(named name: String) -> (any Sendable)? {
        state.withLock { state -> (any Sendable)? in
            guard let disk = state.disk else { return nil }
            return switch name {
            case StreamProperty<Int32>.nativeDescriptor.name: disk.descriptor
            case StreamProperty<UInt64>.fileOffset.name: UInt64(state.position - Int64(state.aheadCount))
            default: nil
            }
        }
    }

    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        guard name == StreamProperty<UInt64>.fileOffset.name else { return false }
        if appends { throw .offsetOfAppending }
        guard let position = Int64(exactly: value as? UInt64 ?? 0) else { throw StreamError(posix: EINVAL) }
        try state.withLock { (state) throws(StreamError) in
            if state.disk == nil { throw .closed }
            state.position = position
            (state.ahead, state.taken, state.hasEnded) = ([], 0, false)
            state.changes += 1
        }
        return true
    }
}

// MARK: - Pieces

extension RegularFileTransport {
    /// A piece of the file that the caller must read or write, on its own thread or on another one.
    private struct Piece {
        let disk: any Disk
        let position: Int64
        let number: Int
        /// The value of ``State/changes`` when the piece was begun.
        let changes: Int
    }

    /// Begins a piece at the present position, on the thread of a blocking call. Call inside the lock.
    private func begin(_ state: inout State, _ disk: any Disk) -> Piece {
        state.pieces += 1
        state.piece = .caller(state.pieces)
        return Piece(disk: disk, position: state.position, number: state.pieces, changes: state.changes)
    }

    /// Ends a piece, unless its time is over.
    ///
    /// - Parameter change: what follows if the position is still that of the piece.
    private func end(_ piece: Piece, _ change: (inout State) -> Void) {
        end(piece.number) { state in
            if state.changes == piece.changes { change(&state) }
        }
    }

    /// Ends the piece with a number, unless its time is over.
    ///
    /// - Parameters:
    ///   - failure: a failure that lasts, wherever the position is by now.
    ///   - change: what follows.
    private func end(_ number: Int, failure: StreamError? = nil, _ change: (inout State) -> Void = { _ in }) {
        let ended = state.withLock { state -> Underway? in
            guard state.piece?.number == number else { return nil }
            if let failure { state.failure = failure }
            change(&state)
            return state.piece.take()
        }
        guard let ended else { return }
        ended.cancelTimer()
        waitPoint.signal([.readable, .writable])
    }

    /// Lets a thread for files read or write a piece. Call inside the lock.
    private func begin(
        _ state: inout State, _ disk: any Disk,
        as underway: (Int, BlockingThreads.Work, LoopTimer) -> Underway,
        _ perform: @escaping @Sendable (Piece) -> Void
    ) {
        let piece = begin(&state, disk)
        let work = BlockingThreads.Work {
            perform(piece)
        } refuse: { [self] refusal in
            end(piece.number, failure: StreamError(ofFileCall: WaitError(refusal)))
        }
        let timer = waitPoint.loop.schedule(at: .now + fileTimeout) { [self] in
            threads.withdraw(work)
            end(piece.number, failure: StreamError(ofFileCall: .timedOut))
        }
        state.piece = underway(piece.number, work, timer)
        threads.run(work)
    }

    private static func isWaiting(_ result: Int) -> Bool {
        [EAGAIN, EOPNOTSUPP, ENOSYS, EINVAL].contains(CInt(-result))
    }
}

// MARK: - Reading

extension RegularFileTransport {
    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try state.withLock { (state) throws(StreamError) in
            if let attempt = try takeAhead(&state, into: &buffer) { return attempt }
            guard let disk = state.disk else { throw .closed }
            let result = buffer.withUnsafeMutableBytes { bytes in
                disk.readCached(into: bytes, at: state.position)
            }
            if Self.isWaiting(result) { return readAhead(&state, disk) }
            return try Self.attempt(result, &state)
        }
    }

    func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        let (attempt, piece) = try state.withLock { (state) throws(StreamError) in
            if let attempt = try takeAhead(&state, into: &buffer) { return (attempt, nil as Piece?) }
            guard let disk = state.disk else { throw .closed }
            return (.wouldBlock(.readable), begin(&state, disk))
        }
        guard let piece else { return attempt }
        let result = buffer.withUnsafeMutableBytes { bytes in
            piece.disk.read(into: bytes, at: piece.position)
        }
        end(piece) { if result > 0 { $0.position += Int64(result) } }
        return switch result {
        case 1...: .moved(result)
        case 0: .ended
        default: throw StreamError(posix: CInt(-result))
        }
    }

    func peek() throws(StreamError) -> Attempt {
        try state.withLock { (state) throws(StreamError) in
            if let attempt = try Self.known(&state) { return attempt }
            guard let disk = state.disk else { throw .closed }
            // What needs no disk is read ahead at once.
            var ahead = [UInt8](repeating: 0, count: WaitPoint.bytesPerTransfer)
            let result = ahead.withUnsafeMutableBytes { bytes in
                disk.readCached(into: bytes, at: state.position)
            }
            if Self.isWaiting(result) { return readAhead(&state, disk) }
            let attempt = try Self.attempt(result, &state)
            if result > 0 { (state.ahead, state.taken) = (Array(ahead[..<result]), 0) }
            return attempt
        }
    }

    /// The result of a try that is known without the disk; nil if there is none.
    private static func known(_ state: inout State) throws(StreamError) -> Attempt? {
        if state.aheadCount > 0 { return .moved(state.aheadCount) }
        if let failure = state.failure { throw failure }
        if state.piece != nil { return .wouldBlock(.readable) }
        return state.hasEnded ? .ended : nil
    }

    /// Delivers bytes that were read ahead. Returns nil if the file must be read.
    private func takeAhead(_ state: inout State, into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt? {
        guard let attempt = try Self.known(&state) else { return nil }
        guard case .moved(let available) = attempt else {
            // A file may grow: the end counts once.
            state.hasEnded = false
            return attempt
        }
        let count = min(available, buffer.byteCount)
        let part = state.ahead[state.taken..<state.taken + count]
        buffer.withUnsafeMutableBytes { $0.copyBytes(from: part) }
        state.taken += count
        if state.aheadCount == 0 { (state.ahead, state.taken) = ([], 0) }
        return .moved(count)
    }

    /// The result of a read without waiting.
    private static func attempt(_ result: Int, _ state: inout State) throws(StreamError) -> Attempt {
        switch result {
        case 1...:
            state.position += Int64(result)
            return .moved(result)
        case 0: return .ended
        default: throw StreamError(posix: CInt(-result))
        }
    }

    /// Begins to read a piece ahead. Call inside the lock.
    private func readAhead(_ state: inout State, _ disk: any Disk) -> Attempt {
        begin(&state, disk, as: Underway.reader) { [self] piece in
            var result = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, count in
                result = piece.disk.read(into: UnsafeMutableRawBufferPointer(buffer), at: piece.position)
                count = max(0, result)
            }
            end(piece) { state in
                (state.ahead, state.taken, state.hasEnded) = (bytes, 0, result == 0)
                state.position += Int64(bytes.count)
                if result < 0 { state.failure = StreamError(posix: CInt(-result)) }
            }
        }
        return .wouldBlock(.readable)
    }
}

// MARK: - Writing

extension RegularFileTransport {
    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        try state.withLock { (state) throws(StreamError) in
            if let attempt = try Self.unready(state) { return attempt }
            guard let disk = state.disk else { throw .closed }
            let result = bytes.withUnsafeBytes { bytes in
                disk.writeCached(bytes, at: state.position)
            }
            if !Self.isWaiting(result) { return try Self.attempt(result, &state) }
            let piece = bytes.withUnsafeBytes { Array($0.prefix(Self.pieceSize)) }
            // No file system has so large files, but a position may be that large.
            guard Int64(piece.count) <= Int64.max - state.position else { throw StreamError(posix: EFBIG) }
            writeBehind(piece, &state, disk)
            state.position += Int64(piece.count)
            return .moved(piece.count)
        }
    }

    func write(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        let (attempt, piece) = try state.withLock { (state) throws(StreamError) in
            if let attempt = try Self.unready(state) { return (attempt, nil as Piece?) }
            guard let disk = state.disk else { throw .closed }
            return (.wouldBlock(.writable), begin(&state, disk))
        }
        guard let piece else { return attempt }
        let result = bytes.withUnsafeBytes { bytes in piece.disk.write(bytes, at: piece.position) }
        end(piece) { if result > 0 { $0.position += Int64(result) } }
        if result < 0 { throw StreamError(posix: CInt(-result)) }
        return result == 0 ? .ended : .moved(result)
    }

    func writability() throws(StreamError) -> Attempt {
        try state.withLock { (state) throws(StreamError) in try Self.unready(state) } ?? .moved(Self.pieceSize)
    }

    func tryFlush() throws(StreamError) -> Attempt {
        try state.withLock { (state) throws(StreamError) in try Self.unready(state) } ?? .ended
    }

    func tryFinish() throws(StreamError) -> Attempt { try tryFlush() }

    /// The reason why nothing can be written now; nil if there is none.
    private static func unready(_ state: State) throws(StreamError) -> Attempt? {
        if let failure = state.failure { throw failure }
        return state.piece != nil ? .wouldBlock(.writable) : nil
    }

    /// Begins to write accepted bytes at the present position. Call inside the lock.
    private func writeBehind(_ bytes: [UInt8], _ state: inout State, _ disk: any Disk) {
        begin(&state, disk, as: Underway.writer) { [self] piece in
            var written = 0
            var result = 0
            while written < bytes.count {
                result = bytes.withUnsafeBytes { bytes in
                    let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                    return piece.disk.write(rest, at: piece.position + Int64(written))
                }
                if result <= 0 { break }
                written += result
            }
            // Even if the position has been changed since: these bytes were accepted.
            let number = result < 0 ? CInt(-result) : written < bytes.count ? ENOSPC : 0
            end(piece.number, failure: number == 0 ? nil : StreamError(posix: number))
        }
    }
}

/// An open file on a disk.
final class OpenFile: RegularFileTransport.Disk {
    private let file: FileDescriptor
    var descriptor: CInt { file.number }

    init(_ file: FileDescriptor) { self.file = file }

    func read(into buffer: UnsafeMutableRawBufferPointer, at position: Int64) -> Int {
        Self.result(SystemCall.retrying { pread(descriptor, buffer.baseAddress, buffer.count, off_t(position)) })
    }

    func write(_ bytes: UnsafeRawBufferPointer, at position: Int64) -> Int {
        Self.result(SystemCall.retrying { pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(position)) })
    }

    func readCached(into buffer: UnsafeMutableRawBufferPointer, at position: Int64) -> Int {
        SystemCall.readCached(descriptor, into: buffer, at: position)
    }

    func writeCached(_ bytes: UnsafeRawBufferPointer, at position: Int64) -> Int {
        SystemCall.writeCached(descriptor, bytes, at: position)
    }

    private static func result(_ count: Int) -> Int { count < 0 ? -Int(errno) : count }
}
