internal import EventLoops
internal import Glibc

/// Opens a transport, such as a load or one that a program has written, optionally with TLS on top.
/// ``StreamProperty/openTimeout``, which has a default, limits the time.
struct TransportOpening: OpeningWork {
    let transport: any StreamTransport
    /// The half of the transport's wait point to wait at.
    let half: WaitPoint.Half
    /// The TLS to add once the transport is open.
    private var configuration: TLSConfiguration?
    /// The peer of that TLS, if it is not the one that the transport connects to. The handshake is then no step of the report.
    private var peer: TLSPeer?
    private var preparing: (context: ContextPreparation, step: Int?)?
    private var securing: (tls: TLSTransport, step: Int?)?
    /// The end of the time limit, set by the first step that has to wait. `.some(nil)` means no limit.
    private var deadline: Moment??

    /// Opens a transport, with TLS on top if `configuration` is not nil.
    init(of transport: any StreamTransport, half: WaitPoint.Half, securedBy configuration: TLSConfiguration?) {
        self.transport = transport
        self.half = half
        self.configuration = configuration
    }

    /// Adds TLS to a connection that is open.
    init(securing plain: Connection, with configuration: TLSConfiguration, _ peer: TLSPeer) {
        self.init(of: plain, half: .reader, securedBy: configuration)
        self.peer = peer
    }

    mutating func advance(_ connection: Connection) throws(StreamError) -> OpeningStep {
        while true {
            if let securing {
                guard let interest = try shakeHands(securing.tls, securing.step, connection) else {
                    return .opened(.layer(securing.tls))
                }
                return .wait(
                    .init(points: [.init(securing.tls.waitPoint, half, for: interest)], deadline: deadline ?? nil))
            }
            if preparing == nil, case .wouldBlock(let interest) = try TransportOpening.tryOpen(transport) {
                startLimit(connection)
                if isOverdue {
                    transport.close()
                    throw StreamError(posix: ETIMEDOUT, .openTimedOut("waiting for the transport to open"))
                }
                return .wait(
                    .init(points: [.init(transport.waitPoint, half, for: interest)], deadline: deadline ?? nil))
            }
            guard let configuration else { return .opened(.layer(transport)) }
            if let step = try secure(configuration, connection) { return step }
        }
    }

    /// Starts the time limit, which begins with the first step that has to wait.
    private mutating func startLimit(_ connection: Connection) {
        if case .none = deadline { deadline = .some(TransportOpening.deadline(of: connection)) }
    }

    /// Whether the time limit has expired.
    private var isOverdue: Bool {
        guard let deadline, let end = deadline else { return false }
        return end <= .now
    }

    private static func deadline(of connection: Connection) -> Moment? {
        let property = StreamProperty<Duration>.openTimeout
        let limit = connection.value(named: property.name) as? Duration ?? property.defaultValue ?? .zero
        return limit > .zero ? .now + limit : nil
    }

    /// Prepares the handshake; what to wait for, or nil when that is done.
    private mutating func secure(
        _ configuration: TLSConfiguration, _ connection: Connection
    ) throws(StreamError) -> OpeningStep? {
        let name = transport.property(named: StreamProperty<String>.remoteHostName.name) as? String
        var step = preparing?.step
        if peer == nil, step == nil { step = connection.beginStep(.tls(configuration.peerName ?? name)) }
        do throws(StreamError) {
            guard let context = try context(for: configuration, step, connection) else {
                return preparing.map { .wait(.init(points: [$0.context.readiness], deadline: deadline ?? nil)) }
            }
            let port = transport.property(named: StreamProperty<UInt16>.remotePort.name) as? UInt16
            let tls =
                if let peer {
                    try TLSTransport(configuration, peer, over: .layer(transport), context: context)
                } else {
                    try TLSTransport(
                        configuration, peerName: name, port: port, over: .layer(transport), context: context)
                }
            connection.withDetails { $0.securedTransport = tls }
            preparing = nil
            securing = (tls, step)
            return nil
        } catch {
            if let step { connection.endStep(step, .failed(error)) }
            transport.close()
            throw error
        }
    }

    /// The context of the handshake; nil if ``preparing`` has to be waited for.
    private mutating func context(
        for configuration: TLSConfiguration, _ step: Int?, _ connection: Connection
    ) throws(StreamError) -> TLSContext? {
        if let preparing { return try preparing.context.context(until: deadline ?? nil) }
        if let context = TLSContextCache.shared.existing(for: configuration) { return context }
        startLimit(connection)
        preparing = (ContextPreparation(configuration, loop: connection.point.loop), step)
        return nil
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
    static func tryOpen(_ transport: any StreamTransport) throws(StreamError) -> OpenAttempt {
        do throws(StreamError) {
            return try transport.tryOpen()
        } catch {
            transport.close()
            throw error
        }
    }

    mutating func abandon(_ connection: Connection) {
        preparing?.context.abandon()
        if let securing { securing.tls.close() } else { transport.close() }
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
        let point: WaitPoint
        if transport.ownsWaitPoint {
            point = transport.waitPoint
        } else if let half {
            point = WaitPoint(loop: transport.loop, only: half)
        } else {
            point = WaitPoint(loop: transport.loop)
        }
        self.init(
            kind, point: point, only: half, over: transport, waitsAtPoint: transport.ownsWaitPoint,
            opener: .transport(waitingAt: half ?? .reader))
    }
}
