internal import EventLoops
internal import Glibc
internal import HostResolver

extension Connection {
    /// A connection made at open.
    convenience init(to endpoint: Endpoint, _ properties: StreamProperties, loop: EventLoop) {
        self.init(point: WaitPoint(loop: loop), to: endpoint) { (connection) throws(StreamError) in
            let properties = connection.details.withLock { $0.properties }
            if let routes = properties.proxyRoutes {
                let opening = try ProxiedOpening(to: endpoint, through: routes, properties, loop: loop)
                connection.details.withLock { $0.transport = opening }
                return try connection.open(opening) { opening.engine ?? .other(opening) }
            }
            return .continues { () async throws(StreamError) in
                try await StreamConnector(to: endpoint, properties).open(connection)
            }
        }
        details.withLock { $0.properties = properties }
        setLimit(properties[.readLimit], .reader)
        setLimit(properties[.writeLimit], .writer)
    }

    /// A descriptor that is open already.
    convenience init(adopting descriptor: CInt, ownership: DescriptorOwnership, loop: EventLoop) {
        let point = WaitPoint(descriptor: descriptor, ownership: ownership, loop: loop)
        self.init(point: point) { (connection) throws(StreamError) in
            guard let kind = Syscalls.socketType(descriptor) else {
                guard fcntl(descriptor, F_GETFD) >= 0 else { throw StreamError(posix: errno) }
                return .opened(.other(DescriptorTransport(point)))
            }
            guard kind == CInt(SOCK_STREAM.rawValue) else { throw StreamError(posix: EPROTOTYPE, .notAStreamSocket) }
            if Syscalls.localAddress(descriptor)?.ipAddress != nil { connection.allowDraining() }
            let socket = Engine.socket(SocketTransport(point))
            guard let tls = connection.details.withLock({ $0.properties[.tls] }) else { return .opened(socket) }
            return .continues { () async throws(StreamError) in
                try await StreamConnector(
                    to: .addresses([], name: nil), connection.details.withLock { $0.properties }
                ).shakeHands(tls, over: socket, connection)
            }
        }
    }

    /// A transport of the user's own.
    convenience init(transport: any StreamTransport, only half: StreamHalf?) {
        self.init(point: WaitPoint(loop: transport.loop), only: half) { (connection) throws(StreamError) in
            try connection.open(transport, half ?? .reader) { .other(transport) }
        }
        details.withLock { $0.transport = transport }
    }

    /// Opens a transport, as far as that goes at once, and then as a task.
    private func open(
        _ transport: any StreamTransport, _ half: StreamHalf = .reader, _ engine: @escaping @Sendable () -> Engine
    ) throws(StreamError) -> Opening {
        guard case .wouldBlock(let first) = try transport.tryOpen() else { return .opened(engine()) }
        return .continues { [self] () async throws(StreamError) in
            var interest = first
            while true {
                let wake = await transport.waitPoint.readerWait(for: interest, until: nil)
                if wake == .cancelled { transport.close() }
                try resume(wake, half)
                guard case .wouldBlock(let next) = try transport.tryOpen() else { return engine() }
                interest = next
            }
        }
    }
}

extension StreamConnector {
    /// Reads what opening needs to know from a stream's properties.
    init(to endpoint: Endpoint, _ properties: StreamProperties) {
        self.endpoint = endpoint
        options = ConnectingSocket.Options(
            sendsAtOnce: properties[.sendsAtOnce] ?? true, keepsAlive: properties[.keepsAlive] ?? false,
            serviceType: properties[.serviceType], localAddress: properties[.localAddress])
        resolver = properties[.resolver] ?? SystemResolver.shared
        attemptDelay = properties[.attemptDelay] ?? .milliseconds(250)
        let limit = properties[.openLimit] ?? .zero
        deadline = limit > .zero ? .now + limit : nil
        tls = properties[.tls]
    }
}

extension Sentence {
    static let notAStreamSocket = Sentence(
        "adopt.notAStream",
        "The descriptor is a socket without streams (a datagram socket, perhaps); use Socket for it.")
}
