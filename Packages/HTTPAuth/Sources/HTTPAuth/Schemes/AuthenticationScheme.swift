/// One scheme's conversation with one server for one user: challenges in, field values out, in as many rounds as the
/// scheme needs.
///
/// A conforming type is a machine (a struct): it reads no clock, random source or environment and never waits. What it
/// needs comes in an ``AuthenticationInput``; what may block comes out as ``AuthenticationStep/work(_:)``, and whoever
/// drives the machine runs it elsewhere and hands the outcome to ``resume(with:)``. ``HTTPAuthentication`` is the driver.
///
/// The order of calls, where each round is one request and its response:
///
/// ```
/// receive(challenge, answering: nil)   the 401 or 407 of a request without credentials
///   respond(to:with:) → send           the field of the next request
///                     → work → resume(with:) → send
/// receive(challenge, answering: sent)  401 again, to a request with this scheme's field
///                    → continues       the next leg of the same exchange (NTLM, Negotiate): respond again
///                    → fresh           as good as a first challenge (Digest, stale=true): respond again
///                    → refused         the credential is wrong
/// finish(acceptance)                   any other status: the server's own proof is checked
///   respond(to:with:) → send, nothing  the next request, without a new challenge
/// disconnected()                       the connection is gone; connection-bound schemes begin anew
/// ```
///
/// A scheme that cannot start (no library, no ticket) throws from ``receive(_:answering:)`` or the first
/// ``respond(to:with:)`` or ``resume(with:)``; the driver then takes the next scheme that the server offers, and says so when asked to explain.
/// Schemes of your own become an ``AuthenticationMethod``, and stand in a policy beside those of this package.
public protocol AuthenticationScheme: Sendable {
    /// What holds for this conversation now. Digest, for one, wants its requests in order once the server counts them.
    var traits: SchemeTraits { get }

    /// The realm of the challenge; nil if the scheme knows none.
    var realm: String? { get }

    /// The URIs, absolute or paths, for which the challenge says that it holds; nil if it does not say.
    var domain: [String]? { get }

    /// Takes a challenge of this scheme. `sent` is the field value that the refused request carried, nil if it carried
    /// none: several requests may be under way, so a machine tells by it, and not by what it did last, what was refused.
    ///
    /// Throws ``HTTPAuthError/Code/malformedChallenge``, ``HTTPAuthError/Code/unsupportedChallenge`` or
    /// ``HTTPAuthError/Code/unavailable`` if the conversation cannot begin or go on; the machine is then of no use.
    mutating func receive(
        _ challenge: Challenge, answering sent: [UInt8]?
    ) throws(HTTPAuthError) -> ChallengeVerdict

    /// What to put on the next request. `credential` is nil where ``SchemeTraits/requiresUserNameAndPassword`` is
    /// false. The driver has made sure that it belongs to `input.space`.
    mutating func respond(
        to input: AuthenticationInput, with credential: Credential?
    ) throws(HTTPAuthError) -> AuthenticationStep

    /// Goes on with what the work gave, which ``respond(to:with:)`` had asked for.
    mutating func resume(with output: BlockingWork.Output) throws(HTTPAuthError) -> AuthenticationStep

    /// Takes a final response to a request that carried this scheme's field.
    ///
    /// Throws ``HTTPAuthError/Code/serverNotAuthentic`` if the server had to prove that it knows the secret, and did not.
    mutating func finish(_ acceptance: Acceptance) throws(HTTPAuthError)

    /// The connection was closed, or the next request goes over another one: forgets what was bound to it.
    mutating func disconnected()
}

extension AuthenticationScheme {
    /// Nil.
    public var domain: [String]? { nil }

    /// Never called for a scheme that asks for no work: throws ``HTTPAuthError/Code/outOfOrder``.
    public mutating func resume(with output: BlockingWork.Output) throws(HTTPAuthError) -> AuthenticationStep {
        throw HTTPAuthError(.outOfOrder)
    }

    /// Checks nothing.
    public mutating func finish(_ acceptance: Acceptance) throws(HTTPAuthError) {}

    /// Forgets nothing.
    public mutating func disconnected() {}
}
