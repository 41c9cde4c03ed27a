internal import EventLoops

/// Opens a transport: a user's own, or one of ours that opens others.
struct TransportOpening: OpeningWork {
    let transport: any StreamTransport
    /// Where its wait point is waited at.
    let half: StreamHalf
    /// What comes of it, once it is open.
    let engine: @Sendable () -> Engine

    mutating func advance(_ connection: Connection) throws(StreamError) -> OpeningStep {
        guard case .wouldBlock(let interest) = try transport.tryOpen() else { return .opened(engine()) }
        return .wait(.init(places: [.init(transport.waitPoint, half, for: interest)]))
    }

    mutating func abandon(_ connection: Connection) {
        transport.close()
    }
}
