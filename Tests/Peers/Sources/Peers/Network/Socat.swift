/// `socat`: small TCP, UDP and Unix servers.
///
/// ```swift
/// let echo = Socat(.echo)
/// try echo.start()                       // 127.0.0.1, echo.port
/// let unix = Socat(.echoUnix)
/// try unix.start()                       // unix.path
/// ```
public final class Socat: Peer {
    /// How the server treats each connection.
    public enum Mode: Hashable, Sendable {
        /// TCP: returns all received bytes.
        case echo
        /// The same on a Unix stream socket, see ``Socat/path``.
        case echoUnix
        /// TCP: connects to this port of 127.0.0.1 and forwards bytes in both directions.
        case relay(to: Int)
        /// TCP: runs this shell command for each connection, with the connection as standard input and output. A command that prints,
        /// sleeps and prints makes a server that paces its bytes. Not for clients that abort one of several connections: socat 1.7.4
        /// then ends others as well, before the command has printed anything.
        case shell(String)
        /// TCP: sends the file at this path to each client, and ignores what the client sends.
        case file(String)
        /// UDP: returns each datagram to its sender.
        case echoDatagrams
    }

    /// `socat`.
    public static let program = Program("socat")
    /// The process of the server.
    public let process: PeerProcess

    private let mode: Mode
    private let address: String

    /// Creates a server that is not started yet. TCP servers listen on `address`.
    public init(_ mode: Mode, at address: String = "127.0.0.1", in namespace: NetworkNamespace? = nil) {
        self.mode = mode
        self.address = address
        process = PeerProcess(in: namespace)
    }

    /// The path of the socket in mode ``Mode/echoUnix``.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running.
    public var path: String {
        get throws(PeerError) { try process.folder().file("socket") }
    }

    /// Starts the server and returns when it accepts connections.
    public func start() throws(PeerError) {
        try process.start(Self.program, ports: mode == .echoUnix ? 0 : 1) { scratch, ports throws(PeerError) in
            let port = ports.first ?? 0
            let isIPv6 = address.contains(":")
            let listen =
                "\(isIPv6 ? "TCP6" : "TCP4")-LISTEN:\(port),bind=\(isIPv6 ? "[\(address)]" : address),reuseaddr,fork"
            let tcp = [ListeningSocket(transport: .tcp, isIPv6: isIPv6, port: port)]
            return switch mode {
            case .echo: PeerProcess.Launch(arguments: ["-d", "-d", listen, "EXEC:cat"], sockets: tcp)
            case .echoUnix:
                PeerProcess.Launch(
                    arguments: ["-d", "-d", "UNIX-LISTEN:\(scratch.file("socket")),fork", "EXEC:cat"], sockets: [],
                    paths: [scratch.file("socket")])
            case .relay(let target):
                PeerProcess.Launch(arguments: ["-d", "-d", listen, "TCP4:127.0.0.1:\(target)"], sockets: tcp)
            case .shell(let command):
                // Without -t, it ends half a second after the client has closed its direction, even if the command is
                // still starting.
                PeerProcess.Launch(
                    arguments: [
                        "-d", "-d", "-t", "60", listen,
                        "EXEC:\(try scratch.write("run", "#!/bin/sh\n\(command)\n", mode: 0o755))",
                    ],
                    sockets: tcp)
            case .file(let path):
                PeerProcess.Launch(
                    arguments: ["-d", "-d", "-U", "\(listen),backlog=256", "OPEN:\(path),rdonly"], sockets: tcp)
            case .echoDatagrams:
                PeerProcess.Launch(
                    arguments: ["-d", "-d", "UDP4-RECVFROM:\(port),bind=127.0.0.1,fork", "EXEC:cat"],
                    sockets: [ListeningSocket(transport: .udp, isIPv6: false, port: port)])
            }
        }
    }
}
