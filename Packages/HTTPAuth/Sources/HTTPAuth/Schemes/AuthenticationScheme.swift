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
///                    → continues       the next leg of the exchange (NTLM, Negotiate): call respond again
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
    /// The current traits of the conversation. They can change: Digest requires ordered requests once the server counts
    /// them.
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
    /// - Parameter sent: The field value of the challenged request; nil if it had none.
    /// - Throws: ``HTTPAuthError/Code/malformedChallenge``, ``HTTPAuthError/Code/unsupportedChallenge`` or
    ///   ``HTTPAuthError/Code/unavailable`` if the conversation cannot start or continue. It must not be used
    ///   afterwards.
    mutating func receive(
        _ challenge: Challenge, answering sent: [UInt8]?
    ) throws(HTTPAuthError) -> ChallengeVerdict

    /// Returns what to put on the next request. `credential` is nil if ``SchemeTraits/requiresUserNameAndPassword`` is
    /// false. The driver has checked that it belongs to `input.space`.
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
