@_spi(Packages) internal import EventLoops
internal import Glibc
internal import HostResolver

/// Opens a connection: looks up the name, races the addresses, performs the TLS handshake, and records the report.
struct StreamConnector: OpeningWork {
    private enum Phase {
        case begins
        /// There is only one address: no race, and the socket is already attached to the connection's wait point.
        case connecting(ConnectingSocket, step: Int)
        case racing
        case connected(SocketAddress?)
        case preparing(ContextPreparation, step: Int)
        case securing(TLSTransport, step: Int)
        case open(any StreamTransport)
    }

    private let plan: ConnectPlan
    private var phase = Phase.begins
    private var race: ConnectRace?

    init(_ plan: ConnectPlan) {
        self.plan = plan
    }

    /// True once a server has answered; a later failure is that of the handshake.
    var hasConnected: Bool {
        switch phase {
        case .begins, .connecting, .racing: false
        case .connected, .preparing, .securing, .open: true
        }
    }

    /// Adds TLS to the connection's descriptor, which is a connected socket already.
    init(securing plan: ConnectPlan) {
        self.plan = plan
        phase = .connected(nil)
    }

    mutating func advance(_ connection: Connection) throws(StreamError) -> OpeningStep {
        while true {
            switch phase {
            case .begins:
                if let address = plan.singleAddress {
                    phase = try connect(to: address, connection)
                } else {
                    race = ConnectRace(plan, loop: connection.point.loop)
                    phase = .racing
                }
            case .connecting(let socket, let step):
                guard try finish(socket, step, connection) else { return wait(for: .writable, connection) }
                ConnectingSocket.makeBlocking(socket.descriptor)
                connection.endStep(step, .succeeded("connected"))
                phase = .connected(socket.address)
            case .racing:
                switch try race?.advance(connection) {
                case .wait(let wait)?: return .wait(wait)
                case .connected(let descriptor, let address)?:
                    ConnectingSocket.makeBlocking(descriptor)
                    attach(descriptor, to: connection)
                    phase = .connected(address)
                case nil: throw .closed
                }
                race = nil
            case .connected(let address):
                if let securing = try secure(connection) {
                    phase = securing
                } else {
                    if case .ip? = address { connection.noteShortReadDrains() }
                    phase = .open(SocketTransport(connection.point))
                }
            case .preparing(let preparation, let step):
                guard let tls = try finish(preparation, step, connection) else {
                    return .wait(.init(points: [preparation.readiness], deadline: plan.deadline))
                }
                phase = .securing(tls, step: step)
            case .securing(let tls, let step):
                if let interest = try shakeHands(tls, step, connection) { return wait(for: interest, connection) }
                connection.endStep(step, .succeeded(tls.summary))
                phase = .open(tls)
            case .open(let engine):
                // Stop watching: packets of a stream that is read by blocking calls must not wake the loop. An async
                // wait registers the descriptor again.
                connection.point.rest()
                return .opened(engine)
            }
        }
    }

    mutating func abandon(_ connection: Connection) {
        if case .preparing(let preparation, _) = phase { preparation.abandon() }
        race?.giveUp(connection)
    }

    // MARK: Steps

    private func connect(to address: SocketAddress, _ connection: Connection) throws(StreamError) -> Phase {
        let step = connection.beginStep(.connect(address))
        let socket = try reporting(step, connection) { () throws(StreamError) in
            try ConnectingSocket(to: address, plan.options)
        }
        attach(socket.descriptor, to: connection)
        return .connecting(socket, step: step)
    }

    /// Continues an attempt to connect. Returns whether it has succeeded.
    private func finish(
        _ socket: ConnectingSocket, _ step: Int, _ connection: Connection
    ) throws(StreamError) -> Bool {
        try reporting(step, connection) { () throws(StreamError) in
            if try socket.tryConnect() { return true }
            if plan.isOverdue { throw socket.failure(ETIMEDOUT) }
            return false
        }
    }

    private func attach(_ descriptor: CInt, to connection: Connection) {
        connection.point.attach(descriptor, ownership: .owned)
        if !plan.closesDescriptor { connection.point.setOwnership(false) }
    }

    /// Starts TLS; nil if the connection uses none.
    private func secure(_ connection: Connection) throws(StreamError) -> Phase? {
        guard let configuration = plan.tls else { return nil }
        let step = connection.beginStep(.tls(plan.endpoint.name))
        guard let context = TLSContextCache.shared.existing(for: configuration) else {
            return .preparing(ContextPreparation(configuration, loop: connection.point.loop), step: step)
        }
        let tls = try reporting(step, connection) { () throws(StreamError) in
            try makeTLS(configuration, context, connection)
        }
        return .securing(tls, step: step)
    }

    /// Makes TLS of a context that was being prepared; nil if it still is.
    private func finish(
        _ preparation: ContextPreparation, _ step: Int, _ connection: Connection
    ) throws(StreamError) -> TLSTransport? {
        try reporting(step, connection) { () throws(StreamError) in
            guard let context = try preparation.context(until: plan.deadline) else { return nil }
            return try makeTLS(preparation.configuration, context, connection)
        }
    }

    /// Continues a handshake. Returns what it waits for; nil at its end.
    private func shakeHands(
        _ tls: TLSTransport, _ step: Int, _ connection: Connection
    ) throws(StreamError) -> Interest? {
        try reporting(step, connection) { () throws(StreamError) in
            guard case .wouldBlock(let interest) = try tls.tryOpen() else { return nil }
            if plan.isOverdue { throw StreamError(posix: ETIMEDOUT, .openTimedOut("waiting for the TLS handshake")) }
            return interest
        }
    }

    private func makeTLS(
        _ configuration: borrowing TLSConfiguration, _ context: TLSContext, _ connection: Connection
    ) throws(StreamError) -> TLSTransport {
        try TLSTransport(
            configuration, peerName: plan.endpoint.name, port: plan.endpoint.port,
            over: SocketTransport(connection.point),
            context: context)
    }

    /// Runs part of a step. An error thrown by `body` ends the step as failed.
    private func reporting<Result>(
        _ step: Int, _ connection: Connection, _ body: () throws(StreamError) -> Result
    ) throws(StreamError) -> Result {
        do throws(StreamError) {
            return try body()
        } catch {
            connection.endStep(step, .failed(error))
            throw error
        }
    }

    /// Waits at the connection's point, on a half that is not closed: closing one half does not end opening for the
    /// other.
    private func wait(for interest: Interest, _ connection: Connection) -> OpeningStep {
        .wait(.init(points: [.init(connection.point, connection.unclosedHalf, for: interest)], deadline: plan.deadline))
    }
}

extension Connection {
    /// A connection to an endpoint, established when it opens.
    ///
    /// - Parameter leadsToProxy: whether it carries another stream's bytes to a proxy.
    convenience init(
        to endpoint: Endpoint, _ properties: StreamProperties, toProxy leadsToProxy: Bool = false, loop: EventLoop
    ) {
        self.init(endpoint.kind, point: WaitPoint(loop: loop), to: endpoint, properties, toProxy: leadsToProxy) {
            (connection) throws(StreamError) in
            let properties = connection.withDetails { $0.properties }
            if let routes = properties.proxyRoutes {
                return .continues(try ProxiedOpening(to: endpoint, through: routes, properties))
            }
            return .continues(StreamConnector(ConnectPlan(to: endpoint, properties)))
        }
    }
}
