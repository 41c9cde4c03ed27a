internal import CFNetworkC
@preconcurrency internal import CoreFoundation
internal import Dispatch
internal import EventLoops
internal import Foundation
@_spi(Packages) internal import StreamKit
internal import StreamKitFoundation

/// A CFReadStream or InputStream of any kind as the transport of a stream that reads it: the body of an HTTP request.
///
/// Theory of operation. Such a stream has no form of reading that works for every kind without waiting. A queue of this
/// transport therefore opens, reads and closes it, one piece at a time, and the reader waits for the piece. Closing the transport
/// ends a read that waits for a silent source of this library; another source keeps the queue until it has bytes or ends.
final class StreamedBody: StreamTransport, @unchecked Sendable {
    // The lock protects the state. Only the queue uses the source.
    private enum State {
        case idle
        case reading
        case piece([UInt8], used: Int)
        case ended
        case failed(StreamError)
        case closed
    }

    private static let pieceSize = 64 * 1024

    private let source: any ByteSource
    /// Ends a read of the source. It is found here, because only the queue may use the source while it is read.
    private let interrupt: (@Sendable () -> Void)?
    private let queue = DispatchQueue(label: "CFNetwork.StreamedBody")
    private let state = Locked(State.idle)
    let waitPoint = WaitPoint(only: .reader)

    init(_ source: any ByteSource) {
        self.source = source
        interrupt = source.interruption
    }

    var kind: StreamKind { .readTransport }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try attempt { piece, used in
            let count = min(piece.count - used, buffer.byteCount)
            buffer.withUnsafeMutableBytes { memory in
                piece.withUnsafeBytes {
                    memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[used..<used + count]))
                }
            }
            return count
        }
    }

    func peek() throws(StreamError) -> Attempt {
        switch try attempt({ _, _ in 0 }) {
        case .moved: .moved(1)
        case let other: other
        }
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { throw StreamError(posix: 9) }  // EBADF
    func writability() throws(StreamError) -> Attempt { throw StreamError(posix: 9) }

    func close() {
        let isIdle = state.withLock { state in
            defer { state = .closed }
            if case .reading = state { return false }
            if case .closed = state { return false }
            return true
        }
        if isIdle { queue.async { self.source.close() } } else { interrupt?() }
        waitPoint.close()
    }

    /// Takes bytes of the piece, or requests the next one.
    private func attempt(_ take: ([UInt8], Int) -> Int) throws(StreamError) -> Attempt {
        let result = state.withLock { state -> Result<Attempt, StreamError> in
            switch state {
            case .piece(let piece, let used):
                let taken = used + take(piece, used)
                state = taken == piece.count ? .idle : .piece(piece, used: taken)
                return .success(.moved(taken - used))
            case .ended: return .success(.ended)
            case .failed(let error): return .failure(error)
            case .closed: return .failure(.closed)
            case .reading: return .success(.wouldBlock(.readable))
            case .idle:
                state = .reading
                queue.async { self.readPiece() }
                return .success(.wouldBlock(.readable))
            }
        }
        return try result.get()
    }

    /// Reads a piece, on the queue.
    private func readPiece() {
        let next = nextState()
        let isClosed = state.withLock { state in
            if case .closed = state { return true }
            state = next
            return false
        }
        if isClosed { source.close() } else { waitPoint.signal(.readable) }
    }

    private func nextState() -> State {
        guard source.openIfNeeded() else { return .failed(source.failure) }
        var count = 0
        let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { memory, initialized in
            if let start = memory.baseAddress { count = source.read(start, maxLength: memory.count) }
            initialized = max(0, count)
        }
        if count > 0 { return .piece(piece, used: 0) }
        return count == 0 ? .ended : .failed(source.failure)
    }
}

/// What a body is read from.
protocol ByteSource: AnyObject {
    /// Opens the source unless it is open; false if that failed.
    func openIfNeeded() -> Bool
    /// Reads 1 to `maxLength` bytes, blocking the thread. Returns 0 at the end and -1 for a failure.
    func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int
    func close()
    /// The failure of the source; EIO if it has none.
    var failure: StreamError { get }
    /// Ends a read in which another thread waits; nil if that is impossible.
    var interruption: (@Sendable () -> Void)? { get }
}

extension CFReadStream: ByteSource {
    func openIfNeeded() -> Bool { CFReadStreamGetStatus(self) != .notOpen || CFReadStreamOpen(self) }
    func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        CFReadStreamRead(self, buffer, maxLength)
    }
    func close() { CFReadStreamClose(self) }

    var interruption: (@Sendable () -> Void)? {
        guard let state = CFReadStreamCopyProperty(self, StreamState.stateKey) as? ReadStreamState else {
            return nil
        }
        return { state.reader.close() }
    }

    var failure: StreamError {
        let error = CFReadStreamGetError(self)
        if error.domain == 0 { return StreamError(posix: EIO) }
        let domain = StreamErrorDomain(rawValue: error.domain)
        if domain == .posix { return StreamError(posix: error.error) }
        return StreamError(domain: domain, code: Int(error.error), sentence: bodySentence)
    }
}

extension InputStream: ByteSource {
    func openIfNeeded() -> Bool {
        if streamStatus == .notOpen { open() }
        return streamStatus != .error
    }

    var interruption: (@Sendable () -> Void)? {
        guard let stream = (self as? BridgedInputStream)?.readStream else { return nil }
        return { stream.close() }
    }

    var failure: StreamError {
        guard let error = streamError as NSError? else { return StreamError(posix: EIO) }
        if error.domain == NSPOSIXErrorDomain { return StreamError(posix: Int32(truncatingIfNeeded: error.code)) }
        return StreamError(domain: .custom, code: error.code, sentence: bodySentence)
    }
}

private let bodySentence = Sentence("cfnetwork.body", "The stream of the request's body failed.")
