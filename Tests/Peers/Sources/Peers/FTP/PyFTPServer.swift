/// pyftpdlib: with MLSD, and behaviour that a small Python program can change. No TLS.
///
/// ```swift
/// let server = PyFTPServer()
/// try server.start()
/// try server.write("a.txt", Array("hello".utf8))
/// server.url("files/a.txt", user: "ann")
/// ```
public final class PyFTPServer: FTPServer {
    /// The shell, which runs Debian's Python: another Python in `PATH` lacks the package.
    public static let program = Program("sh", package: "python3-pyftpdlib")
    /// The process of the server.
    public let process: PeerProcess
    /// Never.
    public let security = FTPServerSecurity.off
    /// Whether the server listens on `::1`.
    public let isIPv6: Bool
    private let address: String
    private let masquerade: String?
    private let cutsAfter: Int?
    private let idleTimeout: Int
    private let lacking: [String]

    /// Creates a server that is not started yet.
    ///
    /// - Parameters:
    ///   - isIPv6: Whether the server listens on `::1` instead of `127.0.0.1`.
    ///   - address: Another address to listen on instead.
    ///   - namespace: The namespace to run in.
    ///   - masquerade: The address in replies to PASV; nil for the server's own.
    ///   - cutsAfter: The number of bytes of a download after which the server closes the data connection and replies 426; nil for
    ///     never.
    ///   - idleTimeout: The number of seconds after which the server ends an idle session with 421.
    ///   - lacking: Commands that the server does not know.
    public init(
        isIPv6: Bool = false, at address: String? = nil, in namespace: NetworkNamespace? = nil,
        masquerade: String? = nil, cutsAfter: Int? = nil, idleTimeout: Int = 300, lacking: [String] = []
    ) {
        process = PeerProcess(in: namespace)
        self.address = address ?? (isIPv6 ? "::1" : "127.0.0.1")
        self.isIPv6 = isIPv6
        self.masquerade = masquerade
        self.cutsAfter = cutsAfter
        self.idleTimeout = idleTimeout
        self.lacking = lacking
    }

    /// Starts the server and returns when it accepts connections.
    public func start() throws(PeerError) {
        try process.start(Self.program, ports: 1) { scratch, ports throws(PeerError) in
            try makeTree(scratch)
            let script = try scratch.write("server.py", Self.script)
            let arguments = [
                scratch.file("root"), address, "\(ports[0])", masquerade ?? "", "\(cutsAfter ?? -1)", "\(idleTimeout)",
                lacking.joined(separator: ","),
            ]
            return PeerProcess.Launch(
                arguments: ["-c", "exec /usr/bin/python3 -u \"$@\"", "sh", script] + arguments,
                sockets: sockets(ports[0]))
        }
    }

    private static let script = """
        import sys
        from pyftpdlib.authorizers import DummyAuthorizer
        from pyftpdlib.handlers import FTPHandler, DTPHandler, ActiveDTP
        from pyftpdlib.servers import FTPServer
        folder, host, port, masquerade, cuts, idle, lacking = sys.argv[1:]
        class Data(DTPHandler):
            def send(self, data):
                n = super().send(data)
                if int(cuts) >= 0 and self.tot_bytes_sent >= int(cuts):
                    self._resp = ("426 Cut.", None)
                    self.close()
                return n
        class Connecting(ActiveDTP):
            def handle_connect(self):
                super().handle_connect()
                # The data connection belongs to another object now. pyftpdlib 1.5.7 would close this one with the session, by the
                # number of the descriptor, which may be another session's then: that session would get no more replies.
                self._closed = True
        class Control(FTPHandler):
            dtp_handler = Data
            active_dtp = Connecting
            timeout = int(idle)
            proto_cmds = {name: info for name, info in FTPHandler.proto_cmds.items() if name not in lacking.split(",")}
            def pre_process_command(self, line, cmd, arg):
                print("COMMAND", "PASS" if cmd == "PASS" else line, flush=True)
                super().pre_process_command(line, cmd, arg)
        authorizer = DummyAuthorizer()
        authorizer.add_user("ann", "open sesame", folder, perm="elradfmwMT")
        authorizer.add_anonymous(folder)
        Control.authorizer = authorizer
        Control.auth_failed_timeout = 0.01
        Control.use_sendfile = int(cuts) < 0
        if masquerade:
            Control.masquerade_address = masquerade
        FTPServer((host, int(port)), Control).serve_forever(timeout=0.05)

        """

    /// The commands that the server received, in order.
    public func commands() -> [String] {
        log.split(separator: "\n").filter { $0.hasPrefix("COMMAND ") }.map { String($0.dropFirst(8)) }
    }
}
