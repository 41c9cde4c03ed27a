internal import Glibc
internal import HTTPAuth
@_spi(Packages) internal import HTTPMessage
@_spi(Packages) internal import StreamKit

/// The conversation with an HTTP proxy that establishes a tunnel, whatever carries its messages: CONNECT (RFC 9110 §9.3.6). No I/O.
///
/// Theory of operation. If a session has credentials for the proxy, they are first added to the request, which may take time and is done as a
/// work item of the driver. A 2xx establishes the tunnel. Any other response is a refusal. A 407 that requires another leg of the same login is
/// answered over the same connection, if that is kept; a 407 that requires other credentials is a refusal, which the session handles. Without a
/// session, the proxy's own account answers the first 407: over the same connection, or over a new one if that is not kept.
struct ConnectConversation: Sendable {
    private enum State {
        /// The login has not yet made the field of the next request.
        case prepares
        case awaitsField
        case sends
        case awaitsResponse
        case refused(HTTPResponse)
        case established(HTTPResponse)
    }

    enum Step {
        case work(TunnelWork)
        case send(HTTPRequest)
        /// A response follows: call ``receive(_:mayContinue:)``.
        case receive
        case established(HTTPResponse)
    }

    private let source: HTTPProxy
    private let target: String
    private var login: TunnelLogin?
    /// The login with the proxy's own account; nil if a session logs in.
    private let own: ProxyAccountLogin?
    private var binding: ChannelBinding?
    private var request: HTTPRequest
    private var state: State
    /// The last response.
    private(set) var response: HTTPResponse?
    private var verdict: AuthenticationVerdict?
    private(set) var refusal: TunnelRefusal?

    /// - Throws: `EINVAL` if the proxy's fields do not form a valid request.
    init(_ proxy: HTTPProxy, _ target: TunnelTarget) throws(StreamError) {
        source = proxy
        self.target = target.description
        do throws(HTTPMessageError) {
            var request = try HTTPRequest(connectingTo: target.description)
            if !proxy.fields.contains(.userAgent) {
                try request.fields.set(RequestPreparation.userAgent.description, for: .userAgent)
            }
            for field in proxy.fields where field.name != .host {
                if proxy.login != nil, field.name == .proxyAuthorization { continue }
                try request.fields.append(field.value, for: field.name)
            }
            own = proxy.login == nil ? proxy.ownLogin : nil
            // Copies of a proxy share its account, even if they name another host: a login is valid only for the proxy that
            // required it.
            let known = proxy.login ?? own?.current.flatMap { $0.endpoint == proxy.space ? $0 : nil }
            login = known.map { TunnelLogin(for: $0, at: proxy.space) }
            // Without a login, the account is sent before a challenge if it allows that.
            if login == nil {
                let unasked = proxy.isSession ? proxy.unaskedLogin : own
                unasked?.sign(&request, for: proxy.space, body: .bytes([]))
            }
            self.request = request
            state = login == nil ? .sends : .prepares
        } catch {
            throw StreamError(
                posix: EINVAL,
                Sentence(
                    "proxy.request", "The proxy %1 cannot connect to %2: %3.", proxy.hostAndPort, target.description,
                    "\(error)"),
                underlying: error)
        }
    }

    mutating func next() throws(StreamError) -> Step {
        switch state {
        case .prepares:
            guard let login else { throw .closed }
            state = .awaitsField
            return .work(login.work(on: request))
        case .awaitsField:
            guard let login, let outcome = login.takeOutcome() else { throw .closed }
            do throws(HTTPAuthError) {
                request = try outcome.get()
            } catch {
                refusal = .request
                throw .proxyLogin(source, login.authentication, error)
            }
            state = .awaitsResponse
            return .send(request)
        case .sends:
            state = .awaitsResponse
            return .send(request)
        case .awaitsResponse: return .receive
        case .refused(let response): throw .tunnelRefused(source, target, response, verdict)
        case .established(let response): return .established(response)
        }
    }

    mutating func begin(overTLSBoundBy binding: [UInt8]?) {
        self.binding = binding.map { .tlsServerEndPoint($0) }
        login?.binding = self.binding
    }

    /// Processes the proxy's final response; that of a refusal has its body.
    ///
    /// - Parameter mayContinue: whether the connection can carry another request.
    mutating func receive(_ response: HTTPResponse, mayContinue: Bool) throws(StreamError) {
        self.response = response
        if response.status.kind == .successful {
            state = .established(response)
        } else {
            // 502, 503 and 504 mean that the target was not reached; any other status concerns the request.
            refusal = (502...504).contains(response.status.code) ? .address : .request
            state = .refused(response)
        }
        try judge(mayContinue: mayContinue)
    }

    /// Passes the proxy's response to the login, and continues the login if there is another leg.
    private mutating func judge(mayContinue: Bool) throws(StreamError) {
        guard let login else { return beginOwnLogin(mayContinue: mayContinue) }
        switch state {
        case .established(let head):
            do throws(HTTPAuthError) {
                _ = try login.judge(head, to: request)
            } catch {
                refusal = .request
                throw .proxyLogin(source, login.authentication, error)
            }
        case .refused(let head) where head.status == .proxyAuthenticationRequired:
            do throws(HTTPAuthError) {
                verdict = try login.judge(head, to: request)
            } catch {
                throw .proxyLogin(source, login.authentication, error)
            }
            if verdict != .apply, let own, let current = own.current { own.drop(current) }
            if verdict == .apply { continueLogin(mayContinue: mayContinue) }
        case .prepares, .awaitsField, .sends, .awaitsResponse, .refused: break
        }
    }

    /// Answers the first 407 with the proxy's own account, if that is possible.
    private mutating func beginOwnLogin(mayContinue: Bool) {
        guard case .refused(let head) = state, head.status == .proxyAuthenticationRequired, let own,
            let known = own.begin(head, answering: request.fields[.proxyAuthorization], from: source.space)
        else { return }
        let login = TunnelLogin(for: known, at: source.space)
        login.binding = binding
        self.login = login
        continueLogin(mayContinue: mayContinue)
    }

    /// Continues with the next leg of the login: here if the connection is kept. The own account may continue on a new
    /// connection.
    private mutating func continueLogin(mayContinue: Bool) {
        guard mayContinue else {
            if own != nil { refusal = .connection }
            return
        }
        refusal = nil
        state = .prepares
    }
}
