internal import EventLoops
internal import Glibc

extension StreamPair {
    /// Starts TLS over a connection that is in use already, as with STARTTLS or AUTH TLS.
    ///
    /// ```swift
    /// // "234 Proceed" has been read from `plain`, and nothing after it.
    /// let pair = try StreamPair(securing: plain, with: TLSConfiguration(), peerName: "ftp.example.org", port: 21)
    /// try pair.open()
    /// try await pair.output.writeAll("USER ann\r\n")
    /// ```
    ///
    /// The new pair takes over the old one and is not yet open: opening it performs the handshake, closing it closes
    /// both. Read nothing from the old pair meanwhile. Do not trust bytes that were read from it between the peer's
    /// consent and the handshake: an attacker on the network may have injected them. A client that finds such bytes
    /// unread closes the connection. Replaces setting `kCFStreamPropertySSLSettings` on an open stream.
    ///
    /// - Parameters:
    ///   - pair: an open connection.
    ///   - configuration: as for ``StreamProperty/tls``.
    ///   - peerName: the name that the certificate must have, unless the configuration has one.
    ///   - port: with the name, determines which sessions can be resumed.
    /// - Throws: ``TLSFailure/badConfiguration``, and the old pair is unchanged; ``TLSFailure/protocolViolation`` if
    ///   the server sent data although the client begins, and the old pair is closed. Trusted certificates that cannot be read make
    ///   opening fail.
    public init(
        securing pair: StreamPair, with configuration: TLSConfiguration, peerName: String?, port: UInt16? = nil
    ) throws(StreamError) {
        let plain = pair.input.connection
        let secured = try Connection(securing: plain, with: configuration, peerName: peerName, port: port)
        // Data that arrives later is read as TLS, and fails as such.
        if configuration.role == .client, case .moved = try? plain.peek() {
            pair.close()
            throw StreamError(.protocolViolation, .bytesBeforeHandshake(peerName ?? "The peer"))
        }
        plain.takeOver()
        self.init(secured)
    }
}

extension StreamPair {
    /// Makes a pair of the connection below TLS, after TLS has ended in both directions. Protocols call this clearing
    /// the channel (FTP's CCC).
    ///
    /// ```swift
    /// var configuration = TLSConfiguration()
    /// configuration.returnsToPlain = true
    /// let secured = try StreamPair(securing: plain, with: configuration, peerName: "ftp.example.org", port: 21)
    /// try secured.open()
    /// try await secured.output.finish()                        // sends close_notify
    /// while try await secured.input.read(into: &buffer) > 0 {} // reads up to the peer's close_notify
    /// let again = try StreamPair(afterTLSOf: secured)
    /// ```
    ///
    /// The new pair is open and uses the old pair's descriptor, so closing either pair closes both. Releasing the old
    /// pair closes nothing. The old pair's clients receive no further events. ``endingTLS(within:)`` performs the three steps in one call. CFNetwork has no
    /// such call.
    ///
    /// - Parameter pair: an open pair with TLS, made with ``TLSConfiguration/returnsToPlain``, that has reached its end
    ///   in both directions.
    /// - Throws: ``TLSFailure/badConfiguration`` without that property; `EBUSY` before the end, also if the peer cut
    ///   the connection off and ``TLSConfiguration/allowsTruncation`` accepted that as the end of data; `ENOTSUP` if
    ///   there is no TLS. The pair is unchanged.
    public init(afterTLSOf pair: StreamPair) throws(StreamError) {
        let secured = pair.input.connection
        guard let tls = secured.engine as? TLSTransport else { throw StreamError(posix: ENOTSUP) }
        try tls.checkEnded()
        secured.takeOver()
        for half in WaitPoint.Half.allCases { StreamSide(secured, half).setClient(nil) }
        self.init(Connection(below: tls, of: secured))
        try open()
    }

    /// Ends TLS as RFC 8446 §6.1 describes, and returns the plain connection.
    ///
    /// Sends close_notify and waits for the peer's. Both sides must agree that TLS ends here: further data from the
    /// peer is an error.
    ///
    /// - Parameter limit: the time limit of the whole call. ``StreamProperty/readTimeout`` and
    ///   ``StreamProperty/writeTimeout`` do not apply meanwhile.
    /// - Throws: the errors of ``init(afterTLSOf:)``, `finish` and `read`, and ``TLSFailure/protocolViolation`` for
    ///   further data. The caller still has to close the pair.
    public nonisolated(nonsending) func endingTLS(
        within limit: Duration = StreamPair.closeNotifyTimeout
    ) async throws(StreamError) -> StreamPair {
        let deadline = ContinuousClock.now + limit
        let limits = (read: input[.readTimeout], write: output[.writeTimeout])
        try output.set(.writeTimeout, to: limit)
        try await output.finish()
        try output.set(.writeTimeout, to: limits.write)
        var buffer = [UInt8](repeating: 0, count: 1)
        try input.set(.readTimeout, to: max(deadline - .now, .nanoseconds(1)))
        guard try await input.read(into: &buffer) == 0 else {
            throw StreamError(.protocolViolation, .dataAfterCloseNotify)
        }
        try input.set(.readTimeout, to: limits.read)
        return try StreamPair(afterTLSOf: self)
    }

    /// The default limit of ``endingTLS(within:)``: 75 seconds, the default limit of opening.
    public static let closeNotifyTimeout: Duration = .seconds(75)
}

extension Connection {
    /// A connection with TLS over `plain`. If the trusted certificates have not been read yet, opening reads them.
    fileprivate convenience init(
        securing plain: Connection, with configuration: TLSConfiguration, peerName: String?, port: UInt16?
    ) throws(StreamError) {
        let peer = try TLSPeer(configuration, streamName: peerName, port: port)
        try TLSContext.check(configuration)
        self.init(
            .transport, point: WaitPoint(loop: plain.loop), over: plain,
            opener: .work { (_) throws(StreamError) in
                .continues(TransportOpening(securing: plain, with: configuration, peer))
            })
    }

    /// The connection below the TLS of another one, which has ended. Both share the wait point, which keeps the descriptor
    /// open during every call. Closing either connection closes it.
    fileprivate convenience init(below tls: TLSTransport, of secured: Connection) {
        self.init(.layer, point: secured.point, to: secured.endpoint) { _ in .opened(tls.lower) }
        let (properties, recorder) = secured.withDetails { ($0.properties, $0.recorder) }
        withDetails { details in
            details.properties = properties
            details.properties[.tls] = nil
            details.recorder = recorder
        }
        setLimit(properties[.readTimeout], .reader)
        setLimit(properties[.writeTimeout], .writer)
    }
}

extension Sentence {
    fileprivate static let dataAfterCloseNotify = Sentence(
        "tls.dataAfterFarewell", "The peer sent data over TLS after both sides agreed to end it.")
}
