internal import EventLoops

/// ``Engine/socket(_:)`` as a transport. It holds nothing of its own and is made when one is needed.
final class SocketTransport: StreamTransport {
    let waitPoint: WaitPoint

    init(_ point: WaitPoint) {
        waitPoint = point
    }

    private var engine: Engine { .socket(waitPoint) }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try engine.tryRead(into: &buffer)
    }

    func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try engine.read(into: &buffer)
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        try engine.tryWrite(bytes)
    }

    func peek() throws(StreamError) -> Attempt { try engine.peek() }

    func writability() throws(StreamError) -> Attempt { try engine.writability() }

    func tryFinish() throws(StreamError) -> Attempt { try engine.tryFinish() }
}
