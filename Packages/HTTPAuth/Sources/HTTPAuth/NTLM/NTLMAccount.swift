/// Whose login it is: names, and the hash of the password.
struct NTLMAccount: Sendable {
    /// The longest name, in letters of UTF-16. It keeps every field below its bound of 65535 bytes.
    static let longestName = 1024

    /// The user's name, without a domain before it.
    let user: String
    /// The domain; nil if none was given, and then the server's name for itself is taken.
    let domain: String?
    /// What the server is told of this machine: nothing unless asked.
    let workstation: String
    /// The NT hash of the password.
    let hash: Secret

    /// Makes an account of `user`, `DOMAIN\user` or `user@example.org`. A `domain` that is not empty goes before one that
    /// is part of the name.
    ///
    /// - Throws: ``HTTPAuthError`` if there is no user (an anonymous login proves nothing) or a name is too long.
    init(user: String, domain: String?, workstation: String = "", proof: Credential.Proof) throws(HTTPAuthError) {
        let parts = user.split(separator: "\\", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let name = parts.count == 2 ? parts[1] : user
        let given = [domain, parts.count == 2 ? parts[0] : nil].compactMap { $0 }.first { !$0.isEmpty }
        guard !name.isEmpty else { throw .ntlmAnonymous }
        for text in [name, given ?? "", workstation] where text.utf16.count > NTLMAccount.longestName {
            throw .ntlmNameTooLong
        }
        self.user = name
        // `user@example.org` names its domain itself; another one beside it would be another account.
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
