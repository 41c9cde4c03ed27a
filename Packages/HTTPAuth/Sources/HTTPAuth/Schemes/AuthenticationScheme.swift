/// The conversation of one scheme with one server for one user: challenges go in, field values come out, in as many
/// rounds as the scheme needs.
///
/// A conforming type is a machine, usually a struct. It reads no clock, random source or environment and never blocks.
/// Its inputs arrive in an ``AuthenticationInput``. Blocking work is returned as ``AuthenticationStep/work(_:)``; the
/// driver runs it on another thread and passes the result to ``resume(with:)``. ``HTTPAuthentication`` is the driver.
///
/// The order of the calls, where a round is one request and its response:
///
/// ```
/// receive(challenge, answering: nil)   401 or 407 to a request without credentials
///   respond(to:with:) → send           the field of the next request
///                     → work → resume(with:) → send
/// receive(challenge, answering: sent)  another 401 or 407, to a request with this scheme's field
///                    → continues       the next round of the login (NTLM, Negotiate): call respond again
///                    → fresh           like a first challenge (Digest, stale=true): call respond again
///                    → refused         the credential was rejected
/// finish(acceptance)                   any other status: the server's proof is checked
///   respond(to:with:) → send, nothing  the next request, without a new challenge
/// disconnected()                       the connection was closed; connection-bound schemes start again
/// ```
///
/// A scheme that cannot start (missing library, no ticket) throws from ``receive(_:answering:)``, or from the first
/// ``respond(to:with:)`` or ``resume(with:)``. The driver then tries the next offered scheme and lists the failure in
/// ``HTTPAuthentication/explain()``. To use your own scheme, create an ``AuthenticationMethod`` for it and add that to
/// a policy.
public protocol AuthenticationScheme: Sendable {
    /// The current traits of the conversation. They can change: Digest requires ordered requests once a challenge makes
    /// the server count them.
    var traits: SchemeTraits { get }

    /// The realm of the challenge; nil for schemes without realms.
    var realm: String? { get }

    /// The URIs, absolute or paths, to which the challenge applies; nil if it does not list any.
    var domain: [String]? { get }

    /// Processes a challenge of this scheme.
    ///
    /// Several requests can be in progress at a time. A conversation therefore identifies the challenged request by
    /// `sent`, not by its own last step.
    ///
    /// - Parameters:
    ///   - challenge: The challenge.
    ///   - sent: The field value of the challenged request; nil if it had none.
    /// - Throws: ``HTTPAuthError/Code/malformedChallenge``, ``HTTPAuthError/Code/unsupportedChallenge`` or
    ///   ``HTTPAuthError/Code/unavailable`` if the conversation cannot start or continue. It must not be used
    ///   afterwards.
    mutating func receive(
        _ challenge: Challenge, answering sent: [UInt8]?
    ) throws(HTTPAuthError) -> ChallengeVerdict

    /// Returns the step for the next request: a field value, no field, or work to do first.
    ///
    /// `credential` may be nil only if ``SchemeTraits/requiresUserNameAndPassword`` is false. The driver has checked
    /// that it belongs to `input.space`.
    mutating func respond(
        to input: AuthenticationInput, with credential: Credential?
    ) throws(HTTPAuthError) -> AuthenticationStep

    /// Continues with the result of the work that ``respond(to:with:)`` requested.
    mutating func resume(with output: BlockingWork.Output) throws(HTTPAuthError) -> AuthenticationStep

    /// Processes a final response to a request that carried this scheme's field.
    ///
    /// - Throws: ``HTTPAuthError/Code/serverNotAuthentic`` if the server had to prove that it knows the secret and did
    ///   not.
    mutating func finish(_ acceptance: Acceptance) throws(HTTPAuthError)

    /// Discards the state of the connection: it was closed, or the next request uses another one.
    mutating func disconnected()
}

extension AuthenticationScheme {
    /// Returns nil.
    public var domain: [String]? { nil }

    /// Throws ``HTTPAuthError/Code/outOfOrder``. It is never called for a scheme without blocking work.
    public mutating func resume(with output: BlockingWork.Output) throws(HTTPAuthError) -> AuthenticationStep {
        throw HTTPAuthError(.outOfOrder)
    }

    /// Does nothing.
    public mutating func finish(_ acceptance: Acceptance) throws(HTTPAuthError) {}

    /// Does nothing.
    public mutating func disconnected() {}
}

/// The meaning of a challenge for the conversation that receives it.
public enum ChallengeVerdict: Hashable, Sendable {
    /// A first challenge, or equivalent to one: apply a credential. The current one was not rejected.
    case fresh
    /// The next round of the login: respond with the same credential.
    case continues
    /// The credential was rejected.
    case refused
}

/// The next action that a scheme requests.
public enum AuthenticationStep: Sendable {
    /// Set `Authorization` or `Proxy-Authorization` to this value, which starts with the scheme's name.
    case send([UInt8])
    /// Send the request without the field: its connection is already authenticated, or the scheme needs a new challenge.
    case nothing
    /// Run this work where it may block, then call ``AuthenticationScheme/resume(with:)``.
    case work(BlockingWork)
}

/// The properties of a conversation that a client must know before it asks for credentials and sends requests.
public struct SchemeTraits: Hashable, Sendable {
    /// Whether the scheme authenticates the connection rather than the request. All rounds must then use one
    /// connection, which belongs to this user afterwards.
    public var isConnectionBound: Bool

    /// Whether requests must be sent one at a time, each after the response to the previous one.
    public var requiresOrderedRequests: Bool

    /// Whether a user name and a password are required. False if the system knows the user (Kerberos).
    public var requiresUserNameAndPassword: Bool

    /// Whether the login uses a Windows domain in addition to the user name.
    public var requiresAccountDomain: Bool

    /// Whether the request with the most recent field value is certain to receive another challenge, whatever else it
    /// contains. Send it without its body.
    public var expectsAnotherChallenge: Bool

    /// Creates traits; the defaults are those of Basic.
    public init(
        isConnectionBound: Bool = false, requiresOrderedRequests: Bool = false,
        requiresUserNameAndPassword: Bool = true, requiresAccountDomain: Bool = false,
        expectsAnotherChallenge: Bool = false
    ) {
        self.expectsAnotherChallenge = expectsAnotherChallenge
        self.isConnectionBound = isConnectionBound
        self.requiresOrderedRequests = requiresOrderedRequests
        self.requiresUserNameAndPassword = requiresUserNameAndPassword
        self.requiresAccountDomain = requiresAccountDomain
    }
}
