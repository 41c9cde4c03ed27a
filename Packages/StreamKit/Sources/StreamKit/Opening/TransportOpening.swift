internal import EventLoops

/// Opens a transport: a user's own, or one of ours that opens others.
struct TransportOpening: OpeningWork {
    let transport: any StreamTransport
    /// Where its wait point is waited at.
    let half: StreamHalf
    /// What comes of it, once it is open.
    let engine: @Sendable () -> Engine

    mutating func advance(_ connection: Connection) throws(StreamError) -> OpeningStep {
        guard case .wouldBlock(let interest) = try TransportOpening.tryOpen(transport) else {
            return .opened(engine())
        }
        return .wait(.init(places: [.init(transport.waitPoint, half, for: interest)]))
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
