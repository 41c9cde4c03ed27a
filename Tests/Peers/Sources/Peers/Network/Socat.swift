/// `socat`: a relay between any two of its addresses; here, small TCP and Unix servers.
///
/// ```swift
/// let echo = Socat(.echo)
/// try echo.start()                       // 127.0.0.1, echo.port
/// let unix = Socat(.echoUnix)
/// try unix.start()                       // unix.path
/// ```
public final class Socat: Peer {
    /// What the server does with each connection.
    public enum Mode: Hashable, Sendable {
        /// TCP: sends back what it receives.
        case echo
        /// The same on a Unix stream socket, see ``Socat/path``.
        case echoUnix
        /// TCP: connects to this port of 127.0.0.1 and passes bytes on in both directions.
        case relay(to: Int)
        /// TCP: runs this shell command for each connection, which is its standard input and output. A command that
        /// prints, sleeps and prints is a server that paces its bytes.
        case shell(String)
        /// Sends datagrams back to where they came from.
        case echoDatagrams
    }

    /// `socat`.
    public static let program = Program("socat")
    /// The running program.
    public let process: PeerProcess

    private let mode: Mode
    private let address: String

    /// Makes one; it has to be started. TCP servers listen at `address`.
    public init(_ mode: Mode, at address: String = "127.0.0.1", in namespace: NetworkNamespace? = nil) {
        self.mode = mode
        self.address = address
        process = PeerProcess(in: namespace)
    }

    /// In mode ``Mode/echoUnix``: where the socket is.
    ///
    /// - Throws: ``PeerError/Code/refused`` if it does not run.
    public var path: String {
        get throws(PeerError) { try process.folder().file("socket") }
    }

    /// Starts it and returns when it accepts connections.
    public func start() throws(PeerError) {
        try process.start(Self.program, ports: mode == .echoUnix ? 0 : 1) { scratch, ports throws(PeerError) in
            let port = ports.first ?? 0
            let listen = "TCP4-LISTEN:\(port),bind=\(address),reuseaddr,fork"
            let tcp = ListeningSocket.tcp(port)
            return switch mode {
            case .echo: PeerProcess.Launch(arguments: ["-d", "-d", listen, "EXEC:cat"], sockets: tcp)
            case .echoUnix:
                PeerProcess.Launch(
                    arguments: ["-d", "-d", "UNIX-LISTEN:\(scratch.file("socket")),fork", "EXEC:cat"], sockets: [],
                    paths: [scratch.file("socket")])
            case .relay(let target):
                PeerProcess.Launch(arguments: ["-d", "-d", listen, "TCP4:127.0.0.1:\(target)"], sockets: tcp)
            case .shell(let command):
                PeerProcess.Launch(
                    arguments: [
                        "-d", "-d", listen, "EXEC:\(try scratch.write("run", "#!/bin/sh\n\(command)\n", mode: 0o755))",
                    ],
                    sockets: tcp)
            case .echoDatagrams:
                PeerProcess.Launch(
                    arguments: ["-d", "-d", "UDP4-RECVFROM:\(port),bind=127.0.0.1,fork", "EXEC:cat"],
                    sockets: [ListeningSocket(transport: .udp, isIPv6: false, port: port)])
            }
        }
    }
}
