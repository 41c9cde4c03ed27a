internal import CFNetworkC
@preconcurrency internal import CoreFoundation
internal import Dispatch
internal import EventLoops
internal import StreamKit

/// A CFReadStream of any kind as the transport of a stream that reads it: the body of an HTTP request.
///
/// Theory of operation. A CFReadStream has no form of reading that works for every kind without waiting. A queue of this
/// transport therefore opens, reads and closes it, one piece at a time, and the reader waits for the piece.
final class StreamedBody: StreamTransport, @unchecked Sendable {
    // The lock protects the state. Only the queue uses the CFReadStream.
    private enum State {
        case idle
        case reading
        case piece([UInt8], used: Int)
        case ended
        case failed(StreamError)
        case closed
    }

    private static let pieceSize = 64 * 1024

    private let stream: CFReadStream
    private let queue = DispatchQueue(label: "CFNetwork.StreamedBody")
    private let state = Locked(State.idle)
    let waitPoint = WaitPoint(only: .reader)

    init(_ stream: CFReadStream) { self.stream = stream }

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
        if isIdle { queue.async { CFReadStreamClose(self.stream) } }
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
        if isClosed { CFReadStreamClose(stream) } else { waitPoint.signal(.readable) }
    }

    private func nextState() -> State {
        if CFReadStreamGetStatus(stream) == .notOpen, !CFReadStreamOpen(stream) { return .failed(failure) }
        var count = 0
        let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { memory, initialized in
            if let start = memory.baseAddress { count = CFReadStreamRead(stream, start, memory.count) }
            initialized = max(0, count)
        }
        if count > 0 { return .piece(piece, used: 0) }
        return count == 0 ? .ended : .failed(failure)
    }

    /// The failure of the CFReadStream; EIO if it has none.
    private var failure: StreamError {
        let error = CFReadStreamGetError(stream)
        if error.domain == 0 { return StreamError(posix: 5) }
        let domain = StreamErrorDomain(rawValue: error.domain)
        if domain == .posix { return StreamError(posix: error.error) }
        let sentence = Sentence("cfnetwork.body", "The stream of the request's body failed.")
        return StreamError(domain: domain, code: Int(error.error), sentence: sentence)
    }
}
