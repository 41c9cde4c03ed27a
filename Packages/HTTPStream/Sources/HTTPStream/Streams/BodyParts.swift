internal import EventLoops
internal import StreamKit

/// A part of a body whose length is known.
enum BodyPart: Sendable {
    case bytes([UInt8])
    case stream(length: Int64, @Sendable () -> ReadStream)

    var length: Int64 {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .stream(let length, _): length
        }
    }
}

/// The source of a stream that reads several parts, one after the other.
final class BodyPartsTransport: StreamTransport {
    private struct State: Sendable {
        var parts: ArraySlice<BodyPart>
        /// The number of bytes of the first part that were read.
        var read: Int64 = 0
        /// The stream of the first part; nil until it is opened.
        var stream: ReadStream?
        var isClosed = false

        /// Ends the first part. Returns its stream, to be closed.
        mutating func endPart() -> ReadStream? {
            parts.removeFirst()
            read = 0
            return stream.take()
        }
    }

    private let state: Locked<State>
    private let ownPoint: WaitPoint

    init(_ parts: [BodyPart], loop: EventLoop) {
        state = Locked(State(parts: parts[...]))
        ownPoint = WaitPoint(loop: loop)
    }

    var waitPoint: WaitPoint { state.withLock { $0.stream?.waitPoint } ?? ownPoint }

    var loop: EventLoop { ownPoint.loop }

    /// The next action of a read. The streams, which may be the application's, are opened, read and closed without the lock.
    private enum Step {
        case copied(Int)
        case open(@Sendable () -> ReadStream)
        case read(ReadStream, room: Int64, length: Int64)
        case endPart(ReadStream?)
        case end
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        while true {
            switch nextStep(&buffer) {
            case .copied(let count): return .moved(count)
            case .end: return .ended
            case .endPart(let stream): stream?.close()
            case .open(let open):
                let stream = open()
                try stream.open()
                let isClosed = state.withLock { state in
                    state.stream = stream
                    return state.isClosed
                }
                if isClosed { stream.close() }
            case .read(let stream, let room, let length):
                let count = min(buffer.byteCount, Int(clamping: room))
                let read = try buffer.withPart(0..<count) { (part) throws(StreamError) in
                    try stream.tryRead(into: &part)
                }
                guard let read else { return .wouldBlock(.readable) }
                if read == 0 { throw .bodyTooShort(length - room, of: length) }
                state.withLock { $0.read += Int64(read) }
                return .moved(read)
            }
        }
    }

    private func nextStep(_ buffer: inout MutableRawSpan) -> Step {
        state.withLock { state in
            if state.isClosed { return .end }
            switch state.parts.first {
            case nil: return .end
            case .bytes(let bytes)?:
                let left = bytes[Int(state.read)...]
                if left.isEmpty { return .endPart(state.endPart()) }
                let count = min(buffer.byteCount, left.count)
                buffer.withUnsafeMutableBytes { $0.copyBytes(from: left.prefix(count)) }
                state.read += Int64(count)
                return .copied(count)
            case .stream(let length, let open)?:
                if state.read == length { return .endPart(state.endPart()) }
                guard let stream = state.stream else { return .open(open) }
                return .read(stream, room: length - state.read, length: length)
            }
        }
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }

    func peek() throws(StreamError) -> Attempt {
        // A part that has not been opened is found to be empty or to block only by reading it.
        let stream = state.withLock { $0.stream }
        return stream.map { $0.hasBytesAvailable ? .moved(1) : .wouldBlock(.readable) } ?? .moved(1)
    }

    func writability() throws(StreamError) -> Attempt { .ended }

    func close() {
        let stream = state.withLock { state in
            state.isClosed = true
            return state.stream.take()
        }
        stream?.close()
    }
}
