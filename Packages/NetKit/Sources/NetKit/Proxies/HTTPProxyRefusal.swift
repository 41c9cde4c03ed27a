internal import HTTPAuth
public import HTTPMessage
internal import StreamKit

/// An HTTP proxy's answer to a request for a tunnel, when it was no: the underlying error of the stream's.
///
/// ```swift
/// catch where (error.underlying as? HTTPProxyRefusal)?.response.status == .proxyAuthenticationRequired { … }
/// ```
public struct HTTPProxyRefusal: Error, Hashable, Sendable {
    /// The proxy, as `host:port`.
    public let proxy: String

    /// Its answer, with as much of the body as ``HTTPProxy/refusalBodyLimit`` allows.
    ///
    /// Whatever it says is the proxy's word, and not the target's: never show it as if it were.
    public let response: HTTPResponse

    /// The proxy itself.
    let source: HTTPProxy

    /// What the session's credentials came to, if the proxy was told any.
    let verdict: AuthenticationVerdict?
}

/// Credentials for a proxy could not even be made: the underlying error of the stream's.
struct ProxyLoginFailure: Error {
    let proxy: HTTPProxy
    /// The conversation in which it happened, which may be about to go on with another scheme.
    let authentication: HTTPAuthentication
    let error: HTTPAuthError
}

extension StreamError {
    /// The failures of proxies have numbers among `CFNetworkErrors`; CFStream has none for them.
    static func proxy(
        _ number: HTTPErrorNumber.ProxyError, _ sentence: Sentence, underlying: (any Error)? = nil
    ) -> StreamError {
        StreamError(domain: .http, code: number.rawValue, sentence: sentence, underlying: underlying)
    }

    static func tunnelRefused(
        _ source: HTTPProxy, _ target: String, _ response: HTTPResponse, _ verdict: AuthenticationVerdict?
    ) -> StreamError {
        let proxy = source.place
        let status = response.reason.isEmpty ? "\(response.status.code)" : "\(response.status.code) \(response.reason)"
        let refusal = HTTPProxyRefusal(proxy: proxy, response: response, source: source, verdict: verdict)
        return response.status.code == 407
            ? .proxy(
                .badCredentials,
                Sentence(
                    "proxy.authentication", "The proxy %1 requires a login for %2: %3.", proxy, target, status),
                underlying: refusal)
            : .proxy(
                .tunnelConnectionFailure,
                Sentence("proxy.refused", "The proxy %1 refused to connect to %2: %3.", proxy, target, status),
                underlying: refusal)
    }

    static func proxyLogin(
        _ proxy: HTTPProxy, _ authentication: HTTPAuthentication, _ error: HTTPAuthError
    ) -> StreamError {
        .proxy(
            .badCredentials,
            Sentence("proxy.login", "The login to the proxy %1 failed: %2.", proxy.place, error.description),
            underlying: ProxyLoginFailure(proxy: proxy, authentication: authentication, error: error))
    }

    static func tunnelAnswerInvalid(_ proxy: String, _ error: HTTPMessageError) -> StreamError {
        .proxy(
            .unexpectedResponseToConnect,
            Sentence("proxy.notHTTP", "The proxy %1 sent a response that is not valid HTTP: %2.", proxy, "\(error)"),
            underlying: error)
    }

    static func tunnelBrokeOff(_ proxy: String, _ step: String) -> StreamError {
        .proxy(
            .tunnelConnectionFailure, Sentence("proxy.brokeOff", "The proxy %1 closed the connection %2.", proxy, step))
    }

    static func tunnelInterim(_ proxy: String, _ count: Int) -> StreamError {
        .proxy(
            .unexpectedResponseToConnect,
            Sentence("proxy.interim", "The proxy %1 sent more than %2 interim responses.", proxy, "\(count)"))
    }
}
