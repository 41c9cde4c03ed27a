/// A scheme by name, and how a conversation of it is made.
///
/// ```swift
/// var policy = AuthenticationPolicy()
/// policy.methods = [.digest]          // nothing but Digest
/// ```
///
/// A scheme of your own: `AuthenticationMethod("Token") { space in TokenScheme(space) }`.
///
/// Replaces `kCFHTTPAuthenticationSchemeBasic` and its siblings.
public struct AuthenticationMethod: Sendable {
    /// The name, as it stands in challenges.
    public let name: String

    /// How good a challenge of this scheme is, where a server sends several: the highest is tried first, and of equals
    /// the one that came first.
    let rank: @Sendable (Challenge) -> Int

    /// How well a challenge of this scheme, from a place, protects the password.
    let form: @Sendable (Challenge, ProtectionSpace) -> AuthenticationForm

    private let maker: Maker

    /// Makes a conversation with a server or proxy that may demand so much.
    typealias Maker =
        @Sendable (ProtectionSpace, AuthenticationLimits) throws(HTTPAuthError) -> any AuthenticationScheme

    /// Makes a method. `make` is called for each conversation; it throws ``HTTPAuthError/Code/unavailable`` if what the
    /// scheme needs is not there. `rank` orders several challenges of this scheme in one response, the best highest.
    /// `form` says how well a challenge from a server or proxy protects the password; a method that does not say counts
    /// as Basic, so that it takes the place of no stronger scheme.
    public init(
        _ name: String,
        make: @escaping @Sendable (ProtectionSpace) throws(HTTPAuthError) -> any AuthenticationScheme,
        rank: @escaping @Sendable (Challenge) -> Int = { _ in 0 },
        form: @escaping @Sendable (Challenge, ProtectionSpace) -> AuthenticationForm = { _, place in
            AuthenticationForm(place.isEncrypted ? .encryptedBasic : .basic)
        }
    ) {
        self.init(
            name: name, maker: { (space, _) throws(HTTPAuthError) in try make(space) }, rank: rank, form: form)
    }

    /// Makes a method whose conversations are bounded by the limits of the policy that it is used with.
    init(
        name: String, maker: @escaping Maker, rank: @escaping @Sendable (Challenge) -> Int,
        form: @escaping @Sendable (Challenge, ProtectionSpace) -> AuthenticationForm
    ) {
        self.name = name
        self.maker = maker
        self.rank = rank
        self.form = form
    }

    /// A new conversation.
    ///
    /// - Parameters:
    ///   - space: The server or proxy that asks.
    ///   - limits: What the server or proxy may demand: `AuthenticationPolicy.limits`.
    public func conversation(
        in space: ProtectionSpace, limits: AuthenticationLimits = .default
    ) throws(HTTPAuthError) -> any AuthenticationScheme {
        try maker(space, limits)
    }
}

extension AuthenticationMethod: Hashable, CustomStringConvertible {
    /// Whether both have the same name, without regard to case.
    public static func == (a: AuthenticationMethod, b: AuthenticationMethod) -> Bool {
        AuthGrammar.equalsIgnoringCase(a.name.utf8, b.name.utf8)
    }

    /// Hashes the name, without regard to case.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name.lowercased())
    }

    /// The name.
    public var description: String { name }
}
