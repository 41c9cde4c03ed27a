@_spi(Packages) internal import HostResolver

/// One check of the environment. Probes that ``LadderMachine/next(now:)`` returns together are independent of each other.
enum Probe: Sendable, Hashable {
    /// Reads the kernel's tables and the configuration files.
    case environment
    /// Asks the kernel for the route to an address.
    case route(IPAddress)
    /// Looks up the addresses of a name with the configured resolver.
    case lookup(String)
    /// Queries one name server for the name.
    case nameServer(SocketAddress, name: String, over: NameTransport)
    /// Queries one name server for a name that does not exist.
    case nonexistentName(SocketAddress, name: String)
    /// Connects to an address.
    case connect(SocketAddress)
    /// Reads the neighbour table again, after something did not answer.
    case neighbors
    /// Sends an echo request to a router.
    case ping(IPAddress)
    /// Traces the path to an address.
    case path(IPAddress)
    /// Tests which packet sizes reach an address.
    case packetSizes(IPAddress, full: Int)
    /// Performs the TLS handshake if the target needs one, then asks as the target's protocol requires.
    case service(SocketAddress)
    /// The same with an address that only another name server gives for the name.
    case alternative(SocketAddress)
    /// Reads the certificate that the server presents, without verifying it, and the server's clock.
    case inspection(SocketAddress)
    /// Sends a request in plain HTTP, to detect a captive portal.
    case plainPage(IPAddress)
}

/// The transport of a query to a name server.
enum NameTransport: Sendable, Hashable {
    case udp
    case tcp
}

/// The result of a probe.
enum ProbeResult: Sendable {
    case environment(Environment)
    /// The kernel's tables could not be read.
    case environmentUnknown
    case route(Route?)
    case lookup(Result<[IPAddress], ResolverError>)
    case name(NameServerAnswer)
    /// The error of a connection attempt; nil if it succeeded.
    case connect(StreamError?)
    case neighbors([Neighbor])
    case ping(PingOutcome)
    case path(PathOutcome)
    case packetSizes(PacketSizes)
    case service(ServiceOutcome)
    case inspection(Inspection?)
}

/// The state of this machine's network, from the kernel's tables and the configuration files.
struct Environment: Sendable, Hashable {
    var network = NetworkSnapshot()
    var nameServers: [SocketAddress] = []
    /// Whether no name server is configured, so that this machine is queried instead.
    var isFallbackServer = false
    /// The addresses of the target's name in the hosts file.
    var hostsEntry: [IPAddress] = []
    /// The expired DHCP leases of this machine.
    var expiredLeases: [DHCPLease] = []
}

/// The answer of one name server.
enum NameServerAnswer: Sendable, Hashable {
    case addresses([IPAddress])
    case noSuchName
    case noAddress
    /// The server did not answer.
    case silent
    /// The server refused the query (REFUSED).
    case refused
    /// The answer over UDP was truncated, and the query over TCP failed.
    case truncated
    /// The server returned an error or could not be reached; the text gives the reason.
    case failed(String)
}

/// The outcome of an echo request.
enum PingOutcome: Sendable, Hashable {
    case answered
    case silent
    /// This machine does not permit the request; the text gives the reason.
    case forbidden(String)
}

/// The answers of the routers on the path to an address, and of the address itself.
struct PathOutcome: Sendable, Hashable {
    /// The routers, the nearest first; nil for a router that did not answer.
    var routers: [IPAddress?] = []
    /// Whether the address itself answered.
    var isReached = false
    /// The router that reported that the packets are forbidden. If it is this machine, ``isBlockedLocally`` is set instead.
    var prohibitedBy: IPAddress?
    /// Whether this machine's own firewall rejects the packets.
    var isBlockedLocally = false
    /// The router that reported that the address cannot be reached.
    var unreachableReportedBy: IPAddress?
    /// Why no packet could be sent.
    var failure: String?
}

/// The packet sizes that reached an address.
struct PacketSizes: Sendable, Hashable {
    /// The maximum packet size of this machine's link.
    var full: Int
    /// The sizes that were answered, including the ICMP and IP headers.
    var answered: Set<Int> = []
    /// The largest size that a router reported as possible; nil if no router reported one.
    var reportedMaximum: Int?
}

/// A server's certificate and clock, neither of them verified.
struct Inspection: Sendable, Hashable {
    /// The issuer of the certificate.
    var issuer = ""
    /// The validity of the certificate, in seconds since 1970.
    var validity: ClosedRange<Int64> = 0...0
    /// The server's clock, in seconds since 1970; nil if the server did not send its time.
    var serverTime: Int64?
    var ownTime: Int64 = 0
}

/// The time limits of the probes.
struct LadderLimits: Sendable, Hashable {
    var lookup = Duration.seconds(5)
    var nameServer = Duration.seconds(2)
    var connection = Duration.seconds(5)
    var answer = Duration.seconds(10)
    /// For pings and for tracing the path.
    var path = Duration.milliseconds(1500)
    /// The time after which a missing answer is investigated while it may still arrive.
    var slowAfter = Duration.seconds(1)

    /// The limit of the whole diagnosis: the longest single limit.
    var total: Duration { max(lookup, nameServer, connection, answer, path) }

    /// The limit of one probe; nil for a probe that only reads the kernel's tables.
    func limit(of probe: Probe) -> Duration? {
        switch probe {
        case .environment, .route, .neighbors: nil
        case .lookup: lookup
        case .nameServer, .nonexistentName: nameServer
        case .connect: connection
        case .ping, .path, .packetSizes: path
        case .service, .alternative: connection + answer
        case .inspection, .plainPage: min(connection, answer)
        }
    }
}
