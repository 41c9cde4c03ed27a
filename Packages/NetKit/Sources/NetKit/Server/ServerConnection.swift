internal import EventLoops
internal import HTTPMessage
internal import StreamKit

/// One client's connection: finds the requests in what it sends, one after the other, and ends it.
///
/// Used by one task. A request that follows before the one before it was answered waits in the buffer.
final class ServerConnection {
    /// What the wait for a request came to.
    enum Next {
        case request(RequestIntake)
        /// To be answered by the server, and the last.
        case refused(RequestRefusal)
        /// The client is gone or idle, or the server stops.
        case ended
    }

    let pair: StreamPair
    let configuration: HTTPServer.Configuration
    let connections: ServerConnections
    let date: DateLine
    var buffer = ReceiveBuffer(capacity: ServerConnection.bufferSize)
    /// Memory for heads and pieces on their way out.
    var output: [UInt8] = []

    private static let bufferSize = 8 * 1024
    /// How much of what a client still sends is read after a refusal: closing at once would reset the connection, and the
    /// answer would be lost (RFC 9112 §9.6).
    private static let lingerBytes = 512 * 1024

    private let entry: ServerConnections.Entry
    private var parser: HeadParser
    private var readLimit = Duration.zero
    private var writeLimit: Duration
    /// Counts ``isTurnSpent()``; wraps around.
    private var steps: UInt8 = 0

    init(
        _ pair: StreamPair, _ configuration: HTTPServer.Configuration, _ connections: ServerConnections,
        _ date: DateLine
    ) {
        self.pair = pair
        self.configuration = configuration
        self.connections = connections
        self.date = date
        entry = connections.add(pair)
        writeLimit = configuration.writeLimit
        parser = HeadParser(.request, limits: configuration.limits)
    }

    deinit {
        connections.remove(entry)
    }

    /// Serves the client until the connection ends.
    func serve(_ handler: HTTPServer.Handler) async {
        while true {
            switch await next() {
            case .request(let intake):
                let exchange = HTTPServerExchange(intake, on: self)
                guard await exchange.run(handler) else { return }
            case .refused(let refusal):
                return await refuse(refusal)
            case .ended:
                return
            }
        }
    }

    // MARK: Requests

    private func next() async -> Next {
        guard connections.becomeIdle(entry) || !buffer.isEmpty else { return .ended }
        if buffer.isEmpty { buffer.shrink() }
        var headDeadline: Moment?
        do throws(StreamError) {
            while true {
                if !buffer.isEmpty {
                    connections.becomeBusy(entry)
                    do throws(RequestRefusal) {
                        if let intake = try findRequest() { return .request(intake) }
                    } catch {
                        return .refused(error)
                    }
                    // Some bytes of a head are there, so the time runs; empty lines count.
                    headDeadline = headDeadline ?? .now + configuration.headLimit
                }
                // A read that finds bytes looks at no clock, so the limit of the wait is not enough.
                if let headDeadline, .now >= headDeadline { return .refused(RequestRefusal(408)) }
                let limit = headDeadline.map(time(until:)) ?? configuration.idleLimit
                if try await fill(within: limit) == 0 { return .ended }
            }
        } catch {
            return error == .timedOut && headDeadline != nil ? .refused(RequestRefusal(408)) : .ended
        }
    }

    private func findRequest() throws(RequestRefusal) -> RequestIntake? {
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
        return try RequestIntake(request, bodyLimit: configuration.limits.bodyLength)
    }

    /// Reads what is there, waiting for some: how much, 0 at the end.
    ///
    /// - Throws: what the stream throws; ``StreamError/timedOut``.
    func fill(within limit: Duration) async throws(StreamError) -> Int {
        if isTurnSpent() { await Task.yield() }
        if limit != readLimit {
            readLimit = limit
            try pair.set(.readLimit, to: limit)
        }
        return try await buffer.fill(from: pair.input)
    }

    /// Writes some bytes, waiting for room for one of them: how many.
    ///
    /// - Throws: what the stream throws; ``StreamError/timedOut``.
    func write(_ bytes: RawSpan, within limit: Duration) async throws(StreamError) -> Int {
        try setWriteLimit(limit)
        let count = try await pair.output.write(bytes)
        if count == 0 { throw .closed }
        return count
    }

    /// Writes all bytes; each wait has the limit of the configuration.
    func writeAll(_ bytes: [UInt8]) async throws(StreamError) {
        try setWriteLimit(configuration.writeLimit)
        try await pair.output.writeAll(bytes)
    }

    private func setWriteLimit(_ limit: Duration) throws(StreamError) {
        if limit == writeLimit { return }
        writeLimit = limit
        try pair.set(.writeLimit, to: limit)
    }

    /// Counts a read, or a piece of a body. True after 256 of them: then let the loop have its turn. A client that sends as fast
    /// as it can, in pieces as small as can be, must not keep the loop from its other work.
    func isTurnSpent() -> Bool {
        steps &+= 1
        return steps == 0
    }

    /// At least a little: no time at all would mean no limit.
    private func time(until deadline: Moment) -> Duration {
        max(.milliseconds(1), Moment.now.duration(to: deadline))
    }

    // MARK: Ends

    /// Answers in the handler's stead, and ends the connection.
    func refuse(_ refusal: RequestRefusal) async {
        output.removeAll(keepingCapacity: true)
        let text = "\(refusal.status) \(refusal.status.standardPhrase)\n"
        output += Array(
            """
            HTTP/1.1 \(refusal.status) \(refusal.status.standardPhrase)\r
            Date: \(String(decoding: date.now, as: UTF8.self))\r
            Content-Type: text/plain\r
            Content-Length: \(text.utf8.count)\r
            Connection: close\r
            \r
            \(text)
            """.utf8)
        guard (try? await writeAll(output)) != nil else { return }
        await linger()
    }

    /// Ends the connection so that the client gets what was sent last, even if it is still sending itself.
    func linger() async {
        let end = Moment.now + configuration.lingerLimit
        var rest = Self.lingerBytes
        do throws(StreamError) {
            try await pair.output.finish()
            while rest > 0, .now < end {
                buffer.remove(buffer.count)
                let count = try await fill(within: time(until: end))
                if count == 0 { return }
                rest -= count
            }
        } catch {
            // Gone, or too slow: nothing more can be done for it.
            return
        }
    }
}
