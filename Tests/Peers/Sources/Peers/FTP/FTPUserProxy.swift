/// An FTP proxy: clients log in as `user@host:port`. A small Python program; only the control connection passes through it.
///
/// ```swift
/// let proxy = FTPUserProxy(user: "pat", password: "let me out")
/// try proxy.start()
/// // ftp 127.0.0.1 proxy.port, USER pat, PASS …, USER ann@127.0.0.1:2121
/// ```
public final class FTPUserProxy: Peer {
    /// The shell, which runs Debian's Python.
    public static let program = Program("sh", package: "python3")
    /// The process of the server.
    public let process = PeerProcess()
    private let user: String
    private let password: String

    /// Creates a server that is not started yet.
    ///
    /// - Parameters:
    ///   - user: The user name for the proxy itself; empty if the proxy requires no login.
    ///   - password: The password for the proxy itself.
    public init(user: String = "", password: String = "") {
        self.user = user
        self.password = password
    }

    /// Starts the server and returns when it accepts connections.
    public func start() throws(PeerError) {
        try process.start(Self.program, ports: 1) { scratch, ports throws(PeerError) in
            let script = try scratch.write("proxy.py", Self.script)
            let arguments = ["\(ports[0])", user, password]
            return PeerProcess.Launch(
                arguments: ["-c", "exec /usr/bin/python3 -u \"$@\"", "sh", script] + arguments,
                sockets: ListeningSocket.tcp(ports[0]))
        }
    }

    /// The requested users and servers, in order: `ann@127.0.0.1:2121`.
    public var requests: [String] {
        log.split(separator: "\n").filter { $0.hasPrefix("FOR ") }.map { String($0.dropFirst(4)) }
    }

    private static let script = """
        import socket, sys, threading
        port, user, password = sys.argv[1:]
        def pump(source, target):
            try:
                while data := source.recv(65536):
                    target.sendall(data)
            except OSError:
                pass
            for end in (source, target):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        def line(connection):
            text = b""
            while not text.endswith(b"\\n"):
                byte = connection.recv(1)
                if not byte:
                    raise OSError("closed")
                text += byte
            return text.decode().strip()
        def serve(client):
            client.sendall(b"220 Proxy.\\r\\n")
            if user:
                if line(client) != "USER " + user:
                    return client.sendall(b"530 Who?\\r\\n")
                client.sendall(b"331 Password?\\r\\n")
                if line(client) != "PASS " + password:
                    return client.sendall(b"530 No.\\r\\n")
                client.sendall(b"230 Now for whom?\\r\\n")
            name, _, place = line(client)[5:].rpartition("@")
            print("FOR", name + "@" + place, flush=True)
            host, _, number = place.rpartition(":")
            server = socket.create_connection((host.strip("[]"), int(number)))
            while line(server)[3:4] == "-":
                pass
            server.sendall(("USER " + name + "\\r\\n").encode())
            threading.Thread(target=pump, args=(server, client), daemon=True).start()
            pump(client, server)
        def guarded(client):
            try:
                serve(client)
            except OSError:
                pass
            client.close()
        listener = socket.create_server(("127.0.0.1", int(port)), backlog=64)
        while True:
            threading.Thread(target=guarded, args=(listener.accept()[0],), daemon=True).start()

        """
}
