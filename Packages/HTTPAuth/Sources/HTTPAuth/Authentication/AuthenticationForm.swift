/// The strength of a login: how well it protects the password and the message.
///
/// A server chooses which schemes it offers, and so does an attacker in its place. A credential that was sent in one
/// form must therefore not be sent in a weaker form only because the offer changed. ``AuthenticationMemory`` compares
/// the forms.
/// ```swift
/// AuthenticationForm(.basic).isWeaker(than: AuthenticationForm(.digestMD5, coverage: .request))    // true
/// ```
public struct AuthenticationForm: Hashable, Sendable {
    /// The protection of the password, from the weakest to the strongest.
    public enum Strength: Int, Hashable, Sendable, Comparable, CaseIterable {
        /// Basic without TLS: anyone on the network path can read the password.
        case basic
        /// Basic over TLS: only the server receives the password.
        case encryptedBasic
        /// Digest with MD5.
        case digestMD5
        /// NTLM without TLS: the login is not bound to the connection.
        case ntlm
        /// Digest with SHA-256 or SHA-512/256.
        case digestSHA
        /// Negotiate, or NTLM bound to a TLS connection.
        case negotiate

        /// Returns whether `a` is weaker than `b`.
        public static func < (a: Strength, b: Strength) -> Bool { a.rawValue < b.rawValue }
    }

    /// The part of a message that a Digest login protects: its `qop` (RFC 7616 §3.3).
    public enum Coverage: Int, Hashable, Sendable, Comparable, CaseIterable {
        /// No `qop`, as in RFC 2069.
        case nothing
        /// `auth`: the request's method and target.
        case request
        /// `auth-int`: the method, the target and the body.
        case body

        /// Returns whether `a` covers less than `b`.
        public static func < (a: Coverage, b: Coverage) -> Bool { a.rawValue < b.rawValue }
    }

    /// The protection of the password.
    public var strength: Strength

    /// The protected part of the message; nil for schemes other than Digest.
    public var coverage: Coverage?

    /// Creates a form.
    public init(_ strength: Strength, coverage: Coverage? = nil) {
        self.strength = strength
        self.coverage = coverage
    }

    /// Returns whether this form protects less than another: the password or, if both are Digest, the message.
    public func isWeaker(than other: AuthenticationForm) -> Bool {
        if strength < other.strength { return true }
        guard let coverage, let otherCoverage = other.coverage else { return false }
        return coverage < otherCoverage
    }

    /// Returns the weakest form that is not weaker than either of the two.
    func joined(with other: AuthenticationForm?) -> AuthenticationForm {
        guard let other else { return self }
        let coverage = [coverage, other.coverage].compactMap { $0 }.max()
        return AuthenticationForm(max(strength, other.strength), coverage: coverage)
    }
}

extension AuthenticationForm: CustomStringConvertible {
    /// A short phrase, such as `Digest with SHA-2, qop=auth-int`.
    public var description: String {
        let name =
            switch strength {
            case .basic: "Basic without encryption"
            case .encryptedBasic: "Basic over TLS"
            case .digestMD5: "Digest with MD5"
            case .ntlm: "NTLM without TLS"
            case .digestSHA: "Digest with SHA-2"
            case .negotiate: "Negotiate, or NTLM over TLS"
            }
        return switch coverage {
        case nil: name
        case .nothing?: "\(name), without qop"
        case .request?: "\(name), qop=auth"
        case .body?: "\(name), qop=auth-int"
        }
    }
}
