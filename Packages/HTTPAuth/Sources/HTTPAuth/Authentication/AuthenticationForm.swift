/// How well a login protects the password: what decides whether one form of a login may follow another.
///
/// A peer chooses what it offers, and so does an attacker in its place. A credential that was used in one form must not
/// be used in a weaker one because the peer changed its offer; ``AuthenticationMemory`` compares the forms.
///
/// ```swift
/// AuthenticationForm(.basic).isWeaker(than: AuthenticationForm(.digestMD5, coverage: .request))    // true
/// ```
public struct AuthenticationForm: Hashable, Sendable {
    /// The protection of the password, from the weakest to the strongest.
    public enum Strength: Int, Hashable, Sendable, Comparable, CaseIterable {
        /// Basic without TLS: the password can be read on the way.
        case basic
        /// Basic over TLS: the peer learns the password.
        case encryptedBasic
        /// Digest with MD5.
        case digestMD5
        /// NTLM without TLS, where nothing binds the login to the connection.
        case ntlm
        /// Digest with SHA-256 or SHA-512/256.
        case digestSHA
        /// Negotiate, and NTLM bound to a TLS connection.
        case negotiate

        /// Whether the first is the weaker one.
        public static func < (a: Strength, b: Strength) -> Bool { a.rawValue < b.rawValue }
    }

    /// The part of a message that a Digest login protects: its `qop` (RFC 7616 §3.3).
    public enum Coverage: Int, Hashable, Sendable, Comparable, CaseIterable {
        /// No `qop` at all, as in RFC 2069.
        case nothing
        /// `auth`: the method and the target.
        case request
        /// `auth-int`: the body, too.
        case body

        /// Whether the first is the weaker one.
        public static func < (a: Coverage, b: Coverage) -> Bool { a.rawValue < b.rawValue }
    }

    /// The protection of the password.
    public var strength: Strength

    /// The part of the message that is protected; nil for schemes without a choice.
    public var coverage: Coverage?

    /// Makes a form.
    public init(_ strength: Strength, coverage: Coverage? = nil) {
        self.strength = strength
        self.coverage = coverage
    }

    /// Whether this form protects less than another: the password, or the message where both are Digest.
    public func isWeaker(than other: AuthenticationForm) -> Bool {
        if strength < other.strength { return true }
        guard let coverage, let otherCoverage = other.coverage else { return false }
        return coverage < otherCoverage
    }

    /// The least form that is weaker than neither.
    func joined(with other: AuthenticationForm?) -> AuthenticationForm {
        guard let other else { return self }
        let coverage = [coverage, other.coverage].compactMap { $0 }.max()
        return AuthenticationForm(max(strength, other.strength), coverage: coverage)
    }
}

extension AuthenticationForm: CustomStringConvertible {
    /// The form in a few words: `Digest with SHA-256 (auth-int)`.
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
