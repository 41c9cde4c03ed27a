internal import EventLoops
internal import Glibc
internal import HTTPMessage
internal import HostResolver
@_spi(Packages) internal import StreamKit

/// A client's connection of HTTP/1.1: it reads the requests, one after the other, and closes the connection at the end.
///
/// Used by one task. A pipelined request waits in the buffer until the response to the previous one has been sent.
final class HTTP1ServerConnection {
    /// The result of the wait for a request.
    enum Next {
        case request(IncomingRequest)
        /// The client speaks HTTP/2, beginning with these bytes.
        case http2([UInt8])
        /// The server itself responds, to a request whose head it may have understood, and closes the connection.
        case refused(RequestRefusal, HTTPRequest?)
        /// The client is gone or idle, or the server is stopping.
        case ended
    }

    let client: ServedConnection
    let context: ServerContext
    var buffer = ReceiveBuffer(capacity: HTTP1ServerConnection.bufferSize)
    /// Memory for heads and pieces to be sent.
    var outgoing: [UInt8] = []

    private static let bufferSize = 8 * 1024
    /// The number of reads or pieces after which the clock is read.
    private static let stepsPerCheck: UInt8 = 8

    /// The address of the client, also once it has disconnected; nil unless the configuration's observer needs it.
    let observedAddress: SocketAddress?

    /// The task of the handler, which is cancelled once the client has disconnected.
    private(set) lazy var task = DisconnectionWatcher(pair.input.waitPoint, limit: configuration.halfClosedTimeout)

    let loop: EventLoop
    /// Whether the wait is for the first request.
    private var isNew = true
    /// What the listener has been told that the connection does.
    private var activity = ServedConnection.Activity.idle
    /// Whether the client may begin with HTTP/2 without having negotiated it.
    private var mayBeginWithHTTP2: Bool
    private var parser: HeadParser
    private var readTimeout = Duration.zero
    private var writeTimeout: Duration
    /// Counts the calls of ``countStep()``; wraps around.
    private var steps: UInt8 = 0

    init(_ client: ServedConnection, _ context: ServerContext) {
        self.client = client
        self.context = context
        let (pair, configuration) = (client.pair, context.configuration)
        loop = pair.input.waitPoint.loop
        observedAddress = context.observedAddress(of: pair)
        writeTimeout = configuration.writeTimeout
        parser = HeadParser(.request, limits: configuration.limits)
        mayBeginWithHTTP2 = configuration.acceptsUnnegotiatedHTTP2
    }

    private var configuration: HTTPServer.Configuration { context.configuration }

    /// The streams of the connection.
    var pair: StreamPair { client.pair }

    /// Serves the client until the connection ends.
    func serve(_ handler: @escaping HTTPServer.Handler) async {
        while true {
            switch await next() {
            case .request(let incoming):
                let exchange = HTTPServerExchange(HTTP1ServerCarrier(incoming, on: self))
                guard await exchange.run(handler) else { return }
            case .http2(let received):
                return await HTTP2ServerLink(client, context, received: received).serve(handler)
            case .refused(let refusal, let request):
                let isSent = await send(refusal)
                configuration.onResponse?(
                    HTTPServer.Record(
                        request: request, status: refusal.status, bodyLength: isSent ? refusal.bodyLength : 0,
                        isComplete: isSent, remoteAddress: observedAddress))
                if isSent { await linger() }
                return
            case .ended:
                return
            }
        }
    }

    // MARK: Requests

    private func next() async -> Next {
        // The time limit of the first head starts with the connection, that of others with their first bytes, including empty lines.
        var headDeadline = isNew ? .now + configuration.headTimeout : nil as Moment?
        if buffer.isEmpty {
            buffer.shrink()
            guard isNew || change(to: .idle) else { return .ended }
        } else if loop.isShareSpent {
            await Task.yield()
        }
        isNew = false
        do throws(StreamError) {
            while true {
                if !buffer.isEmpty {
                    do throws(RequestRefusal) {
                        switch beginsWithHTTP2 {
                        case true?: return .http2(takeBuffer())
                        case false?:
                            if let found = try findRequest() {
                                if case .request = found, !change(to: .busy) { return .ended }
                                return found
                            }
                        case nil: break
                        }
                    } catch {
                        return .refused(error, nil)
                    }
                    guard change(to: .receiving) else { return .ended }
                    headDeadline = headDeadline ?? .now + configuration.headTimeout
                }
                // A read that finds bytes does not check the clock, so the limit of the wait is not enough.
                if activity == .receiving, let headDeadline, .now >= headDeadline { throw .timedOut }
                let limit = headDeadline.map(time(until:)) ?? configuration.idleTimeout
                if try await fill(within: limit) == 0 { return .ended }
            }
        } catch {
            return RequestRefusal(after: error, hasBegun: activity == .receiving).map { .refused($0, nil) } ?? .ended
        }
    }

    /// Whether the bytes in the buffer are the preface of HTTP/2 (RFC 9113 §3.4); nil if more of them are needed.
    private var beginsWithHTTP2: Bool? {
        guard mayBeginWithHTTP2 else { return false }
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        let start = buffer.withBytes { bytes in bytes.withUnsafeBytes { Array($0.prefix(preface.count)) } }
        guard preface.starts(with: start) else { return false }
        return start.count == preface.count ? true : nil
    }

    /// Returns the bytes that have been received and not used, which leave the buffer.
    func takeBuffer() -> [UInt8] {
        let bytes = buffer.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } }
        buffer.remove(buffer.count)
        return bytes
    }

    /// Returns the request in the buffer, or its refusal; nil if its head is not complete.
    ///
    /// - Throws: the refusal of a head that is not understood.
    private func findRequest() throws(RequestRefusal) -> Next? {
        if configuration.versions == .http2 { throw RequestRefusal(505) }
        mayBeginWithHTTP2 = false
        let request: HTTPRequest
        do throws(HTTPMessageError) {
            let progress = try buffer.withBytes { (bytes) throws(HTTPMessageError) in try parser.parse(bytes) }
            guard progress != .needMore else { return nil }
            request = try buffer.withBytes { (bytes) throws(HTTPMessageError) in try parser.makeRequest(from: bytes) }
            buffer.remove(parser.byteCount ?? 0)
            parser.reset()
        } catch {
            throw RequestRefusal(error, isInStartLine: !buffer.hasLine(within: configuration.limits.lineLength))
        }
        do throws(RequestRefusal) {
            return .request(
                try IncomingRequest(
                    request, maximumBodyLength: configuration.limits.bodyLength,
                    isSecure: configuration.connections.tls != nil,
                    isAccepted: (configuration.hosts ?? .any).accepts))
        } catch {
            return .refused(error, request)
        }
    }

    /// Reads into the buffer, waiting for bytes. Returns their number, 0 at the end.
    ///
    /// - Throws: the error of the stream; ``StreamError/timedOut``.
    private func fill(within limit: Duration) async throws(StreamError) -> Int {
        if countStep() { await Task.yield() }
        try setReadLimit(limit)
        return try await buffer.fill(from: pair.input)
    }

    /// Reads a part of a body into the buffer; while it waits, the connection may be closed for another client. Returns the number of
    /// bytes, 0 at the end.
    ///
    /// The connection is still ``ServedConnection/Activity/receiving`` afterwards if it has waited: the caller knows whether these
    /// bytes are enough to end that.
    ///
    /// - Throws: the error of the stream; ``StreamError/timedOut``.
    func receive(within limit: Duration) async throws(StreamError) -> Int {
        if countStep() { await Task.yield() }
        if let count = try buffer.fill(from: pair.input, waits: false) { return count }
        guard change(to: .receiving) else { throw .closed }
        try setReadLimit(limit)
        return try await buffer.fill(from: pair.input)
    }

    /// Writes some bytes, waiting for room for at least one; meanwhile, the connection may be closed for another client. Returns
    /// their number.
    ///
    /// - Throws: the error of the stream; ``StreamError/timedOut``.
    func write(_ bytes: RawSpan, within limit: Duration) async throws(StreamError) -> Int {
        // Checked at every write, unlike `countStep()`: one write may encrypt a large piece.
        if loop.isShareSpent { await Task.yield() }
        var written = try pair.output.tryWrite(bytes)
        let isFlushed = try pair.output.tryFlush()
        if written == nil || !isFlushed {
            guard change(to: .sending) else { throw .closed }
            try setWriteLimit(limit)
            if written == nil { written = try await pair.output.write(bytes) } else { try await pair.output.flush() }
            guard change(to: .busy) else { throw .closed }
        }
        guard let written, written > 0 else { throw .closed }
        task.noteTransfer()
        return written
    }

    /// Writes all bytes; each wait has the limit of the configuration.
    func writeAll(_ bytes: [UInt8]) async throws(StreamError) {
        var sent = 0
        while sent < bytes.count {
            sent += try await write(
                bytes.span.bytes.extracting(droppingFirst: sent), within: configuration.writeTimeout)
        }
    }

    private func setReadLimit(_ limit: Duration) throws(StreamError) {
        if limit == readTimeout { return }
        readTimeout = limit
        try pair.set(.readTimeout, to: limit)
    }

    private func setWriteLimit(_ limit: Duration) throws(StreamError) {
        if limit == writeTimeout { return }
        writeTimeout = limit
        try pair.set(.writeTimeout, to: limit)
    }

    /// Tells the listener what the connection does next. Returns false if the connection must end instead.
    func change(to activity: ServedConnection.Activity) -> Bool {
        if activity == self.activity { return true }
        guard client.change(to: activity) else { return false }
        self.activity = activity
        return true
    }

    /// Counts a read, or a piece of a body, and returns whether the caller must now yield to the loop: a client that sends small pieces at
    /// full speed must not keep the loop from its other work.
    func countStep() -> Bool {
        steps &+= 1
        return steps % HTTP1ServerConnection.stepsPerCheck == 0 && loop.isShareSpent
    }

    /// The time left, at least 1 ms: zero would mean no limit.
    private func time(until deadline: Moment) -> Duration {
        max(.milliseconds(1), Moment.now.duration(to: deadline))
    }

    // MARK: Ends

    /// Responds in place of the handler; the connection must then end. Returns false if the client is gone.
    func send(_ refusal: RequestRefusal) async -> Bool {
        outgoing.removeAll(keepingCapacity: true)
        let text = refusal.text
        outgoing += Array(
            """
            HTTP/1.1 \(refusal.status) \(refusal.status.standardPhrase)\r
            Date: \(String(decoding: context.date.now, as: UTF8.self))\r
            Content-Type: text/plain\r
            Content-Length: \(text.utf8.count)\r
            Connection: close\r
            \r
            \(text)
            """.utf8)
        return (try? await writeAll(outgoing)) != nil
    }

    /// Closes the connection so that the client receives the last response, even if it is still sending.
    func linger() async {
        guard change(to: .receiving) else { return }
        var lingering = Lingering(configuration, now: .now)
        do throws(StreamError) {
            try await pair.output.finish()
            while let wait = lingering.nextWait(unsent: 0, now: .now) {
                buffer.remove(buffer.count)
                let count = try await fill(within: wait)
                if count == 0 { return }
                lingering.note(count)
            }
        } catch {
            // The client is gone or too slow: the response is lost.
            return
        }
    }
}
