internal import EventLoops
internal import Glibc

extension StreamPair {
    /// Makes a pair of the connection below TLS, after TLS has ended in both directions. Protocols call this clearing
    /// the channel (FTP's CCC).
    ///
    /// ```swift
    /// var configuration = TLSConfiguration()
    /// configuration.returnsToPlain = true
    /// let secured = try StreamPair(securing: plain, with: configuration, peerName: "ftp.example.org", port: 21)
    /// …
    /// try await secured.output.finish()                        // sends close_notify
    /// while try await secured.input.read(into: &buffer) > 0 {} // reads up to the peer's close_notify
    /// let again = try StreamPair(afterTLSOf: secured)
    /// ```
    ///
    /// The new pair is open and takes over the old one: closing it closes both. It uses the old pair's descriptor, so
    /// do not close the old pair first. ``endingTLS(within:)`` performs the three steps in one call. CFNetwork has no
    /// such call.
    ///
    /// - Parameter pair: an open pair with TLS, made with ``TLSConfiguration/returnsToPlain``, that has reached its end
    ///   in both directions.
    /// - Throws: ``TLSFailure/badConfiguration`` without that property; `EBUSY` before the end, also if the peer cut
    ///   the connection off and ``TLSConfiguration/allowsTruncation`` accepted that as the end of data; `ENOTSUP` if
    ///   there is no TLS. The pair is unchanged.
    public init(afterTLSOf pair: StreamPair) throws(StreamError) {
        guard let tls = pair.input.connection.engine?.transport as? TLSTransport else {
            throw StreamError(posix: ENOTSUP)
        }
        try tls.checkEnded()
        self.init(transport: PlainTransport(pair, tls.lower))
        try open()
    }

    /// Ends TLS as RFC 8446 §6.1 describes, and returns the plain connection.
    ///
    /// Sends close_notify and waits for the peer's. Both sides must agree that TLS ends here: further data from the
    /// peer is an error.
    ///
    /// - Parameter limit: the time limit of the whole call. ``StreamProperty/readLimit`` and
    ///   ``StreamProperty/writeLimit`` do not apply meanwhile.
    /// - Throws: the errors of ``init(afterTLSOf:)``, `finish` and `read`, and ``TLSFailure/protocolViolation`` for
    ///   further data. The caller still has to close the pair.
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
            throw StreamError(.protocolViolation, .dataAfterCloseNotify)
        }
        try input.set(.readLimit, to: limits.read)
        return try StreamPair(afterTLSOf: self)
    }

    /// The default limit of ``endingTLS(within:)``: 75 seconds, the default limit of opening.
    public static let farewellLimit: Duration = .seconds(75)
}

/// The transport below a pair's TLS. Every call enters that pair, so that its descriptor stays open during the call.
private final class PlainTransport: StreamTransport {
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

    // These calls may run beside a transfer on another thread, so they enter neither half.

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

    /// The descriptor belongs to the lower pair.
    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        guard name == StreamProperty<Bool>.closesDescriptor.name else { return false }
        try pair.input.setValue(value, for: StreamProperty<Bool>.closesDescriptor.key)
        return true
    }

    /// The old pair's properties, except for those that describe TLS.
    func property(named name: String) -> (any Sendable)? {
        switch name {
        case StreamProperty<TLSConfiguration>.tls.name, StreamProperty<TLSInformation>.tlsInformation.name,
            StreamProperty<[UInt8]>.serverEndPointBinding.name, StreamProperty<[UInt8]>.exporterBinding.name:
            nil
        default: pair.input.value(named: name)
        }
    }
}
