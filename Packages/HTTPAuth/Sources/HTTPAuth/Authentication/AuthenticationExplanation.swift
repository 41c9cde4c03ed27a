/// The reason why each scheme in a server's challenges was chosen or not.
///
/// ```swift
/// print(authentication.explain())
/// // Negotiate: skipped, no Kerberos ticket; get one with kinit
/// // Digest "staff": chosen
/// // Basic "staff": not needed, a preferred scheme was chosen
/// ```
public struct AuthenticationExplanation: Hashable, Sendable {
    /// A scheme that the server offered.
    public struct Entry: Hashable, Sendable {
        /// The name of the scheme, as the server wrote it.
        public var scheme: String
        /// The realm of the challenge; nil if it has none.
        public var realm: String?
        /// The reason why the scheme was chosen or not.
        public var outcome: Outcome
    }

    /// The reason why a scheme was chosen or not.
    public enum Outcome: Hashable, Sendable {
        /// The scheme is in use.
        case chosen
        /// A scheme that the policy prefers is in use.
        case notNeeded
        /// Neither the policy nor this package knows a scheme of this name.
        case unknown
        /// This package knows the name of the scheme, but does not implement it: see
        /// ``AuthenticationMethod/unsupportedNames``.
        case unsupported
        /// The package knows the scheme, but ``AuthenticationPolicy/methods`` does not contain it.
        case notAllowed
        /// ``AuthenticationPolicy/banned`` contains the scheme.
        case banned
        /// The policy allows the scheme on encrypted connections only.
        case needsEncryption
        /// The scheme is weaker than an earlier login or offer; see ``AuthenticationMemory``.
        case weaker
        /// The scheme could not start or continue.
        case skipped(HTTPAuthError)
        /// The server rejected the credential.
        case refused
    }

    /// The offered schemes, in the order of the challenges.
    public var entries: [Entry]

    /// The errors for malformed challenges, which were dropped.
    public var errors: [HTTPAuthError]

    /// Creates an explanation.
    public init(entries: [Entry] = [], errors: [HTTPAuthError] = []) {
        self.entries = entries
        self.errors = errors
    }
}

extension AuthenticationExplanation: CustomStringConvertible {
    /// One line for each scheme and each error.
    public var description: String {
        var lines = entries.map { entry in
            "\(entry.scheme)\(entry.realm.map { " \(AuthGrammar.quoted($0))" } ?? ""): \(entry.outcome)"
        }
        lines += errors.map { "dropped: \($0)" }
        return lines.isEmpty ? "no scheme was offered" : lines.joined(separator: "\n")
    }
}

extension AuthenticationExplanation.Outcome: CustomStringConvertible {
    /// A short phrase, such as `skipped, banned by the policy`.
    public var description: String {
        switch self {
        case .chosen: "chosen"
        case .notNeeded: "not needed, a preferred scheme was chosen"
        case .unknown: "skipped, unknown scheme"
        case .unsupported: "skipped, the scheme is not supported"
        case .notAllowed: "skipped, not among the allowed schemes"
        case .banned: "skipped, banned by the policy"
        case .needsEncryption: "skipped, the policy requires an encrypted connection"
        case .weaker: "skipped, weaker than an earlier login or offer"
        case .skipped(let error): "skipped, \(error.code.text)\(error.detail.map { " (\($0))" } ?? "")"
        case .refused: "the server rejected the credential"
        }
    }
}

/// The meaning of a response for authentication, and the next action.
public enum AuthenticationVerdict: Hashable, Sendable {
    /// Apply a credential and send the request again: the request carried no credential, the scheme needs another
    /// round, the server requires a fresh nonce, or the next scheme is tried.
    case apply
    /// The credential was rejected. Create a new object and apply another credential.
    case refused
    /// The response asks for authentication in a realm other than this object's. Create another object for that realm.
    case otherRealm
    /// Authentication failed; see ``HTTPAuthentication/error``.
    case failed
    /// Authentication is complete. The response is the server's answer to this user.
    case accepted
}
