extension StreamPair {
    /// Starts TLS over a connection that is in use already, as with STARTTLS or AUTH TLS.
    ///
    /// ```swift
    /// // "234 Proceed" has been read from `plain`, and nothing after it.
    /// let pair = try StreamPair(securing: plain, with: TLSConfiguration(), peerName: "ftp.example.org", port: 21)
    /// try pair.open()
    /// try await pair.output.writeAll(Array("USER ann\r\n".utf8))
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
    ///   the server sent data although the client begins, and the old pair is closed.
    public init(
        securing pair: StreamPair, with configuration: TLSConfiguration, peerName: String?, port: UInt16? = nil
    ) throws(StreamError) {
        let lower = Engine.other(PairTransport(pair))
        let transport = try TLSTransport(configuration, peerName: peerName, port: port, over: lower)
        // Data that arrives later is read as TLS, and fails as such.
        if configuration.role == .client, case .moved = try? pair.input.connection.poll(.reader) {
            pair.close()
            throw StreamError(.protocolViolation, .bytesBeforeHandshake(peerName ?? "The peer"))
        }
        self.init(transport: transport)
    }
}

/// An open pair as the transport below another layer.
private final class PairTransport: StreamTransport {
    private let pair: StreamPair

    init(_ pair: StreamPair) {
        self.pair = pair
    }

    var waitPoint: WaitPoint { pair.input.waitPoint }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        guard let count = try pair.input.tryRead(into: &buffer) else { return .wouldBlock(.readable) }
        return count == 0 ? .ended : .moved(count)
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        guard let count = try pair.output.tryWrite(bytes) else { return .wouldBlock(.writable) }
        return count == 0 ? .ended : .moved(count)
    }

    func peek() throws(StreamError) -> Attempt {
        try pair.input.connection.poll(.reader)
    }

    func writability() throws(StreamError) -> Attempt {
        try pair.output.connection.poll(.writer)
    }

    func tryFlush() throws(StreamError) -> Attempt {
        try pair.output.tryFlush() ? .ended : .wouldBlock(.writable)
    }

    func tryFinish() throws(StreamError) -> Attempt {
        try pair.output.tryFinish() ? .ended : .wouldBlock(.writable)
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

    func property(named name: String) -> (any Sendable)? {
        pair.input.value(named: name)
    }
}
