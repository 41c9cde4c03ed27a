internal import EventLoops
internal import Glibc

/// Opens a transport: a user's own, or one of ours that opens others. Takes as long as ``StreamProperty/openLimit`` allows, which has
/// a default.
struct TransportOpening: OpeningWork {
    let transport: any StreamTransport
    /// Where its wait point is waited at.
    let half: StreamHalf
    /// What comes of it, once it is open.
    let engine: @Sendable () -> Engine
    /// When the limit is over; set by the first step that has to wait. Nil for no limit.
    private var deadline: Moment??

    init(transport: any StreamTransport, half: StreamHalf, engine: @escaping @Sendable () -> Engine) {
        self.transport = transport
        self.half = half
        self.engine = engine
    }

    mutating func advance(_ connection: Connection) throws(StreamError) -> OpeningStep {
        guard case .wouldBlock(let interest) = try TransportOpening.tryOpen(transport) else {
            return .opened(engine())
        }
        let deadline = self.deadline ?? TransportOpening.deadline(of: connection)
        self.deadline = .some(deadline)
        if let deadline, Moment.now >= deadline {
            transport.close()
            throw StreamError(posix: ETIMEDOUT, .openTimedOut("waiting for its transport to open"))
        }
        return .wait(.init(places: [.init(transport.waitPoint, half, for: interest)], deadline: deadline))
    }

    private static func deadline(of connection: Connection) -> Moment? {
        let property = StreamProperty<Duration>.openLimit
        let limit = connection.value(named: property.name) as? Duration ?? property.defaultValue ?? .zero
        return limit > .zero ? .now + limit : nil
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
        transport.close()
    }
}
