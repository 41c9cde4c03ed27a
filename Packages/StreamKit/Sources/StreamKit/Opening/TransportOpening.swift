@_spi(Packages) internal import EventLoops
internal import Glibc

/// Opens a transport, such as a load or one that a program has written, optionally with TLS on top.
/// ``StreamProperty/openTimeout``, which has a default, limits the time.
struct TransportOpening: OpeningWork {
    private enum Phase {
        /// The transport opens.
        case opening
        /// TLS follows, whose trusted certificates are being read. The step of the report is nil for ``Security/withPeer(_:_:)``.
        case preparing(ContextPreparation, TLSConfiguration, step: Int?)
        case securing(TLSTransport, step: Int?)
    }

    /// The TLS to add once the transport is open.
    private enum Security {
        case none
        /// With the peer that the transport connects to.
        case ofTransport(TLSConfiguration)
        /// With another peer, over a connection that is open. The handshake is then no step of the report.
        case withPeer(TLSPeer, TLSConfiguration)
    }

    /// The time limit.
    private enum Limit {
        /// It begins with the first step that has to wait.
        case unstarted
        case running(until: Moment?)

        var end: Moment? { if case .running(let end) = self { end } else { nil } }
    }

    let transport: any StreamTransport
    /// The half of the transport's wait point to wait at.
    let half: WaitPoint.Half
    private let security: Security
    private var phase = Phase.opening
    private var limit = Limit.unstarted

    /// Opens a transport, with TLS on top if `configuration` is not nil.
    init(of transport: any StreamTransport, half: WaitPoint.Half, securedBy configuration: TLSConfiguration?) {
        self.transport = transport
        self.half = half
        security = configuration.map { .ofTransport($0) } ?? .none
    }

    /// Adds TLS to a connection that is open.
    init(securing plain: Connection, with configuration: TLSConfiguration, _ peer: TLSPeer) {
        transport = plain
        half = .reader
        security = .withPeer(peer, configuration)
    }

    mutating func advance(_ connection: Connection) throws(StreamError) -> OpeningStep {
        while true {
            switch phase {
            case .opening:
                if case .wouldBlock(let interest) = try TransportOpening.tryOpen(transport) {
                    startLimit(connection)
                    if isOverdue {
                        transport.close()
                        throw StreamError(posix: ETIMEDOUT, .openTimedOut("waiting for the transport to open"))
                    }
                    return wait(at: .init(transport.waitPoint, half, for: interest))
                }
                switch security {
                case .none: return .opened(transport)
                case .ofTransport(let configuration):
                    let step = connection.beginStep(.tls(configuration.peerName ?? remoteName))
                    try secure(configuration, step, connection)
                case .withPeer(_, let configuration): try secure(configuration, nil, connection)
                }
            case .preparing(let preparation, let configuration, let step):
                let context = try reporting(step, connection) { () throws(StreamError) in
                    try preparation.context(until: limit.end)
                }
                guard let context else { return wait(at: preparation.readiness) }
                try secure(configuration, with: context, step, connection)
            case .securing(let tls, let step):
                guard let interest = try shakeHands(tls, step, connection) else { return .opened(tls) }
                return wait(at: .init(tls.waitPoint, half, for: interest))
            }
        }
    }

    mutating func abandon(_ connection: Connection) {
        switch phase {
        case .opening: transport.close()
        case .preparing(let preparation, _, _):
            preparation.abandon()
            transport.close()
        case .securing(let tls, _): tls.close()
        }
    }

    // MARK: The time limit

    private mutating func startLimit(_ connection: Connection) {
        if case .unstarted = limit { limit = .running(until: TransportOpening.deadline(of: connection)) }
    }

    private static func deadline(of connection: Connection) -> Moment? {
        let property = StreamProperty<Duration>.openTimeout
        let limit = connection.value(named: property.name) as? Duration ?? property.defaultValue ?? .zero
        return limit > .zero ? .now + limit : nil
    }

    /// Whether the time limit has expired.
    private var isOverdue: Bool { limit.end.map { $0 <= .now } ?? false }

    private func wait(at point: WaitPoint.Readiness) -> OpeningStep {
        .wait(.init(points: [point], deadline: limit.end))
    }

    // MARK: TLS

    private var remoteName: String? {
        transport.property(named: StreamProperty<String>.remoteHostName.name) as? String
    }

    /// Begins the handshake, once its context is ready.
    private mutating func secure(
        _ configuration: TLSConfiguration, _ step: Int?, _ connection: Connection
    ) throws(StreamError) {
        if let context = TLSContextCache.shared.existing(for: configuration) {
            return try secure(configuration, with: context, step, connection)
        }
        startLimit(connection)
        let preparation = ContextPreparation(configuration, loop: connection.point.loop)
        phase = .preparing(preparation, configuration, step: step)
    }

    private mutating func secure(
        _ configuration: TLSConfiguration, with context: TLSContext, _ step: Int?, _ connection: Connection
    ) throws(StreamError) {
        let tls = try reporting(step, connection) { () throws(StreamError) in
            if case .withPeer(let peer, _) = security {
                return try TLSTransport(configuration, peer, over: transport, context: context)
            }
            let port = transport.property(named: StreamProperty<UInt16>.remotePort.name) as? UInt16
            return try TLSTransport(
                configuration, peerName: remoteName, port: port, over: transport, context: context)
        }
        connection.withDetails { $0.securedTransport = tls }
        phase = .securing(tls, step: step)
    }

    /// Closes the transport after a failure, and ends the step of the report with it.
    private func reporting<Result>(
        _ step: Int?, _ connection: Connection, _ body: () throws(StreamError) -> Result
    ) throws(StreamError) -> Result {
        do throws(StreamError) {
            return try body()
        } catch {
            if let step { connection.endStep(step, .failed(error)) }
            transport.close()
            throw error
        }
    }

    /// A step of the handshake; what to wait for, or nil at its end.
    private mutating func shakeHands(
        _ tls: TLSTransport, _ step: Int?, _ connection: Connection
    ) throws(StreamError) -> Interest? {
        do throws(StreamError) {
            guard case .wouldBlock(let interest) = try tls.tryOpen() else {
                if let step { connection.endStep(step, .succeeded(tls.summary)) }
                return nil
            }
            startLimit(connection)
            if isOverdue {
                throw StreamError(posix: ETIMEDOUT, .openTimedOut("waiting for the TLS handshake"))
            }
            return interest
        } catch {
            if let step { connection.endStep(step, .failed(error)) }
            tls.close()
            throw error
        }
    }

    /// Takes a step of opening. A transport that fails is closed, so that it releases the layers below it.
    fileprivate static func tryOpen(_ transport: any StreamTransport) throws(StreamError) -> OpenAttempt {
        do throws(StreamError) {
            return try transport.tryOpen()
        } catch {
            transport.close()
            throw error
        }
    }
}

extension Connection {
    /// A connection over a transport.
    convenience init(transport: any StreamTransport, only half: WaitPoint.Half?) {
        let kind: ConnectionKind =
            switch half {
            case nil: .transport
            case .reader?: .readTransport
            case .writer?: .writtenTransport
            }
        let waitsAtPoint = transport.ownsWaitPoint
        let point: WaitPoint
        if waitsAtPoint {
            point = transport.waitPoint
        } else if let half {
            point = WaitPoint(loop: transport.loop, only: half)
        } else {
            point = WaitPoint(loop: transport.loop)
        }
        self.init(
            kind, point: point, only: half, over: transport, waitsAtPoint: waitsAtPoint,
            opener: .transport(waitingAt: half ?? .reader))
    }

    /// Begins to open the ``transport``.
    func beginTransport(waitingAt half: WaitPoint.Half, hasProperties: Bool) throws(StreamError) -> Start {
        guard let transport else { throw .closed }
        if hasProperties, let configuration = withDetails({ $0.properties[.tls] }) {
            return .continues(TransportOpening(of: transport, half: half, securedBy: configuration))
        }
        if case .opened = try TransportOpening.tryOpen(transport) { return .openedTransport }
        return .continues(TransportOpening(of: transport, half: half, securedBy: nil))
    }
}
