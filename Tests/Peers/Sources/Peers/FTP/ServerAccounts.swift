internal import Glibc

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
    func covering(_ command: [String]) -> [String] {
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
