public import FoundationEssentials
internal import HTTPMessage
internal import HostResolver
public import StreamKit

/// The tokens of the scheme Bearer (RFC 6750) for one origin, renewed when its server refuses them.
///
/// ```swift
/// var configuration = HTTPSession.Configuration()
/// configuration.bearerTokens = try BearerTokens(for: api) { refused in
///     try await login.newToken()
/// }
/// ```
///
/// A session asks for a token before its first request to the origin, and sends it with all its requests to the origin. After a 401, it
/// asks again and sends the request once more; if the new token is refused as well, the 401 is the response. Loads that run at the
/// same time share a token, and cause one renewal. A request with an `Authorization` of its own is sent as it is, and one with an empty
/// `Authorization` is sent without a token.
///
/// A token is sent to its origin only, in loads whose URL has that origin: not after a redirect to another host, port or scheme, and not
/// after a redirect from another origin. A load over `http` fails if its route leads through a proxy.
public struct BearerTokens: Sendable {
    /// The origin that receives the tokens.
    public let origin: HTTPOrigin

    /// How long a load waits for the closure. Default 30 seconds; set it to the time that a user needs if the closure asks one.
    ///
    /// The load then fails, and the closure continues: the loads that follow use its token.
    public var timeout: Duration = .seconds(30)

    private let token: @Sendable (_ refused: String?) async throws -> String?

    /// Makes the tokens for an origin.
    ///
    /// - Parameters:
    ///   - url: A URL of the origin; its path is ignored. The scheme is `https`, as RFC 6750 §5.3 requires, or `http` for an address of
    ///     this machine.
    ///   - token: Returns a token; nil if there is none: the session then sends no token, and treats a 401 as usual. The argument is
    ///     the token that the server has refused; nil for the first request. The closure runs in a task of its own, and is not called
    ///     again before it has returned, except after `HTTPSession.forgetCredentials()`. A load fails with its error, or with a time-out
    ///     when the load's own time or ``timeout`` is over; the token is then used by the loads that follow. Requests of the same session
    ///     within the closure, and within the closures that it waits for, are sent without a token. In a detached task or on a queue
    ///     they cannot be recognised: give them an empty `Authorization`, or they wait for the closure until ``timeout``.
    /// - Throws: An error of domain `StreamErrorDomain.http` for a URL that is not permitted.
    public init(
        for url: URL, token: @escaping @Sendable (_ refused: String?) async throws -> String?
    ) throws(StreamError) {
        origin = try HTTPOrigin(url)
        guard origin.isSecureWithoutProxy else {
            throw .badURL("bearer tokens require https.")
        }
        self.token = token
    }

    /// Returns a new token.
    func next(after refused: String?) async throws(StreamError) -> String? {
        let next: String?
        do {
            next = try await token(refused)
        } catch let error as StreamError {
            throw error
        } catch is CancellationError {
            throw .cancelled
        } catch {
            throw .noBearerToken("\(error)", underlying: error)
        }
        guard let next, next != refused else { return nil }
        guard BearerTokens.isToken(next) else { throw .noBearerToken("it contains an invalid character") }
        return next
    }

    /// Whether a text has the syntax `b64token` (RFC 6750 §2.1).
    private static func isToken(_ text: String) -> Bool {
        let core = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        return !core.isEmpty && text.utf8.dropFirst(core.count).allSatisfy { $0 == UInt8(ascii: "=") }
            && core.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-._~+/".utf8.contains(byte)
                }
            }
    }
}
