/// One challenge: a scheme with either a token or parameters (RFC 9110 §11.3). Also the form of credentials.
///
/// ```swift
/// let line = "Digest realm=\"a, b\", nonce=\"xyz\", Negotiate"
/// let challenges = ChallengeParser().parse(Array(line.utf8)).challenges
/// challenges[0].scheme            // "Digest"
/// challenges[0]["Realm"]          // "a, b"
/// challenges[1].is("negotiate")   // true
/// ```
public struct Challenge: Hashable, Sendable {
    /// The scheme, in the letter case in which it came. Compare with ``is(_:)``.
    public var scheme: String

    /// The token that some schemes (Negotiate, NTLM) send instead of parameters: letters, digits, `-._~+/` and `=` at
    /// its end. Nil if there is none.
    public var token: String?

    /// The parameters, in order.
    public var parameters: [Parameter]

    /// Makes a challenge.
    public init(scheme: String, token: String? = nil, parameters: [Parameter] = []) {
        self.scheme = scheme
        self.token = token
        self.parameters = parameters
    }

    /// The value of the parameter with this name, without regard to case; nil if there is none.
    public subscript(name: String) -> String? { parameter(name)?.value }

    /// The parameter with this name, without regard to case; nil if there is none.
    public func parameter(_ name: String) -> Parameter? {
        parameters.first { AuthGrammar.equalsIgnoringCase($0.name.utf8, name.utf8) }
    }

    /// Whether this is the scheme, without regard to case.
    public func `is`(_ scheme: String) -> Bool {
        AuthGrammar.equalsIgnoringCase(self.scheme.utf8, scheme.utf8)
    }
}

extension Challenge {
    /// A name and its value, unquoted.
    public struct Parameter: Hashable, Sendable {
        /// The name, in the letter case in which it came.
        public var name: String

        /// The bytes of the value, as a scheme must hash and repeat them.
        public var rawValue: [UInt8]

        /// Makes a parameter from the bytes of its value.
        public init(_ name: String, rawValue: [UInt8]) {
            self.name = name
            self.rawValue = rawValue
        }

        /// Makes a parameter from text, as UTF-8.
        public init(_ name: String, _ value: String) {
            self.init(name, rawValue: Array(value.utf8))
        }

        /// The value as UTF-8 where its bytes are that, else as ISO 8859-1.
        public var value: String { AuthGrammar.text(rawValue) }
    }
}

extension Challenge: CustomStringConvertible {
    /// The challenge as a server would write it, each value in quotes; a token is left out, since it may be a secret.
    public var description: String {
        let parts = parameters.map { "\($0.name)=\(AuthGrammar.quoted($0.value))" }
        return scheme + (token == nil ? "" : " …") + (parts.isEmpty ? "" : " " + parts.joined(separator: ", "))
    }
}
