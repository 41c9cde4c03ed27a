internal import EventLoops
internal import Glibc
internal import HostResolver

/// Opens a connection: looks up, races the addresses, shakes hands, and writes the report.
struct StreamConnector: OpeningWork {
    private enum Phase {
        case begins
        /// One address: no race, and the socket is waited for in its final place.
        case connecting(ConnectingSocket, step: Int)
        case racing
        case connected(SocketAddress?)
        case securing(TLSTransport, step: Int)
        case open(Engine)
    }

    private let plan: ConnectPlan
    private var phase = Phase.begins
    private var race: ConnectRace?

    init(_ plan: ConnectPlan) {
        self.plan = plan
    }

    /// True once somebody answered; what fails then is the handshake.
    var hasConnected: Bool {
        switch phase {
        case .begins, .connecting, .racing: false
        case .connected, .securing, .open: true
        }
    }

    /// TLS on the connection's descriptor, which is a connected socket already.
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
                let isConnected = try reporting(step, connection) { () throws(StreamError) in
                    if try socket.hasConnected() { return true }
                    if plan.isOverdue { throw socket.failure(ETIMEDOUT) }
                    return false
                }
                guard isConnected else { return wait(for: .writable, connection) }
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
                let socket = Engine.socket(connection.point)
                if let securing = try secure(socket, connection) {
                    phase = securing
                } else {
                    if case .ip? = address { connection.allowDraining() }
                    phase = .open(socket)
                }
            case .securing(let tls, let step):
                let interest = try reporting(step, connection) { () throws(StreamError) -> Interest? in
                    guard case .wouldBlock(let interest) = try tls.tryOpen() else { return nil }
                    if plan.isOverdue {
                        throw StreamError(posix: ETIMEDOUT, .openTimedOut("waiting for the TLS handshake"))
                    }
                    return interest
                }
                if let interest { return wait(for: interest, connection) }
                connection.endStep(step, .succeeded(tls.summary))
                phase = .open(.tls(tls))
            case .open(let engine):
                // The loop need not be woken by each packet of a stream that is read by blocking calls: an async wait
                // registers again.
                connection.point.rest()
                return .opened(engine)
            }
        }
    }

    mutating func abandon(_ connection: Connection) {
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

    private func attach(_ descriptor: CInt, to connection: Connection) {
        connection.point.attach(descriptor, ownership: .owned)
        if !plan.closesDescriptor { connection.point.setOwnership(false) }
    }

    /// Nil if the connection stays plain.
    private func secure(_ lower: Engine, _ connection: Connection) throws(StreamError) -> Phase? {
        guard let configuration = plan.tls else { return nil }
        let name = plan.endpoint.name
        let step = connection.beginStep(.tls(name))
        let tls = try reporting(step, connection) { () throws(StreamError) in
            try TLSTransport(configuration, peerName: name, port: plan.endpoint.port, over: lower)
        }
        return .securing(tls, step: step)
    }

    /// Runs a part of a step of the report; what it throws is why the step failed.
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

    /// At the connection's point, on a half that is still wanted: closing one half does not end the opening for the other.
    private func wait(for interest: Interest, _ connection: Connection) -> OpeningStep {
        .wait(.init(places: [.init(connection.point, connection.unclosedHalf, for: interest)], deadline: plan.deadline))
    }
}
