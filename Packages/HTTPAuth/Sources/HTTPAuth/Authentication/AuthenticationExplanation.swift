/// What was made of a server's challenges: why each scheme was taken or not.
///
/// ```swift
/// print(authentication.explain())
/// // Negotiate: skipped, no Kerberos ticket; get one with kinit
/// // Digest "staff": chosen
/// // Basic "staff": not needed, a preferred scheme was chosen
/// ```
public struct AuthenticationExplanation: Hashable, Sendable {
    /// One scheme that was offered.
    public struct Entry: Hashable, Sendable {
        /// Its name, as the server wrote it.
        public var scheme: String
        /// Its realm, if it names one.
        public var realm: String?
        /// What became of it.
        public var outcome: Outcome
    }

    /// What became of a scheme.
    public enum Outcome: Hashable, Sendable {
        /// It is in use.
        case chosen
        /// A scheme before it in the policy's order is in use.
        case notNeeded
        /// Neither the policy nor this package has a method of this name.
        case unknown
        /// The policy's methods leave it out.
        case leftOut
        /// The policy bans it.
        case banned
        /// The policy allows it on encrypted connections only.
        case needsEncryption
        /// It is weaker than what the server or proxy has asked for before.
        case weaker
        /// It could not start or not go on.
        case skipped(HTTPAuthError)
        /// The server refused the credential.
        case refused
    }

    /// The schemes, in the order of the challenges.
    public var entries: [Entry]

    /// What was dropped from the challenges because it was malformed.
    public var errors: [HTTPAuthError]

    /// Makes an explanation.
    public init(entries: [Entry] = [], errors: [HTTPAuthError] = []) {
        self.entries = entries
        self.errors = errors
    }
}

extension AuthenticationExplanation: CustomStringConvertible {
    /// A line for each scheme and each error.
    public var description: String {
        var lines = entries.map { entry in
            "\(entry.scheme)\(entry.realm.map { " \(AuthGrammar.quoted($0))" } ?? ""): \(entry.outcome)"
        }
        lines += errors.map { "dropped: \($0)" }
        return lines.isEmpty ? "no scheme was offered" : lines.joined(separator: "\n")
    }
}

extension AuthenticationExplanation.Outcome: CustomStringConvertible {
    /// A few words.
    public var description: String {
        switch self {
        case .chosen: "chosen"
        case .notNeeded: "not needed, a preferred scheme was chosen"
        case .unknown: "skipped, unknown scheme"
        case .leftOut: "skipped, not among the allowed schemes"
        case .banned: "skipped, banned by the policy"
        case .needsEncryption: "skipped, the policy requires an encrypted connection"
        case .weaker: "skipped, weaker than an earlier login or offer"
        case .skipped(let error): "skipped, \(error.code.sentence)\(error.detail.map { " (\($0))" } ?? "")"
        case .refused: "the server rejected the credential"
        }
    }
}
