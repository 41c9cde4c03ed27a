/// An authentication scheme that a policy can use: its name and a factory for its conversations.
///
/// ```swift
/// var policy = AuthenticationPolicy()
/// policy.methods = [.digest]          // nothing but Digest
/// ```
///
/// Add your own scheme with `AuthenticationMethod("Token") { space in TokenScheme(space) }`.
///
/// Replaces `kCFHTTPAuthenticationSchemeBasic` and the other scheme constants.
public struct AuthenticationMethod: Sendable {
    /// The name of the scheme, as in challenges.
    public let name: String

    /// The preference among several challenges of this scheme: the highest rank is tried first, then the earliest
    /// challenge.
    let rank: @Sendable (Challenge) -> Int

    /// How well a challenge of this scheme from a server or proxy protects the password.
    let form: @Sendable (Challenge, ProtectionSpace) -> AuthenticationForm

    private let maker: Maker

    /// A function that creates a conversation with a server or proxy, within limits.
    typealias Maker =
        @Sendable (ProtectionSpace, AuthenticationLimits) throws(HTTPAuthError) -> any AuthenticationScheme

    /// Creates a method.
    ///
    /// - Parameters:
    ///   - name: The name of the scheme, as in challenges.
    ///   - make: Creates a conversation. It throws ``HTTPAuthError/Code/unavailable`` if the scheme cannot be used on
    ///     this machine.
    ///   - rank: The preference among several challenges of this scheme in one response; the highest is tried first.
    ///   - form: How well a challenge from a server or proxy protects the password. By default the scheme counts as
    ///     Basic, so that it never replaces a stronger one.
    public init(
        _ name: String,
        make: @escaping @Sendable (ProtectionSpace) throws(HTTPAuthError) -> any AuthenticationScheme,
        rank: @escaping @Sendable (Challenge) -> Int = { _ in 0 },
        form: @escaping @Sendable (Challenge, ProtectionSpace) -> AuthenticationForm = { _, peer in
            AuthenticationForm(peer.isEncrypted ? .encryptedBasic : .basic)
        }
    ) {
        self.init(
            name: name, maker: { (space, _) throws(HTTPAuthError) in try make(space) }, rank: rank, form: form)
    }

    /// Creates a method whose conversations use the limits of the policy.
    init(
        name: String, maker: @escaping Maker, rank: @escaping @Sendable (Challenge) -> Int,
        form: @escaping @Sendable (Challenge, ProtectionSpace) -> AuthenticationForm
    ) {
        self.name = name
        self.maker = maker
        self.rank = rank
        self.form = form
    }

    /// Creates a conversation.
    ///
    /// - Parameters:
    ///   - space: The server or proxy that asks for authentication.
    ///   - limits: The limits on what it can demand: ``AuthenticationPolicy/limits``.
    public func conversation(
        in space: ProtectionSpace, limits: AuthenticationLimits = .default
    ) throws(HTTPAuthError) -> any AuthenticationScheme {
        try maker(space, limits)
    }
}

extension AuthenticationMethod {
    /// The names of schemes that CFNetwork declares and this package does not implement. A server that offers one is
    /// reported with ``AuthenticationExplanation/Outcome/unsupported``, unless the policy contains your own method of
    /// that name.
    ///
    /// `Kerberos` and `Negotiate2` are older and internal names of Microsoft and Apple; servers send Kerberos tickets as
    /// ``negotiate``.
    ///
    /// Replaces `kCFHTTPAuthenticationSchemeKerberos`, `kCFHTTPAuthenticationSchemeNegotiate2`,
    /// `kCFHTTPAuthenticationSchemeOAuth1` and `kCFHTTPAuthenticationSchemeXMobileMeAuthToken`.
    public static let unsupportedNames = ["Kerberos", "Negotiate2", "OAuth1", "XMobileMeAuthToken"]
}

extension AuthenticationMethod: Hashable, CustomStringConvertible {
    /// Returns whether both methods have the same name, ignoring case.
    public static func == (a: AuthenticationMethod, b: AuthenticationMethod) -> Bool {
        AuthGrammar.equalsIgnoringCase(a.name.utf8, b.name.utf8)
    }

    /// Hashes the name, ignoring case.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name.lowercased())
    }

    /// The name of the scheme.
    public var description: String { name }
}
