internal import EventLoops
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// The login to a proxy for one tunnel: makes the fields of its requests, and evaluates the responses.
///
/// A scheme that authenticates connections has its own authentication for each tunnel; one that authenticates requests shares its
/// state.
final class TunnelLogin: Sendable {
    let authentication: HTTPAuthentication
    private let login: HTTPLogin
    private let proxy: ProtectionSpace
    private struct State {
        var binding: ChannelBinding?
        var outcome: Result<HTTPRequest, HTTPAuthError>?
    }
    private let state = Locked(State())

    /// - Parameter proxy: the proxy that receives the credentials.
    init(for login: HTTPLogin, at proxy: ProtectionSpace) {
        self.login = login
        self.proxy = proxy
        authentication = login.forTunnel()
    }

    /// The channel binding of the TLS connection with the proxy.
    var binding: ChannelBinding? {
        get { state.withLock { $0.binding } }
        set { state.withLock { $0.binding = newValue } }
    }

    /// Adds credentials to a request, which may involve a ticket server; ``takeOutcome()`` then returns the request.
    func work(on request: HTTPRequest) -> TunnelWork {
        TunnelWork { [self] done in
            Task {
                var signed = request
                let outcome: Result<HTTPRequest, HTTPAuthError>
                do throws(HTTPAuthError) {
                    try await authentication.apply(
                        to: &signed, login.credential, channelBinding: binding, through: proxy)
                    outcome = .success(signed)
                } catch {
                    outcome = .failure(error)
                }
                state.withLock { $0.outcome = outcome }
                done()
            }
        }
    }

    func takeOutcome() -> Result<HTTPRequest, HTTPAuthError>? { state.withLock { $0.outcome.take() } }

    /// Evaluates a response.
    func judge(_ response: HTTPResponse, to request: HTTPRequest) throws(HTTPAuthError) -> AuthenticationVerdict {
        let verdict = try authentication.update(with: response, to: request)
        if verdict == .accepted { login.accept() }
        return verdict
    }
}
