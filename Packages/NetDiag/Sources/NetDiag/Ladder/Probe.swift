/// One question to the world. Probes that the machine gives out together are independent of each other.
enum Probe: Sendable, Hashable {
    /// What the kernel and the configuration files say.
    case surroundings
    /// The kernel's way to an address.
    case route(IPAddress)
    /// The name's addresses, as every program gets them.
    case lookup(String)
    /// What one name server says of the name.
    case nameServer(SocketAddress, name: String)
    /// A connection.
    case connect(SocketAddress)
    /// The neighbours once more, after something did not answer.
    case neighbors
    /// A TLS handshake, and a request if the target speaks HTTP.
    case talk(SocketAddress)
}

/// What came of a probe.
enum ProbeResult: Sendable {
    case surroundings(Surroundings)
    /// The kernel cannot be asked.
    case surroundingsUnknown(ResolverError)
    case route(IPAddress, Route?)
    case lookup(Result<[IPAddress], ResolverError>)
    case nameServer(SocketAddress, NameServerAnswer)
    case connect(SocketAddress, StreamError?)
    case neighbors([Neighbor])
    case talk(SocketAddress, TalkOutcome)
}

/// What the kernel and the configuration files say, without a packet.
struct Surroundings: Sendable, Hashable {
    var network = NetworkSnapshot()
    var nameServers: [SocketAddress] = []
    /// What the hosts file says of the target's name.
    var hostsEntry: [IPAddress] = []
}

/// What one name server said.
enum NameServerAnswer: Sendable, Hashable {
    case addresses([IPAddress])
    case noSuchName
    case noAddress
    /// It did not answer, over UDP nor over TCP.
    case silent
    /// It refuses, fails, or cannot be reached; in words.
    case failed(String)
}

/// What came of talking over a connection.
enum TalkOutcome: Sendable, Hashable {
    /// TLS was set up, and nothing further was to be tried.
    case secured
    /// The handshake failed.
    case insecure(StreamError)
    /// An HTTP answer: its status, and where it leads.
    case answered(status: Int, location: String?)
    /// What came is no HTTP.
    case notHTTP
    /// Nothing came.
    case unanswered(StreamError)
}
