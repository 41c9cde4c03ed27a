/// A real FTP server with a tree of its own, in which one folder, `files`, can be written.
///
/// ```swift
/// let server = Proftpd(.explicit)
/// try server.start()
/// try server.write("a.txt", Array("hello".utf8))
/// server.url("files/a.txt", user: "ann")        // ftp://ann@127.0.0.1:…/files/a.txt
/// ```
///
/// All know user ``FTPServerAccount/name`` with ``FTPServerAccount/password``, and let anybody read without.
public protocol FTPServer: Peer {
    /// When TLS begins.
    var security: FTPServerSecurity { get }
    /// Whether it listens at `::1` instead of `127.0.0.1`.
    var isIPv6: Bool { get }

    /// The commands that it logged, in order: `RETR files/a.txt`. Passwords are left out.
    ///
    /// - Throws: ``PeerError/Code/refused`` if it does not run, or keeps no such log.
    func commands() throws(PeerError) -> [String]
}

/// When TLS begins; the log-in and all data must then be encrypted.
public enum FTPServerSecurity: String, CaseIterable, Sendable {
    /// Never.
    case off
    /// After AUTH TLS.
    case explicit
    /// At once.
    case implicit
}

/// Who may do everything in `files`.
public enum FTPServerAccount {
    /// `ann`.
    public static let name = "ann"
    /// `open sesame`.
    public static let password = "open sesame"
}

extension FTPServer {
    /// The URL of a path, which begins without a slash.
    ///
    /// - Parameter user: a name, or name and password with a colon; nobody in particular if left out.
    public func url(_ path: String = "", user: String? = nil) -> String {
        let host = isIPv6 ? "[::1]" : "127.0.0.1"
        return "\(security == .implicit ? "ftps" : "ftp")://\(user.map { "\($0)@" } ?? "")\(host):\(port)/\(path)"
    }

    /// Writes a file of `files`, which everybody may change.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server does not run or the file cannot be written.
    public func write(_ name: String, _ contents: [UInt8]) throws(PeerError) {
        try process.folder().write("root/files/\(name)", contents, mode: 0o666)
    }

    /// The bytes of a file of `files`.
    ///
    /// - Throws: ``PeerError/Code/refused`` if there is none.
    public func read(_ name: String) throws(PeerError) -> [UInt8] {
        try readBytes(process.folder().file("root/files/\(name)"))
    }

    /// Where it listens when it is ready.
    func sockets(_ port: Int) -> [ListeningSocket] {
        [ListeningSocket(transport: .tcp, isIPv6: isIPv6, port: port)]
    }

    /// Makes the tree: its root can only be read.
    func makeTree(_ scratch: ScratchFolder) throws(PeerError) {
        try scratch.folder("root")
        try scratch.folder("root/files", mode: 0o777)
    }
}

extension Program {
    /// A program of a package that `Scripts/bootstrap` unpacks into `.build/peers` and does not install.
    static func unpacked(_ path: String) -> Program {
        let root = #filePath.split(separator: "/").dropLast(6).joined(separator: "/")
        let folder = path.split(separator: "/").dropLast().joined(separator: "/")
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return Program(name, package: "", in: "/\(root)/.build/peers/\(folder)")
    }
}
