/// Who someone is at one place, and the proof.
///
/// A credential cannot be made without its ``ProtectionSpace``, and every scheme refuses one of another space with
/// ``HTTPAuthError/Code/wrongProtectionSpace``: what was meant for A cannot reach B, whatever the caller mixes up.
///
/// ```swift
/// let credential = Credential(user: "joe", password: "secret", for: authentication.space)
/// try authentication.apply(to: &request, credential)
/// ```
public struct Credential: Hashable, Sendable {
    /// Where it is good.
    public let space: ProtectionSpace

    /// The user name, without a domain.
    public let user: String

    /// The Windows domain of the account, for NTLM; nil if none was given.
    public let accountDomain: String?

    /// What proves it.
    public let proof: Proof

    /// What proves an identity.
    public enum Proof: Hashable, Sendable {
        /// A password, in UTF-8.
        case password(Secret)
        /// The 16 bytes of the NT hash of a password: enough for NTLM, and as secret as the password.
        case ntHash(Secret)
    }

    /// Makes a credential.
    public init(user: String, accountDomain: String? = nil, proof: Proof, for space: ProtectionSpace) {
        self.space = space
        self.user = user
        self.accountDomain = accountDomain
        self.proof = proof
    }

    /// Makes a credential of a user name and a password.
    public init(user: String, password: String, accountDomain: String? = nil, for space: ProtectionSpace) {
        self.init(user: user, accountDomain: accountDomain, proof: .password(Secret(password)), for: space)
    }

    /// The password; nil if the proof is something else.
    public var password: Secret? {
        switch proof {
        case .password(let password): password
        case .ntHash: nil
        }
    }
}

extension Credential: CustomStringConvertible {
    /// For people: user and place, never the proof.
    public var description: String { "\(accountDomain.map { "\($0)\\" } ?? "")\(user) at \(space)" }
}

extension Secret: Hashable {
    /// Hashes the number of bytes only, so that no hash value depends on what they are.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
    }
}
