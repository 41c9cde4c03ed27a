internal import EventLoops
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// The login to a proxy, for one tunnel: makes the fields of its requests, and hears the answers.
///
/// A scheme that authenticates connections has a conversation of its own for each tunnel; one that authenticates requests
/// shares what it has learned.
final class ProxyLogin: Sendable {
    let authentication: HTTPAuthentication
    private let known: KnownAuthentication
    private let proxy: ProtectionSpace
    private struct State {
        var binding: ChannelBinding?
        var outcome: Result<HTTPRequest, HTTPAuthError>?
    }
    private let state = Locked(State())

    /// - Parameter proxy: the proxy that is sent the credentials.
    init(for known: KnownAuthentication, at proxy: ProtectionSpace) {
        self.known = known
        self.proxy = proxy
        authentication = known.forTunnel()
    }

    /// What ties it to the TLS connection with the proxy.
    var binding: ChannelBinding? {
        get { state.withLock { $0.binding } }
        set { state.withLock { $0.binding = newValue } }
    }

    /// Puts credentials on a request, which may mean to ask somebody; then ``takeOutcome()`` has it.
    func work(on request: HTTPRequest) -> TunnelWork {
        TunnelWork { [self] done in
            Task {
                var signed = request
                let outcome: Result<HTTPRequest, HTTPAuthError>
                do throws(HTTPAuthError) {
                    try await authentication.apply(
                        to: &signed, known.credential, channelBinding: binding, through: proxy)
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

    /// Takes the answer.
    func judge(_ response: HTTPResponse, to request: HTTPRequest) throws(HTTPAuthError) -> AuthenticationVerdict {
        let verdict = try authentication.update(with: response, to: request)
        if verdict == .accepted { known.accept() }
        return verdict
    }
}
