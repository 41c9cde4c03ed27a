internal import EventLoops
internal import Glibc

/// Opens a transport: a user's own, on which TLS may be layered, or one of ours that opens others. Takes as long as
/// ``StreamProperty/openLimit`` allows, which has a default.
struct TransportOpening: OpeningWork {
    let transport: any StreamTransport
    /// Where its wait point is waited at.
    let half: StreamHalf
    /// What comes of it, once it is open, without TLS.
    let engine: @Sendable () -> Engine
    /// TLS that is layered on the transport once it is open.
    private var configuration: TLSConfiguration?
    private var securing: (tls: TLSTransport, step: Int)?
    /// When the limit is over; set by the first step that has to wait. Nil for no limit.
    private var deadline: Moment??

    /// - Parameter engine: what comes of the transport, which has all properties itself.
    init(transport: any StreamTransport, half: StreamHalf, engine: @escaping @Sendable () -> Engine) {
        self.transport = transport
        self.half = half
        self.engine = engine
    }

    /// The opening of a user's own transport, with TLS on it if there is a configuration.
    init(of transport: any StreamTransport, half: StreamHalf, securedBy configuration: TLSConfiguration?) {
        self.init(transport: transport, half: half) { .other(transport) }
        self.configuration = configuration
    }

    mutating func advance(_ connection: Connection) throws(StreamError) -> OpeningStep {
        while true {
            if let securing {
                guard let interest = try shakeHands(securing.tls, securing.step, connection) else {
                    return .opened(.tls(securing.tls))
                }
                return .wait(
                    .init(places: [.init(securing.tls.waitPoint, half, for: interest)], deadline: deadline ?? nil))
            }
            if case .wouldBlock(let interest) = try TransportOpening.tryOpen(transport) {
                if isOverdue(connection) {
                    transport.close()
                    throw StreamError(posix: ETIMEDOUT, .openTimedOut("waiting for its transport to open"))
                }
                return .wait(
                    .init(places: [.init(transport.waitPoint, half, for: interest)], deadline: deadline ?? nil))
            }
            guard let configuration else { return .opened(engine()) }
            securing = try secure(configuration, connection)
        }
    }

    /// Whether the time for opening is over; it begins with the first step that has to wait.
    private mutating func isOverdue(_ connection: Connection) -> Bool {
        let deadline = self.deadline ?? TransportOpening.deadline(of: connection)
        self.deadline = .some(deadline)
        return deadline.map { $0 <= .now } ?? false
    }

    private static func deadline(of connection: Connection) -> Moment? {
        let property = StreamProperty<Duration>.openLimit
        let limit = connection.value(named: property.name) as? Duration ?? property.defaultValue ?? .zero
        return limit > .zero ? .now + limit : nil
    }

    private func secure(
        _ configuration: TLSConfiguration, _ connection: Connection
    ) throws(StreamError) -> (tls: TLSTransport, step: Int) {
        let name = transport.property(named: StreamProperty<String>.remoteHostName.name) as? String
        let port = transport.property(named: StreamProperty<UInt16>.remotePort.name) as? UInt16
        let step = connection.beginStep(.tls(configuration.peerName ?? name))
        do throws(StreamError) {
            let tls = try TLSTransport(configuration, peerName: name, port: port, over: .other(transport))
            connection.details.withLock { $0.transport = tls }
            return (tls, step)
        } catch {
            connection.endStep(step, .failed(error))
            transport.close()
            throw error
        }
    }

    /// A step of the handshake; what to wait for, or nil at its end.
    private mutating func shakeHands(
        _ tls: TLSTransport, _ step: Int, _ connection: Connection
    ) throws(StreamError) -> Interest? {
        do throws(StreamError) {
            guard case .wouldBlock(let interest) = try tls.tryOpen() else {
                connection.endStep(step, .succeeded(tls.summary))
                return nil
            }
            if isOverdue(connection) {
                throw StreamError(posix: ETIMEDOUT, .openTimedOut("waiting for the TLS handshake"))
            }
            return interest
        } catch {
            connection.endStep(step, .failed(error))
            tls.close()
            throw error
        }
    }

    /// A step of opening. What failed will never be used: it is closed, lest it hold what is below it.
    static func tryOpen(_ transport: any StreamTransport) throws(StreamError) -> OpenAttempt {
        do throws(StreamError) {
            return try transport.tryOpen()
        } catch {
            transport.close()
            throw error
        }
    }

    mutating func abandon(_ connection: Connection) {
        if let securing { securing.tls.close() } else { transport.close() }
    }
}
