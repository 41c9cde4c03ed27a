@_spi(Packages) internal import StreamKit
internal import Synchronization

/// A control connection and the dialogue on it.
final class FTPControl: IdleConnection, @unchecked Sendable {
    // Unchecked: it has one owner at a time, which uses it under a lock: the conversation that made or took it, the pool, or the
    // recovery.

    private static let groupCount = Atomic<UInt64>(0)

    let key: FTPSessionKey
    private(set) var pair: StreamPair
    /// The connection below ``pair``: plaintext below TLS, or TLS below the plaintext that follows it; nil if there is none.
    private(set) var lower: StreamPair?
    /// The TLS parameters of a control connection that has returned to plaintext (CCC).
    private(set) var clearedTLS: TLSInformation?
    var machine: FTPMachine
    /// Whether it has run a job before this one; the server may have closed it meanwhile.
    var isReused = false

    private var parser = FTPReplyParser()
    /// Bytes received and not yet parsed.
    private var received: ArraySlice<UInt8> = []
    private var outgoing: [UInt8] = []
    private var sentCount = 0
    /// The group of TLS sessions that data connections resume. It has only this control connection, because servers require
    /// that the session is exactly this one.
    private let sessionGroup: String

    /// Begins to connect to the server, or to its FTP proxy.
    init(connectingFor key: FTPSessionKey, _ properties: StreamProperties, loop: EventLoop) throws(StreamError) {
        self.key = key
        machine = FTPMachine(key.login)
        sessionGroup = "FTP \(key.host) \(key.port) \(Self.groupCount.wrappingAdd(1, ordering: .relaxed).newValue)"
        var properties = properties
        // A control connection is idle during transfers, and a firewall or NAT may drop it.
        if properties.value(named: StreamProperty<Bool>.keepsAlive.name) == nil { properties[.keepsAlive] = true }
        properties[.tls] = nil
        if key.login.control == .implicit {
            var configuration = key.configuration
            configuration.sessionGroup = sessionGroup
            configuration.returnsToPlain = key.login.clearsControl
            properties[.tls] = configuration
        }
        pair = StreamPair(
            host: key.proxy?.host ?? key.host, port: key.proxy?.port ?? key.port, properties: properties, loop: loop)
        try pair.open()
    }

    func close() {
        pair.close()
        lower?.close()
    }

    /// Whether it can run another job: logged in, without unsent or unread bytes, and still open.
    var isIdle: Bool {
        machine.isUsable && machine.unansweredKeepAlives == 0 && isFullyRead && isFullySent
            && pair.output.status == .open
            && pair.input.status == .open && !pair.input.hasBytesAvailable
    }

    // MARK: Commands and replies

    var isFullySent: Bool { sentCount == outgoing.count }

    /// Whether the server has sent nothing that was not taken.
    var isSilent: Bool { isFullyRead && !pair.input.hasBytesAvailable }

    /// Where and for what to wait for a reply, or for the end of the connection.
    var replyReadiness: WaitPoint.Readiness { .init(pair.input.waitPoint, .reader, for: .readable) }

    /// Whether all received bytes were returned as replies.
    private var isFullyRead: Bool { parser.isEmpty && received.isEmpty }

    /// Sets the command that ``trySend()`` sends.
    func setOutgoing(_ command: FTPCommand) {
        outgoing = command.bytes
        sentCount = 0
    }

    /// Sends the rest of the outgoing command; false if it must wait until the connection is writable.
    func trySend() throws(StreamError) -> Bool {
        let outgoing = outgoing
        while sentCount < outgoing.count {
            guard let count = try pair.output.tryWrite(outgoing.span.bytes.extracting(droppingFirst: sentCount)) else {
                return false
            }
            sentCount += count
        }
        return try pair.output.tryFlush()
    }

    /// Sends as much of a command as the connection accepts now. The rest is sent before the next command, errors are ignored.
    func sendAvailable(_ command: FTPCommand) {
        setOutgoing(command)
        sentCount = (try? pair.output.tryWrite(command.bytes)) ?? 0
        _ = try? pair.output.tryFlush()
    }

    /// The next reply; nil if it must wait until the connection is readable.
    func tryReceive() throws(StreamError) -> FTPReply? {
        while true {
            if !received.isEmpty {
                var used = 0
                let reply = try StreamError.converting { () throws(FTPError) in
                    try parser.parse(received, used: &used)
                }
                received = received.dropFirst(used)
                if let reply { return reply }
            }
            var buffer = [UInt8](repeating: 0, count: 4096)
            guard let count = try pair.input.tryRead(into: &buffer) else { return nil }
            guard count > 0 else { throw StreamError(.connectionLost(before: machine.awaitedReply)) }
            received = buffer[..<count]
        }
    }

    /// Looks for the end of a transfer before all data was sent: a reply that is not one to a NOOP, or the end of the connection. Returns
    /// whether there is one.
    ///
    /// Replies to NOOPs are taken; any other reply remains for ``tryReceive()``.
    func detectEndOfTransfer() -> Bool {
        guard machine.unansweredKeepAlives > 0 || !received.isEmpty else { return pair.input.hasBytesAvailable }
        while true {
            var parser = parser
            var used = 0
            guard let reply = try? parser.parse(received, used: &used) else {
                // There is no complete reply: the next bytes, or the end, decide.
                var buffer = [UInt8](repeating: 0, count: 1024)
                guard let count = try? pair.input.tryRead(into: &buffer) else { return pair.input.status == .error }
                if count == 0 || received.count > FTPReplyParser.maximumReplyLength { return true }
                received += buffer[..<count]
                continue
            }
            guard machine.takeKeepAliveReply(reply) else { return true }
            self.parser = parser
            received = received.dropFirst(used)
        }
    }

    // MARK: TLS

    /// Begins the TLS handshake after AUTH TLS.
    ///
    /// - Throws: If data follows the server's reply, which an attacker may have injected (CVE-2021-22947).
    func startTLS() throws(StreamError) {
        guard isSilent else { throw StreamError(.injected) }
        var configuration = key.configuration
        configuration.sessionGroup = sessionGroup
        configuration.returnsToPlain = key.login.clearsControl
        let secured = try StreamPair(
            securing: pair, with: configuration, peerName: key.proxy?.host ?? key.host, port: key.port)
        try secured.open()
        lower = pair
        pair = secured
    }

    /// Ends TLS after CCC.
    ///
    /// - Returns: What it must wait for; nil when the connection has returned to plaintext.
    func tryEndTLS() throws(StreamError) -> Interest? {
        // Data within TLS after the reply to CCC must not be read as the reply to a command in plaintext.
        guard isFullyRead else { throw StreamError(.endlessTLS) }
        if try !pair.output.tryFinish() { return .writable }
        var rest = [UInt8](repeating: 0, count: 64)
        guard let count = try pair.input.tryRead(into: &rest) else { return .readable }
        guard count == 0 else { throw StreamError(.endlessTLS) }
        if lower == nil { lower = pair }
        clearedTLS = pair[.tlsInformation]
        pair = try StreamPair(afterTLSOf: pair)
        return nil
    }

    // MARK: Data connections

    /// The address of the server.
    var peer: IPAddress? { (pair[.remoteAddress] ?? lower?[.remoteAddress])?.ipAddress }

    /// The local address, at which the server can connect to this machine.
    var localAddress: IPAddress? { (pair[.localAddress] ?? lower?[.localAddress])?.ipAddress }

    /// Whether the server is reached over IPv6; false behind a proxy, whose route to the server is unknown here.
    var isIPv6: Bool {
        if case .v6? = peer?.unmapped { !isProxied } else { false }
    }

    /// The TLS configuration of data connections, which resume the control connection's session; nil without TLS.
    var dataConfiguration: TLSConfiguration? {
        guard machine.protectsData else { return nil }
        var configuration = key.configuration
        configuration.sessionGroup = sessionGroup
        configuration.peerName = configuration.peerName ?? key.proxy?.host ?? key.host
        return configuration
    }

    /// The SOCKS or HTTP proxy that carries the connections; nil without one.
    private var proxiedRoute: ProxyRoute? {
        (pair[.proxyRoute] ?? lower?[.proxyRoute]).flatMap { $0 == .direct ? nil : $0 }
    }

    var isProxied: Bool { proxiedRoute != nil }

    /// A data connection to the peer of the control connection, whatever address the server's reply contains. TLS follows when it is
    /// open (``secured(_:)``), because the server may begin its handshake only after the command of the transfer.
    func dataPair(
        to port: UInt16, _ properties: StreamProperties, loop: EventLoop
    ) throws(StreamError) -> StreamPair {
        var properties = properties
        properties[.tls] = nil
        if let local = properties[.localAddress]?.ipAddress { properties[.localAddress] = .ip(local, port: 0) }
        if let route = proxiedRoute {
            // The peer is the proxy. The proxy finds the server by the name with which the control connection was opened.
            properties[.proxies] = [route]
            properties[.socksProxy] = nil
            return StreamPair(host: key.proxy?.host ?? key.host, port: port, properties: properties, loop: loop)
        }
        guard let peer else { throw StreamError(.connectionLost(before: "reply to the setup of the transfer")) }
        return StreamPair(addresses: [.ip(peer, port: port)], name: key.host, properties: properties, loop: loop)
    }
}

extension FTPControl {
    /// Begins TLS on a data connection, if data is encrypted. The handshake is in progress when this returns.
    func secured(_ pair: StreamPair) throws(StreamError) -> StreamPair {
        guard let configuration = dataConfiguration else { return pair }
        let secured = try StreamPair(securing: pair, with: configuration, peerName: configuration.peerName)
        try secured.open()
        return secured
    }
}
