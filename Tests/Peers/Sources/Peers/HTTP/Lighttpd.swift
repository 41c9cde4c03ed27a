internal import Glibc

/// lighttpd: Basic, and Digest with features that other servers lack.
///
/// ```swift
/// let lighttpd = Lighttpd()
/// try lighttpd.start()
/// lighttpd.url("/sha512/secret.txt")
/// ```
///
/// Each of these folders contains the files written with ``write(_:_:)``, for user `alice` with password `open sesame` and user
/// `Jäsøn` with password `sésame`. The realm is `peers`.
///
/// | folder | scheme |
/// |---|---|
/// | `/basic` | Basic |
/// | `/md5`, `/sha256`, `/sha512` | Digest with that algorithm (the last is SHA-512-256) |
/// | `/both` | Digest with two challenges, MD5 and SHA-256 |
/// | `/userhash` | Digest with SHA-256 and `userhash=true` |
public final class Lighttpd: Peer {
    /// `lighttpd`.
    public static let program = Program("lighttpd")
    /// The process of the server.
    public let process: PeerProcess

    /// Creates a server that is not started yet.
    public init(in namespace: NetworkNamespace? = nil) {
        process = PeerProcess(in: namespace)
    }

    /// The folders, and the algorithm of each; nil for Basic.
    private static let folders: [(name: String, algorithm: String?)] = [
        ("basic", nil), ("md5", "MD5"), ("sha256", "SHA-256"), ("sha512", "SHA-512-256"), ("both", "MD5|SHA-256"),
        ("userhash", "SHA-256"),
    ]

    private static let users = [("alice", "open sesame"), ("Jäsøn", "sésame")]

    /// Starts the server and returns when it accepts connections.
    public func start() throws(PeerError) {
        try process.start(Self.program, ports: 1) { scratch, ports throws(PeerError) in
            for (name, algorithm) in Self.folders {
                try scratch.folder("files/\(name)")
                try scratch.write("\(name).users", try Self.userFile(name, algorithm))
            }
            let file = try scratch.write("lighttpd.conf", Self.configuration(scratch.path, port: ports[0]))
            return PeerProcess.Launch(
                arguments: ["-D", "-f", file], sockets: ports.flatMap { ListeningSocket.tcp($0, alsoIPv6: false) },
                announcement: "server started", logs: ["error.log"])
        }
    }

    /// The URL of `path`, which must begin with a slash.
    public func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Writes a file into every folder.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running or the file cannot be written.
    public func write(_ name: String, _ contents: [UInt8]) throws(PeerError) {
        for (folder, _) in Self.folders { try process.folder().write("files/\(folder)/\(name)", contents) }
    }

    /// Lines of `user:password`, or of `user:realm:hash` for each algorithm, followed by a hash of the user name for `userhash`.
    private static func userFile(_ folder: String, _ algorithm: String?) throws(PeerError) -> String {
        var lines: [String] = []
        for (user, password) in users {
            guard let algorithm else {
                lines.append("\(user):\(password)")
                continue
            }
            for name in algorithm.split(separator: "|") {
                let hash = try hash("\(user):peers:\(password)", String(name))
                let hidden = folder == "userhash" ? ":" + (try Self.hash("\(user):peers", String(name))) : ""
                lines.append("\(user):peers:\(hash)\(hidden)")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func hash(_ text: String, _ algorithm: String) throws(PeerError) -> String {
        let option = ["MD5": "-md5", "SHA-256": "-sha256", "SHA-512-256": "-sha512-256"][algorithm] ?? "-md5"
        let output = try Command(Program("openssl"), ["dgst", option, "-r"], input: Array(text.utf8)).check()
        return String(decoding: output.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
    }

    private static func configuration(_ folder: String, port: Int) -> String {
        let parts = folders.map { name, algorithm in
            let require =
                algorithm.map { "\"method\" => \"digest\", \"algorithm\" => \"\($0)\"" } ?? "\"method\" => \"basic\""
            let hidden = name == "userhash" ? ", \"userhash\" => \"enable\"" : ""
            let backend = algorithm == nil ? "plain" : "htdigest"
            return """
                $HTTP["url"] =~ "^/\(name)" {
                  auth.backend = "\(backend)"
                  auth.backend.\(backend).userfile = "\(folder)/\(name).users"
                  auth.require = ( "/\(name)" => (
                    \(require), "realm" => "peers", "require" => "valid-user"\(hidden) ) )
                }
                """
        }
        return """
            server.document-root = "\(folder)/files"
            server.port = \(port)
            server.bind = "127.0.0.1"
            server.errorlog = "\(folder)/error.log"
            server.upload-dirs = ( "\(folder)" )
            server.modules = ( "mod_auth", "mod_authn_file" )
            mimetype.assign = ( ".txt" => "text/plain" )
            \(parts.joined(separator: "\n"))

            """
    }
}
