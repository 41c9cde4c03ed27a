/// The account of a login: its names and the hash of its password.
struct NTLMAccount: Sendable {
    /// The maximum length of a name in UTF-16 code units. It keeps every message field below its limit of 65535 bytes.
    static let maximumNameLength = 1024

    /// The user name, without a leading domain.
    let user: String
    /// The domain; nil if none was given. Then the target name in the server's challenge is used.
    let domain: String?
    /// The name of this machine to send to the server; empty by default.
    let workstation: String
    /// The NT hash of the password.
    let hash: Secret

    /// Creates an account from `user`, `DOMAIN\user` or `user@example.org`. A nonempty `domain` takes precedence over
    /// one in the name.
    ///
    /// - Throws: ``HTTPAuthError`` if the user name is empty (an anonymous login proves nothing) or a name is too long.
    init(user: String, domain: String?, workstation: String = "", proof: Credential.Proof) throws(HTTPAuthError) {
        let parts = user.split(separator: "\\", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let name = parts.count == 2 ? parts[1] : user
        let given = [domain, parts.count == 2 ? parts[0] : nil].compactMap { $0 }.first { !$0.isEmpty }
        guard !name.isEmpty else { throw .ntlmAnonymous }
        for text in [name, given ?? "", workstation] where text.utf16.count > NTLMAccount.maximumNameLength {
            throw .ntlmNameTooLong
        }
        self.user = name
        // `user@example.org` contains its domain. A separate domain would name another account.
        self.domain = given ?? (name.contains("@") ? "" : nil)
        self.workstation = workstation
        switch proof {
        case .password(let password): hash = try NTHash.of(password: password)
        case .ntHash(let hash):
            guard hash.count == 16 else { throw .ntlmHashSize(hash.count) }
            self.hash = hash
        }
    }
}
