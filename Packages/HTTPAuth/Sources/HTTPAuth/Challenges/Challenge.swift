/// A challenge: a scheme with a token or parameters (RFC 9110 §11.3). Credentials have the same form.
///
/// ```swift
/// let line = "Digest realm=\"a, b\", nonce=\"xyz\", Negotiate"
/// let challenges = ChallengeParser().parse(Array(line.utf8)).challenges
/// challenges[0].scheme            // "Digest"
/// challenges[0]["Realm"]          // "a, b"
/// challenges[1].is("negotiate")   // true
/// ```
public struct Challenge: Hashable, Sendable {
    /// The scheme, in its original letter case. Compare it with ``is(_:)``.
    public var scheme: String

    /// The token that some schemes (Negotiate, NTLM) send instead of parameters: letters, digits and `-._~+/`, with `=`
    /// at the end. Nil if there is none.
    public var token: String?

    /// The parameters, in order.
    public var parameters: [Parameter]

    /// Creates a challenge.
    public init(scheme: String, token: String? = nil, parameters: [Parameter] = []) {
        self.scheme = scheme
        self.token = token
        self.parameters = parameters
    }

    /// The value of the parameter with this name, ignoring case; nil if there is none.
    public subscript(name: String) -> String? { parameter(name)?.value }

    /// Returns the parameter with this name, ignoring case; nil if there is none.
    public func parameter(_ name: String) -> Parameter? {
        parameters.first { AuthGrammar.equalsIgnoringCase($0.name.utf8, name.utf8) }
    }

    /// Returns whether the challenge is of this scheme, ignoring case.
    public func `is`(_ scheme: String) -> Bool {
        AuthGrammar.equalsIgnoringCase(self.scheme.utf8, scheme.utf8)
    }
}

extension Challenge {
    /// A parameter: a name and its unquoted value.
    public struct Parameter: Hashable, Sendable {
        /// The name, in its original letter case.
        public var name: String

        /// The bytes of the value. Schemes hash and return these exact bytes.
        public var rawValue: [UInt8]

        /// Creates a parameter from the bytes of its value.
        public init(_ name: String, rawValue: [UInt8]) {
            self.name = name
            self.rawValue = rawValue
        }

        /// Creates a parameter with a value in UTF-8.
        public init(_ name: String, _ value: String) {
            self.init(name, rawValue: Array(value.utf8))
        }

        /// The value decoded as UTF-8 or, if it is not valid UTF-8, as ISO 8859-1.
        public var value: String { AuthGrammar.text(rawValue) }
    }
}

extension Challenge: CustomStringConvertible {
    /// The challenge in the syntax of the field, with all values quoted. The token is omitted, because it may be
    /// secret.
    public var description: String {
        let parts = parameters.map { "\($0.name)=\(AuthGrammar.quoted($0.value))" }
        return scheme + (token == nil ? "" : " …") + (parts.isEmpty ? "" : " " + parts.joined(separator: ", "))
    }
}
