internal import EventLoops
internal import StreamKit

/// A transport that changes how the one below reads or writes. It passes on opening, looking, flushing, finishing and closing, but no
/// properties.
protocol TestLayer: StreamTransport {
    /// The transport below.
    var lower: any StreamTransport { get }
}

extension TestLayer {
    var waitPoint: WaitPoint { lower.waitPoint }
    func tryOpen() throws(StreamError) -> OpenAttempt { try lower.tryOpen() }
    func peek() throws(StreamError) -> Attempt { try lower.peek() }
    func writability() throws(StreamError) -> Attempt { try lower.writability() }
    func tryFlush() throws(StreamError) -> Attempt { try lower.tryFlush() }
    func tryFinish() throws(StreamError) -> Attempt { try lower.tryFinish() }
    func close() { lower.close() }
}
