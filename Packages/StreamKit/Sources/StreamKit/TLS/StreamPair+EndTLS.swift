internal import EventLoops
internal import Glibc

extension StreamPair {
    /// The connection below TLS, once TLS has ended in both directions: what protocols call clearing the channel (FTP's CCC).
    ///
    /// ```swift
    /// var configuration = TLSConfiguration()
    /// configuration.returnsToPlain = true
    /// let secured = try StreamPair(securing: plain, with: configuration, peerName: "ftp.example.org", port: 21)
    /// …
    /// try await secured.output.finish()                     // our farewell
    /// while try await secured.input.read(into: &buffer) > 0 {} // whatever is left, up to the peer's
    /// let again = try StreamPair(afterTLSOf: secured)
    /// ```
    ///
    /// The new pair is open. It takes the old one over: closing it closes both. Both halves share the old pair's descriptor, so
    /// do not close that one first. See ``endingTLS(within:)`` for the three steps as one. There is no such call in CFNetwork.
    ///
    /// - Parameter pair: an open pair with TLS, made with ``TLSConfiguration/returnsToPlain``, at its end both ways.
    /// - Throws: ``TLSFailure/badConfiguration`` without that property, `EBUSY` before the end, also for a peer that cut the
    ///   connection off where ``TLSConfiguration/allowsTruncation`` lets that pass for an end of data, `ENOTSUP` if there is no
    ///   TLS; the pair is as it was.
    public init(afterTLSOf pair: StreamPair) throws(StreamError) {
        guard let tls = pair.input.connection.engine?.transport as? TLSTransport else {
            throw StreamError(posix: ENOTSUP)
        }
        try tls.checkEnded()
        self.init(transport: PlainAgain(pair, tls.lower))
        try open()
    }

    /// Ends TLS as its standard says (RFC 8446 §6.1), and gives the connection back in plain.
    ///
    /// Tells the peer, and waits until it has said the same. Both sides must agree that TLS ends here: data that the peer still
    /// sends is an error.
    ///
    /// - Parameter limit: how long it may wait in all; ``StreamProperty/readLimit`` and ``StreamProperty/writeLimit`` do not count
    ///   meanwhile.
    /// - Throws: as ``init(afterTLSOf:)``, as `finish` and `read`, and ``TLSFailure/protocolViolation`` for data. The pair
    ///   remains the caller's to close.
    public nonisolated(nonsending) func endingTLS(
        within limit: Duration = StreamPair.farewellLimit
    ) async throws(StreamError) -> StreamPair {
        let deadline = ContinuousClock.now + limit
        let limits = (read: input[.readLimit], write: output[.writeLimit])
        try output.set(.writeLimit, to: limit)
        try await output.finish()
        try output.set(.writeLimit, to: limits.write)
        var buffer = [UInt8](repeating: 0, count: 1)
        try input.set(.readLimit, to: max(deadline - .now, .nanoseconds(1)))
        guard try await input.read(into: &buffer) == 0 else {
            throw StreamError(.protocolViolation, .dataAfterFarewell)
        }
        try input.set(.readLimit, to: limits.read)
        return try StreamPair(afterTLSOf: self)
    }

    /// How long ``endingTLS(within:)`` waits for the peer, unless told otherwise: as long as opening may take by default.
    public static let farewellLimit: Duration = .seconds(75)
}

/// What lies below a pair's TLS, entered through that pair so that its descriptor stays while it is used.
private final class PlainAgain: StreamTransport {
    private let pair: StreamPair
    private let lower: Engine

    init(_ pair: StreamPair, _ lower: Engine) {
        self.pair = pair
        self.lower = lower
    }

    var waitPoint: WaitPoint { lower.waitPoint }

    private var connection: Connection { pair.input.connection }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try connection.enter(.reader)
        defer { connection.point.leave(.reader) }
        return try lower.tryRead(into: &buffer)
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        try connection.enter(.writer)
        defer { connection.point.leave(.writer) }
        return try lower.tryWrite(bytes)
    }

    // Looking goes on beside a transfer of another thread's, so it enters neither half.

    func peek() throws(StreamError) -> Attempt {
        guard let attempt = try connection.point.whileOpen({ () throws(StreamError) in try lower.peek() }) else {
            throw .closed
        }
        return attempt
    }

    func writability() throws(StreamError) -> Attempt {
        guard let attempt = try connection.point.whileOpen({ () throws(StreamError) in try lower.writability() }) else {
            throw .closed
        }
        return attempt
    }

    func tryFlush() throws(StreamError) -> Attempt {
        try connection.enter(.writer)
        defer { connection.point.leave(.writer) }
        return try lower.tryFlush()
    }

    func tryFinish() throws(StreamError) -> Attempt {
        try connection.enter(.writer)
        defer { connection.point.leave(.writer) }
        return try lower.tryFinish()
    }

    func close() {
        pair.close()
    }

    var kind: StreamKind { .layer }

    /// The descriptor is the lower pair's.
    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        guard name == StreamProperty<Bool>.closesDescriptor.name else { return false }
        try pair.input.setValue(value, for: StreamProperty<Bool>.closesDescriptor.key)
        return true
    }

    /// As the old pair's, but for what was so only with TLS.
    func property(named name: String) -> (any Sendable)? {
        switch name {
        case StreamProperty<TLSConfiguration>.tls.name, StreamProperty<TLSInformation>.tlsInformation.name,
            StreamProperty<[UInt8]>.serverEndPointBinding.name, StreamProperty<[UInt8]>.exporterBinding.name:
            nil
        default: pair.input.value(named: name)
        }
    }
}
