internal import EventLoops
internal import Glibc

/// Opens a user's own transport, optionally with TLS on top.
/// ``StreamProperty/openTimeout``, which has a default, limits the time.
struct TransportOpening: OpeningWork {
    let transport: any StreamTransport
    /// The half of the transport's wait point to wait at.
    let half: StreamHalf
    /// The TLS to add once the transport is open.
    private var configuration: TLSConfiguration?
    private var securing: (tls: TLSTransport, step: Int)?
    /// The end of the time limit, set by the first step that has to wait. `.some(nil)` means no limit.
    private var deadline: Moment??

    /// Opens a transport, with TLS on top if `configuration` is not nil.
    init(of transport: any StreamTransport, half: StreamHalf, securedBy configuration: TLSConfiguration?) {
        self.transport = transport
        self.half = half
        self.configuration = configuration
    }

    mutating func advance(_ connection: Connection) throws(StreamError) -> OpeningStep {
        while true {
            if let securing {
                guard let interest = try shakeHands(securing.tls, securing.step, connection) else {
                    return .opened(.tls(securing.tls))
                }
                return .wait(
                    .init(points: [.init(securing.tls.waitPoint, half, for: interest)], deadline: deadline ?? nil))
            }
            if case .wouldBlock(let interest) = try TransportOpening.tryOpen(transport) {
                if isOverdue(connection) {
                    transport.close()
                    throw StreamError(posix: ETIMEDOUT, .openTimedOut("waiting for the transport to open"))
                }
                return .wait(
                    .init(points: [.init(transport.waitPoint, half, for: interest)], deadline: deadline ?? nil))
            }
            guard let configuration else { return .opened(Engine(transport)) }
            securing = try secure(configuration, connection)
        }
    }

    /// Whether the time limit has expired. It begins with the first step that has to wait.
    private mutating func isOverdue(_ connection: Connection) -> Bool {
        let deadline = self.deadline ?? TransportOpening.deadline(of: connection)
        self.deadline = .some(deadline)
        return deadline.map { $0 <= .now } ?? false
    }

    private static func deadline(of connection: Connection) -> Moment? {
        let property = StreamProperty<Duration>.openTimeout
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
            connection.withDetails { $0.transport = tls }
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
        if let securing { securing.tls.close() } else { transport.close() }
    }
}
