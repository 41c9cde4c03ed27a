/// microsocks: a SOCKS 5 proxy, with or without a login.
///
/// ```swift
/// let proxy = Microsocks(user: "alice", password: "open sesame")
/// try proxy.start()
/// ```
///
/// Without a user it requires no login. It resolves names itself, and closes connections of SOCKS 4 clients. It connects to the loopback
/// addresses of IPv4 only, where the other servers of the tests listen.
public final class Microsocks: Peer {
    /// `microsocks`.
    public static let program = Program("microsocks")
    /// The process of the server.
    public let process: PeerProcess
    private let user: String?
    private let password: String

    /// Creates a server that is not started yet.
    public init(user: String? = nil, password: String = "", in namespace: NetworkNamespace? = nil) {
        self.user = user
        self.password = password
        process = PeerProcess(in: namespace)
    }

    /// Starts the server and returns when it accepts connections.
    public func start() throws(PeerError) {
        try process.start(Self.program, ports: 1) { _, ports throws(PeerError) in
            let credentials = user.map { ["-u", $0, "-P", password] } ?? []
            // It tries one address of a name: where "localhost" is ::1 as well, only that one unless it is bound to an address of IPv4.
            return PeerProcess.Launch(
                arguments: ["-i", "127.0.0.1", "-p", "\(ports[0])", "-b", "127.0.0.1"] + credentials,
                sockets: ListeningSocket.tcp(ports[0]))
        }
    }
}
