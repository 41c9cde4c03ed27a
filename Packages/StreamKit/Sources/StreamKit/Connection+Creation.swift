internal import EventLoops
internal import Glibc
internal import HostResolver

extension Connection {
    /// A connection made by `open`.
    convenience init(
        _ kind: ConnectionKind, point: WaitPoint, only half: StreamHalf? = nil, to endpoint: Endpoint? = nil,
        _ properties: StreamProperties = StreamProperties(),
        open: @escaping @Sendable (Connection) throws(StreamError) -> Start
    ) {
        self.init(kind, point: point, only: half, to: endpoint, properties, opener: .work(open))
        if properties.isEmpty { return }
        setLimit(properties[.readLimit], .reader)
        setLimit(properties[.writeLimit], .writer)
        if let closes = properties[.closesDescriptor] { point.setOwnership(closes) }
    }

    /// A connection to an endpoint, established when it opens.
    convenience init(to endpoint: Endpoint, _ properties: StreamProperties, loop: EventLoop) {
        self.init(endpoint.kind, point: WaitPoint(loop: loop), to: endpoint, properties) {
            (connection) throws(StreamError) in
            let properties = connection.details.withLock { $0.properties }
            if let routes = properties.proxyRoutes {
                let opening = try ProxiedOpening(to: endpoint, through: routes, properties, loop: loop)
                connection.details.withLock { $0.transport = opening }
                return .continues(
                    TransportOpening(transport: opening, half: .reader) { opening.engine ?? .other(opening) })
            }
            return .continues(StreamConnector(ConnectPlan(to: endpoint, properties)))
        }
    }

    /// A connection on a descriptor that is already open.
    convenience init(
        adopting descriptor: CInt, as kind: ConnectionKind, ownership: DescriptorOwnership,
        _ properties: StreamProperties = StreamProperties(), loop: EventLoop
    ) {
        let point = WaitPoint(descriptor: descriptor, ownership: ownership, loop: loop)
        self.init(kind, point: point, properties) { (connection) throws(StreamError) in
            guard let kind = Syscalls.socketType(descriptor) else {
                guard fcntl(descriptor, F_GETFD) >= 0 else { throw StreamError(posix: errno) }
                return .opened(.other(DescriptorTransport(point)))
            }
            guard kind == CInt(SOCK_STREAM.rawValue) else { throw StreamError(posix: EPROTOTYPE, .notAStreamSocket) }
            let properties = connection.details.withLock { $0.properties }
            if properties[.tls] != nil {
                return .continues(StreamConnector(securing: ConnectPlan(to: .addresses([], name: nil), properties)))
            }
            if Syscalls.localAddress(descriptor)?.ipAddress != nil { connection.allowDraining() }
            return .opened(.socket(point))
        }
    }

    /// A connection over a user's own transport.
    convenience init(transport: any StreamTransport, only half: StreamHalf?) {
        let kind: ConnectionKind =
            switch half {
            case nil: .transport
            case .reader?: .readTransport
            case .writer?: .writtenTransport
            }
        let loop = transport.loop
        let point = half.map { WaitPoint(loop: loop, only: $0) } ?? WaitPoint(loop: loop)
        self.init(
            kind, point: point, only: half,
            opener: .transport(transport, waitingAt: half ?? .reader))
    }
}

extension Sentence {
    static let notAStreamSocket = Sentence(
        "adopt.notAStream",
        "The descriptor is not a stream socket (it may be a datagram socket); use Socket instead.")
}
