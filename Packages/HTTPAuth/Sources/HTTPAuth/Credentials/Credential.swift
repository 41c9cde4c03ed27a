/// A user's identity in one protection space, with its proof.
///
/// A credential always has a ``ProtectionSpace``. Every scheme rejects a credential of another space with
/// ``HTTPAuthError/Code/wrongProtectionSpace``, so a mistake of the caller cannot send it to the wrong server.
///
/// ```swift
/// let credential = Credential(user: "joe", password: "secret", for: authentication.space)
/// try authentication.apply(to: &request, credential)
/// ```
public struct Credential: Hashable, Sendable {
    /// The protection space in which the credential is valid.
    public let space: ProtectionSpace

    /// The user name, without a domain.
    public let user: String

    /// The Windows domain of the account, for NTLM; nil if none was given.
    public let accountDomain: String?

    /// The proof of the identity.
    public let proof: Proof

    /// The proof of an identity.
    public enum Proof: Hashable, Sendable {
        /// A password, in UTF-8.
        case password(Secret)
        /// The 16-byte NT hash of a password. It suffices for NTLM and must be kept as secret as the password.
        case ntHash(Secret)
    }

    /// Creates a credential.
    public init(user: String, accountDomain: String? = nil, proof: Proof, for space: ProtectionSpace) {
        self.space = space
        self.user = user
        self.accountDomain = accountDomain
        self.proof = proof
    }

    /// Creates a credential from a user name and a password.
    public init(user: String, password: String, accountDomain: String? = nil, for space: ProtectionSpace) {
        self.init(user: user, accountDomain: accountDomain, proof: .password(Secret(password)), for: space)
    }

    /// The password; nil if the proof is not a password.
    public var password: Secret? {
        switch proof {
        case .password(let password): password
        case .ntHash: nil
        }
    }
}

extension Credential: CustomStringConvertible {
    /// The user name and the protection space, without the proof.
    public var description: String { "\(accountDomain.map { "\($0)\\" } ?? "")\(user) at \(space)" }
}
