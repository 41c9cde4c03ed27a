internal import EventLoops
internal import Glibc
internal import HTTP2
internal import HTTPMessage
internal import HostResolver
@_spi(Packages) internal import StreamKit

/// A client's connection of HTTP/2: it serves each request in a task of its own.
final class HTTP2ServerLink: HTTP2Link<HTTP2ServerCore>, @unchecked Sendable {
    // Unchecked only as a subclass of Watcher: everything here is constant.

    let context: ServerContext
    /// The address of the client, also once it has disconnected; nil unless the configuration's observer needs it.
    let observedAddress: SocketAddress?
    private let client: ServedConnection
    /// Signalled when there are requests, and when the connection has ended.
    private let requests: WaitPoint
    /// Held while the listener is told, so that it is told the last activity last.
    private let reporting = Lock()
    /// The permit of a long-lived connection, which its streams share.
    private let permit = Locked(WeakPermit())

    private struct WeakPermit: Sendable {
        weak var value: LongLivedLimit.Permit?
    }

    /// - Parameter received: bytes that have been read from the connection.
    init(_ client: ServedConnection, _ context: ServerContext, received: [UInt8] = []) {
        self.client = client
        self.context = context
        let pair = client.pair
        observedAddress = context.observedAddress(of: pair)
        let loop = pair.input.waitPoint.loop
        requests = WaitPoint(loop: loop, only: .reader)
        var core = HTTP2ServerCore(context.configuration, loop: loop, now: .now)
        if !received.isEmpty { core.receive(received.span.bytes, now: .now) }
        super.init(pair, core)
    }

    override func fire() { scheduleReading() }

    override func perform(_ notice: HTTP2ServerCore.Notice) {
        switch notice {
        case .requests: requests.signal(.readable)
        case .change(let stream):
            if stream.asksForSwitch, withStream(stream, { $0.hasEnded }) { stream.task.noteEndOfSwitched() }
            stream.point.signal([.readable, .writable])
        case .disconnection(let stream):
            stream.task.cancel()
            stream.task.noteEndOfSwitched()
            stream.point.signal([.readable, .writable])
        case .activity: reportActivity()
        }
    }

    /// Tells the listener what the connection does now.
    private func reportActivity() {
        let isRefused = reporting.withLock {
            // The present one: notices of two threads may be performed in the order opposite to that of their causes.
            let activity = withCore { $0.activity }
            return !client.change(to: activity) && activity == .idle
        }
        if isRefused { drain() }
    }

    override func didEnd() { requests.signal(.readable) }

    /// Takes no further requests, and ends the connection after the last response.
    private func drain() { changeCore { $0.drain(now: .now) } }

    /// Serves the client until the connection ends.
    func serve(_ handler: @escaping HTTPServer.Handler) async {
        if pair[.tlsInformation]?.isAdequateForHTTP2 == false {
            changeCore { $0.abort(.inadequateSecurity, now: .now) }
        }
        context.stopping.observe(self) { [weak self] in
            self?.drain()
            // At once, before the server closes the connections that are idle.
            self?.reportActivity()
        }
        await withDiscardingTaskGroup { group in
            while let stream = await nextRequest() {
                group.addTask { await self.serve(stream, handler) }
                if loop.isShareSpent { await Task.yield() }
            }
        }
        context.stopping.remove(self)
        pair.input.waitPoint.unwatch(.reader, self)
        pair.output.waitPoint.unwatch(.writer, self)
        // A client that has not taken the last frames gets no more time for them.
        if withCore({ $0.outputCount == 0 }) { await linger() }
    }

    /// Waits for the next request; nil at the end of the connection.
    private func nextRequest() async -> HTTP2ServerStream? {
        while true {
            if let stream = changeCore({ $0.takeRequest() }) { return stream }
            if error != nil || Task.isCancelled { return nil }
            _ = await requests.wait(.reader, for: .readable, until: nil)
        }
    }

    private func serve(_ stream: HTTP2ServerStream, _ handler: HTTPServer.Handler) async {
        let carrier = HTTP2ServerCarrier(stream, on: self)
        if let refusal = carrier.refusal {
            let isSent = await carrier.respond(with: refusal)
            context.configuration.onResponse?(
                HTTPServer.Record(
                    request: carrier.request, status: refusal.status, bodyLength: isSent ? refusal.bodyLength : 0,
                    isComplete: isSent, remoteAddress: observedAddress))
            await carrier.close(isComplete: isSent)
        } else {
            _ = await HTTPServerExchange(carrier).run(handler)
        }
    }

    /// Lets the client receive the last frames.
    private func linger() async {
        var buffer = ReceiveBuffer(capacity: 4096)
        var lingering = Lingering(context.configuration, now: .now)
        do throws(StreamError) { try await pair.output.finish() } catch { return }
        while let wait = lingering.nextWait(unsent: unsentCount, now: .now) {
            do throws(StreamError) {
                try pair.set(.readTimeout, to: wait)
                let count = try await buffer.fill(from: pair.input)
                if count == 0 { return }
                buffer.remove(count)
                lingering.note(count)
            } catch  where error == .timedOut {
                continue
            } catch {
                return
            }
        }
    }

    /// The number of bytes that the system has still to send.
    private var unsentCount: Int {
        var count: CInt = 0
        let isKnown = pair.output.waitPoint.withDescriptor { ioctl($0, UInt(TIOCOUTQ), &count) == 0 } ?? false
        return isKnown ? Int(count) : 0
    }

    // MARK: Streams

    /// Checks that the head of a response can be sent.
    func check(_ response: HTTPResponse, on stream: HTTP2ServerStream, endsHere: Bool) throws(HTTP2Error) {
        try withCore { (core) throws(HTTP2Error) in
            try core.machine.check(response, on: stream.identifier, endsHere: endsHere)
        }
    }

    func respond(_ stream: HTTP2ServerStream, _ response: HTTPResponse, endsHere: Bool) throws(HTTP2Error) {
        try changeCore { (core) throws(HTTP2Error) in
            try core.respond(stream, response, endsHere: endsHere, now: .now)
        }
    }

    func send(_ bytes: RawSpan, endsHere: Bool, on stream: HTTP2ServerStream) throws(HTTP2Error) -> HTTP2SendOutcome {
        try changeCore { (core) throws(HTTP2Error) in
            try core.send(bytes, endsHere: endsHere, on: stream, now: .now)
        }
    }

    func sendTrailers(_ trailers: HTTPFields, on stream: HTTP2ServerStream) throws(HTTP2Error) {
        try changeCore { (core) throws(HTTP2Error) in try core.sendTrailers(trailers, on: stream, now: .now) }
    }

    func read(_ stream: HTTP2ServerStream, into target: inout MutableRawSpan) throws(HTTP2Error) -> HTTP2ReadOutcome {
        try changeCore { (core) throws(HTTP2Error) in try core.read(stream, into: &target, now: .now) }
    }

    func close(_ stream: HTTP2ServerStream, _ code: ErrorCode?) {
        changeCore { $0.close(stream, code, now: .now) }
    }

    /// Lets other streams send, because the handler of this one does not want to any more.
    func endTurn(of stream: HTTP2ServerStream) { changeCore { $0.endTurn(of: stream) } }

    /// The number of bytes that the connection has written so far, and the number of its streams.
    var progress: (written: Int, streams: Int) { withCore { ($0.written, $0.streamCount) } }

    /// Permits the connection to be long-lived, once for all of its streams; nil at the maximum of such connections.
    func takePermit() -> LongLivedLimit.Permit? {
        permit.withLock { permit in
            let value = permit.value ?? context.longLived.permit()
            permit.value = value
            return value
        }
    }

    /// Waits until something has changed for a stream.
    ///
    /// - Throws: ``StreamError/timedOut``; the error of a task that is cancelled.
    func wait(_ stream: HTTP2ServerStream, within limit: Duration) async throws(StreamError) {
        let wake = await stream.point.wait(.reader, for: .readable, until: .now + limit)
        switch wake {
        case .ready: return
        case .timedOut: throw .timedOut
        case .cancelled: throw .cancelled
        case .closed: throw .closed
        case .busy: throw .busy
        case .failed(let number): throw StreamError(posix: number)
        }
    }

    /// Notes whether the handler of a stream waits for more of its request.
    func setAwaitsRequest(_ awaits: Bool, of stream: HTTP2ServerStream) {
        changeCore { $0.setWait(awaits ? .request : .none, of: stream) }
    }

    /// Reads what is known of a stream.
    func withStream<Result: Sendable>(_ stream: HTTP2ServerStream, _ body: (HTTP2ServerStream) -> Result) -> Result {
        withCore { _ in body(stream) }
    }
}

/// A server's use of a stream that carries another protocol.
struct HTTP2ServerTunnelEnd: HTTP2TunnelEnd {
    let link: HTTP2ServerLink
    let stream: HTTP2ServerStream

    var point: WaitPoint { stream.point }
    var pair: StreamPair { link.pair }
    var isFull: Bool { link.withStream(stream) { $0.isFull } }

    func read(into target: inout MutableRawSpan) throws(StreamError) -> HTTP2ReadOutcome {
        do throws(HTTP2Error) { return try link.read(stream, into: &target) } catch { throw self.error(error) }
    }

    func send(_ bytes: RawSpan, endsHere: Bool) throws(StreamError) -> Int? {
        do throws(HTTP2Error) {
            let outcome = try link.send(bytes, endsHere: endsHere, on: stream)
            return outcome.taken
        } catch {
            throw self.error(error)
        }
    }

    func close() {
        link.close(stream, nil)
        stream.task.noteEndOfSwitched()
    }

    func error(_ failure: HTTP2StreamFailure) -> StreamError { .clientGone(failure) }

    private func error(_ error: HTTP2Error) -> StreamError { error.fault == .caller ? .closed : .http2(error) }
}
