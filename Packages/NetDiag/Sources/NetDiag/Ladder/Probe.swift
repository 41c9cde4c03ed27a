/// One question to the world. Probes that the machine gives out together are independent of each other.
enum Probe: Sendable, Hashable {
    /// What the kernel and the configuration files say.
    case surroundings
    /// The kernel's way to an address.
    case route(IPAddress)
    /// The name's addresses, as every program gets them.
    case lookup(String)
    /// What one name server says of the name.
    case nameServer(SocketAddress, name: String, over: NameTransport)
    /// What one name server says of a name that does not exist.
    case invention(SocketAddress, name: String)
    /// A connection.
    case connect(SocketAddress)
    /// The neighbours once more, after something did not answer.
    case neighbors
    /// Whether a router answers an echo request.
    case ping(IPAddress)
    /// The routers on the way to an address.
    case path(IPAddress)
    /// Which sizes of packets reach an address.
    case packetSizes(IPAddress, full: Int)
    /// A TLS handshake, and a request if the target speaks HTTP.
    case talk(SocketAddress)
    /// The same with an address that somebody else says is the name's.
    case alternative(SocketAddress)
    /// The certificate that is shown, whatever it is worth, and the server's clock.
    case inspection(SocketAddress)
    /// A request in plain HTTP, to see whether somebody answers in the server's place.
    case plainPage(IPAddress)
}

/// How a name server is asked.
enum NameTransport: Sendable, Hashable {
    case udp
    case tcp
}

/// What came of a probe.
enum ProbeResult: Sendable {
    case surroundings(Surroundings)
    /// The kernel cannot be asked.
    case surroundingsUnknown(ResolverError)
    case route(Route?)
    case lookup(Result<[IPAddress], ResolverError>)
    case name(NameServerAnswer)
    /// Nil once connected.
    case connect(StreamError?)
    case neighbors([Neighbor])
    case ping(PingOutcome)
    case path(PathOutcome)
    case packetSizes(PacketSizes)
    case talk(TalkOutcome)
    case inspection(Inspection?)
}

/// What the kernel and the configuration files say, without a packet.
struct Surroundings: Sendable, Hashable {
    var network = NetworkSnapshot()
    var nameServers: [SocketAddress] = []
    /// The configuration names no server, so this machine is asked.
    var isFallbackServer = false
    /// What the hosts file says of the target's name.
    var hostsEntry: [IPAddress] = []
    /// Addresses that were given to this machine for a time that is over.
    var lapsedLeases: [DHCPLease] = []
}

/// What one name server said.
enum NameServerAnswer: Sendable, Hashable {
    case addresses([IPAddress])
    case noSuchName
    case noAddress
    /// It did not answer.
    case silent
    /// It does not serve us.
    case refused
    /// The answer was cut, and TCP did not bring the whole of it.
    case cut
    /// It fails, or cannot be reached; in words.
    case failed(String)
}

/// What came of an echo request.
enum PingOutcome: Sendable, Hashable {
    case answered
    case silent
    /// This machine does not let us; in words.
    case forbidden(String)
}

/// What answered on the way to an address.
struct PathOutcome: Sendable, Hashable {
    /// The routers, the nearest first; nil where nobody said anything.
    var routers: [IPAddress?] = []
    /// The address itself answered.
    var isReached = false
    /// Who said that such packets are forbidden; this machine has none of its own addresses here, but `ownFirewall`.
    var forbidder: IPAddress?
    /// This machine's own rules do not let the packets out.
    var ownFirewall = false
    /// Who said that the address cannot be reached.
    var unreachableSays: IPAddress?
    /// Why nothing could be sent; in words.
    var failure: String?
}

/// Which sizes of packets got to an address and back.
struct PacketSizes: Sendable, Hashable {
    /// The size of a full packet on this machine's own link.
    var full: Int
    /// The sizes that were answered, ICMP and IP headers among them.
    var answered: Set<Int> = []
    /// What a router says is the most; nil if none does.
    var told: Int?
}

/// What was seen without believing it.
struct Inspection: Sendable, Hashable {
    /// Whom the certificate is from.
    var issuer = ""
    /// It is signed by itself.
    var isSelfIssued = false
    /// When it is valid, in seconds since 1970.
    var validity: ClosedRange<Int64> = 0...0
    /// The server's clock and this machine's, in seconds since 1970; the former is nil if it did not tell.
    var serverTime: Int64?
    var ownTime: Int64 = 0
}
