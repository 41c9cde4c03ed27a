internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// What a load knows of the proxies on its way.
///
/// Beside the load, because most have none: what stands in a load is moved and destroyed with each of them.
final class ProxyProgress: @unchecked Sendable {
    // Unchecked: it belongs to one load and is reached through it alone, by whoever holds that load's lock.

    /// What to try for the origin; empty before the first connection, and without proxies.
    var approaches: ArraySlice<HTTPApproach> = []
    /// What a script says about the URL, once it was asked.
    var decision: ProxyDecision?
    /// What the last proxy said when it was asked for a tunnel.
    var response: HTTPResponse?
    /// The only proxy, if the caller has brought credentials for it.
    var owner: HTTPProxy?
    /// Whose word the answer is, if it is a proxy's or came through one that takes requests.
    var answering: HTTPProxy?
    /// What binds a login to the TLS connection with it.
    var binding: [UInt8]?
    /// What became of the login to the proxy that refused a tunnel.
    var verdict: AuthenticationVerdict?

    /// The request as the proxy got it that takes requests, if its own account may log in.
    var signed: HTTPRequest?
    /// The next hop is the same request, with what the proxy has asked for.
    var repeats = false
    /// How often the request to the present URL was sent again because a proxy asked for a login.
    var logins = 0

    /// Forgets how the last URL was got near to: another one is next.
    func turnToNextURL() {
        approaches = []
        decision = nil
        answering = nil
        logins = 0
    }
}
