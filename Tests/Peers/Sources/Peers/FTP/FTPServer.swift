/// A real FTP server with its own folder tree, in which only the folder `files` is writable.
///
/// ```swift
/// let server = Proftpd(.explicit)
/// try server.start()
/// try server.write("a.txt", Array("hello".utf8))
/// server.url("files/a.txt", user: "ann")        // ftp://ann@127.0.0.1:…/files/a.txt
/// ```
///
/// All servers have the account ``FTPServerAccount``, and allow anonymous reading.
public protocol FTPServer: Peer {
    /// When TLS begins.
    var security: FTPServerSecurity { get }
    /// Whether the server listens on `::1` instead of `127.0.0.1`.
    var isIPv6: Bool { get }

    /// The commands in the server's log, in order: `RETR files/a.txt`. Passwords are left out.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running, or keeps no such log.
    func commands() throws(PeerError) -> [String]
}

/// When TLS begins. The login and all data must then be encrypted.
public enum FTPServerSecurity: String, CaseIterable, Sendable {
    /// Never.
    case off
    /// After AUTH TLS.
    case explicit
    /// Immediately after connecting.
    case implicit
}

/// The account with all permissions in `files`.
public enum FTPServerAccount {
    /// The user name, `ann`.
    public static let name = "ann"
    /// The password, `open sesame`.
    public static let password = "open sesame"
}

extension FTPServer {
    /// The URL of a path, which must not begin with a slash.
    ///
    /// - Parameter user: A user name, or user name and password separated by a colon; nil for anonymous access.
    public func url(_ path: String = "", user: String? = nil) -> String {
        let host = isIPv6 ? "[::1]" : "127.0.0.1"
        return "\(security == .implicit ? "ftps" : "ftp")://\(user.map { "\($0)@" } ?? "")\(host):\(port)/\(path)"
    }

    /// Writes a file in `files`, which every user may change.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running or the file cannot be written.
    public func write(_ name: String, _ contents: [UInt8]) throws(PeerError) {
        try process.folder().write("root/files/\(name)", contents, mode: 0o666)
    }

    /// The bytes of a file in `files`.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the file does not exist.
    public func read(_ name: String) throws(PeerError) -> [UInt8] {
        try readBytes(process.folder().file("root/files/\(name)"))
    }

    /// The sockets on which the server listens when it is ready.
    func sockets(_ port: Int) -> [ListeningSocket] {
        [ListeningSocket(transport: .tcp, isIPv6: isIPv6, port: port)]
    }

    /// Creates the folder tree, whose root is read-only.
    func makeTree(_ scratch: ScratchFolder) throws(PeerError) {
        try scratch.folder("root")
        try scratch.folder("root/files", mode: 0o777)
    }
}

extension Program {
    /// A program from a package that `Scripts/bootstrap` unpacks into `.build/peers` instead of installing it.
    static func unpacked(_ path: String) -> Program {
        let root = #filePath.split(separator: "/").dropLast(6).joined(separator: "/")
        let folder = path.split(separator: "/").dropLast().joined(separator: "/")
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return Program(name, package: "", in: "/\(root)/.build/peers/\(folder)")
    }
}
