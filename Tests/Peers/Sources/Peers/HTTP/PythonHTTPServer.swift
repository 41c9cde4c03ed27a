/// Python's `http.server`: HTTP/1.0 responses from a folder, one connection per request.
///
/// ```swift
/// let server = PythonHTTPServer()
/// try server.start()
/// try server.write("hello.txt", "hello\n")
/// server.url("/hello.txt")     // http://127.0.0.1:…/hello.txt
/// ```
public final class PythonHTTPServer: Peer {
    /// `python3`.
    public static let program = Program("python3")
    /// The process of the server.
    public let process: PeerProcess

    /// Creates a server that is not started yet.
    public init(in namespace: NetworkNamespace? = nil) {
        process = PeerProcess(in: namespace)
    }

    /// Starts the server and returns when it accepts connections.
    public func start() throws(PeerError) {
        try process.start(Self.program, ports: 1) { scratch, ports throws(PeerError) in
            let files = try scratch.folder("files")
            return PeerProcess.Launch(
                arguments: ["-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", files, "\(ports[0])"],
                sockets: ListeningSocket.tcp(ports[0]))
        }
    }

    /// The URL of `path`, which must begin with a slash.
    public func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Writes a file that the server serves as `name`.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running or the file cannot be written.
    public func write(_ name: String, _ contents: String) throws(PeerError) {
        try process.folder().write("files/\(name)", contents)
    }

    /// Sets the date of a file, which is its `Last-Modified`, to 2001-09-09 01:46:40 UTC.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the file does not exist.
    public func age(_ name: String) throws(PeerError) {
        try process.folder().age("files/\(name)")
    }
}
