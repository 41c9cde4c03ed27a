internal import EventLoops
internal import Glibc
internal import HostResolver

/// Opens a connection: looks up, races the addresses, shakes hands. Carries out what ``HappyEyeballsMachine`` decides, and
/// writes the report. Runs as a task on the loop.
struct StreamConnector: Sendable {
    let endpoint: Endpoint
    let options: ConnectingSocket.Options
    let resolver: any Resolver
    let attemptDelay: Duration
    let deadline: ContinuousClock.Instant?
    let tls: TLSConfiguration?

    /// Connects `connection`'s point and gives the engine on top of it.
    nonisolated(nonsending) func open(_ connection: Connection) async throws(StreamError) -> Engine {
        do throws(StreamError) {
            let address = try await connect(connection)
            if case .ip = address, tls == nil { connection.allowDraining() }
            var engine = Engine.socket(SocketTransport(connection.point))
            if let tls { engine = try await shakeHands(tls, over: engine, connection) }
            // The loop need not be woken by each packet of a stream that is read by blocking calls: an async wait registers
            // again.
            connection.point.rest()
            return engine
        } catch {
            connection.endAllSteps(.abandoned)
            throw error
        }
    }

    // MARK: Connecting

    private nonisolated(nonsending) func connect(_ connection: Connection) async throws(StreamError) -> SocketAddress {
        let single: SocketAddress? =
            switch endpoint {
            case .addresses(let addresses, _) where addresses.count == 1: addresses[0]
            case .host(let name, let port): IPAddress(name).map { .ip($0, port: port) }
            case .addresses: nil
            }
        if let single {
            try await connectOnly(to: single, connection)
            return single
        }
        let race = ConnectRace(self, connection)
        defer { race.giveUp() }
        let (descriptor, address) = try await race.run()
        ConnectingSocket.makeBlocking(descriptor)
        attach(descriptor, to: connection)
        return address
    }

    /// Ours to close, unless the user has said otherwise.
    private func attach(_ descriptor: CInt, to connection: Connection) {
        connection.point.attach(descriptor, ownership: .owned)
        if connection.details.withLock({ $0.properties[.closesDescriptor] }) == false {
            connection.point.setOwnership(false)
        }
    }

    /// One address: no race, and the socket is waited for in its final place.
    private nonisolated(nonsending) func connectOnly(
        to address: SocketAddress, _ connection: Connection
    ) async throws(StreamError) {
        let step = connection.beginStep(.connect(address))
        do throws(StreamError) {
            let socket = try ConnectingSocket(to: address, options)
            attach(socket.descriptor, to: connection)
            while !socket.isConnected {
                guard try await wait(on: connection, for: .writable) else {
                    throw StreamError(posix: ETIMEDOUT, .connectFailed(address.description, ETIMEDOUT))
                }
                if Syscalls.ready(socket.descriptor, for: .writable).isEmpty { continue }
                try ConnectingSocket.verify(socket.descriptor, address)
                break
            }
            ConnectingSocket.makeBlocking(socket.descriptor)
        } catch {
            connection.endStep(step, error == .cancelled || error == .closed ? .abandoned : .failed(error))
            throw error
        }
        connection.endStep(step, .succeeded("connected"))
    }

    /// Waits at the connection's point, on a half that is still wanted: closing one half does not end the opening for the
    /// other. False if the time is up.
    private nonisolated(nonsending) func wait(
        on connection: Connection, for interest: Interest
    ) async throws(StreamError) -> Bool {
        let point = connection.point
        while true {
            let half: StreamHalf = point.isClosed(.reader) ? .writer : .reader
            let wake =
                half == .reader
                ? await point.readerWait(for: interest, until: deadline)
                : await point.writerWait(for: interest, until: deadline)
            switch wake {
            case .ready: return true
            case .timedOut: return false
            case .closed: if point.isClosed(.reader), point.isClosed(.writer) { throw .closed }
            case .cancelled, .busy, .failed: try connection.resume(wake, half)
            }
        }
    }

    // MARK: TLS

    nonisolated(nonsending) func shakeHands(
        _ configuration: TLSConfiguration, over lower: Engine, _ connection: Connection
    ) async throws(StreamError) -> Engine {
        let step = connection.beginStep(.tls(endpoint.name))
        do throws(StreamError) {
            let tls = try TLSTransport(configuration, peerName: endpoint.name, port: endpoint.port, over: lower)
            while case .wouldBlock(let interest) = try tls.tryOpen() {
                guard try await wait(on: connection, for: interest) else {
                    throw StreamError(posix: ETIMEDOUT, .openTimedOut("waiting for the TLS handshake"))
                }
            }
            connection.endStep(step, .succeeded(tls.summary))
            return .tls(tls)
        } catch {
            connection.endStep(step, error == .cancelled || error == .closed ? .abandoned : .failed(error))
            throw error
        }
    }
}
