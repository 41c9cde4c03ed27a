internal import Foundation
internal import Glibc

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

    /// Makes a symbolic link in `files`.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running or the link cannot be made.
    public func link(_ name: String, to target: String) throws(PeerError) {
        let path = try process.folder().file("root/files/\(name)")
        do {
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        } catch {
            throw PeerError(.refused, "cannot make \(path): \(error)")
        }
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
        let folder = path.split(separator: "/").dropLast().joined(separator: "/")
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return Program(name, package: "", in: unpackedFolder(folder))
    }

    /// The path of a folder of those packages.
    static func unpackedFolder(_ path: String) -> String {
        let root = #filePath.split(separator: "/").dropLast(6).joined(separator: "/")
        return "/\(root)/.build/peers/\(path)"
    }
}

/// User accounts that exist only for one server: files mounted over the machine's, in a mount namespace of the server.
///
/// This requires root, as does a server with several users.
struct ServerAccounts {
    /// The user id of the accounts, which no other account has.
    static let user = 64001

    /// `unshare`, which starts the server.
    static let launcher = Program("unshare", package: "util-linux")

    private let scratch: ScratchFolder

    /// Writes the account files, with the users `ann`, and `ftp` for anonymous access; both have the home folder `root`.
    init(_ scratch: ScratchFolder, service: String) throws(PeerError) {
        guard geteuid() == 0 else {
            throw PeerError(.refused, "'\(service)' with its own accounts requires root")
        }
        self.scratch = scratch
        let home = scratch.file("root")
        let accounts = [FTPServerAccount.name, "ftp"].map { "\($0):x:\(Self.user):\(Self.user)::\(home):/bin/sh" }
        try scratch.write(
            "accounts/passwd",
            (["root:x:0:0::/root:/bin/sh", "nobody:x:65534:65534::/:/bin/sh"] + accounts).joined(separator: "\n")
                + "\n")
        let hash = try Self.hash(FTPServerAccount.password)
        try scratch.write(
            "accounts/shadow", "root:*:19000::::::\n\(FTPServerAccount.name):\(hash):19000::::::\n", mode: 0o600)
        try scratch.write(
            "accounts/pam.d/\(service)", "auth required pam_unix.so nodelay\naccount required pam_unix.so\n")
    }

    /// The arguments of ``launcher`` that run a command with these accounts.
    func arguments(running command: [String]) -> [String] {
        let mounts = ["passwd", "shadow", "pam.d"].map { "mount --bind \"$0/\($0)\" /etc/\($0)" }
        let script = mounts.joined(separator: " && ") + " && exec \"$@\""
        return ["--mount", "--propagation", "private", "sh", "-c", script, scratch.file("accounts")] + command
    }

    /// The hash of a password for an account file.
    static func hash(_ password: String) throws(PeerError) -> String {
        let text = String(decoding: try Command("openssl", "passwd", "-6", password).check(), as: UTF8.self)
        return String(text.prefix { !$0.isNewline })
    }
}
