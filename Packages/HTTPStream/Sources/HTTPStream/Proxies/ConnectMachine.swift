internal import Glibc
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// The exchange with an HTTP proxy that establishes a tunnel: CONNECT (RFC 9110 §9.3.6; RFC 9112 §3.2.3).
///
/// Theory of operation. One request is sent; then HTTPMessage's `FinalHeadParser` parses heads until one is final. A 2xx has no body,
/// regardless of its fields, and the bytes behind its head belong to the target. Any other response is a refusal; its body is read as
/// far as it is framed, up to a limit, because proxies explain the refusal there.
///
/// If a session has credentials for the proxy, they are first added to the request, which may take time and is done as a work
/// item of the driver. A 407 that requires another leg of the same login is answered over the same connection, if that is kept; a
/// 407 that requires other credentials is a refusal, which the session handles. Without a session, the proxy's own account
/// answers the first 407: over the same connection, or over a new one if that is not kept.
struct ConnectMachine: TunnelMachine {
    private enum State {
        /// The login has not yet made the field of the next request.
        case prepares
        case awaitsField
        case sends
        case receivesHead
        case receivesBody(HTTPResponse, BodyDecoder, body: [UInt8])
        case refused(HTTPResponse)
        case established(HTTPResponse)
    }

    /// The maximum number of bytes of one read.
    private static let readSize = 4096

    private let source: HTTPProxy
    private let target: String
    private let limits: HTTPLimits
    private var login: TunnelLogin?
    /// The login with the proxy's own account; nil if a session logs in.
    private let own: ProxyAccountLogin?
    private var binding: ChannelBinding?
    private var request: HTTPRequest
    private var state: State
    private var parser: FinalHeadParser
    /// The bytes behind the final head that are not yet decoded.
    private var received: [UInt8] = []
    private var response: HTTPResponse?
    /// Whether the refusal was read to its end, so that its connection can carry another request.
    private var isWhole = false
    private var verdict: AuthenticationVerdict?
    private(set) var refusal: TunnelRefusal?

    /// - Throws: `EINVAL` if the proxy's fields do not form a valid request.
    init(_ proxy: HTTPProxy, _ target: TunnelTarget) throws(StreamError) {
        source = proxy
        self.target = target.description
        limits = proxy.limits
        parser = FinalHeadParser(limits: proxy.limits, leniency: .client)
        do throws(HTTPMessageError) {
            guard let authority = RequestTarget(authority: target.description) else {
                throw HTTPMessageError(.invalidTarget, fault: .caller)
            }
            var request = try HTTPRequest(method: .connect, target: authority)
            try request.fields.set(target.description, for: .host)
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

    mutating func next() throws(StreamError) -> TunnelAction {
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
            state = .receivesHead
            return .send(request.serialized())
        case .sends:
            state = .receivesHead
            return .send(request.serialized())
        case .receivesHead, .receivesBody:
            return .receive(upTo: ConnectMachine.readSize)
        case .refused(let response):
            throw .tunnelRefused(source, target, response, verdict)
        case .established(let response):
            return .established("tunnel to \(target): \(response.status.code)", surplus: received)
        }
    }

    mutating func begin(overTLSBoundBy binding: [UInt8]?) {
        self.binding = binding.map { .tlsServerEndPoint($0) }
        login?.binding = self.binding
    }

    mutating func receive(_ bytes: [UInt8]) throws(StreamError) {
        do throws(HTTPMessageError) {
            if case .receivesHead = state { try parseHead(bytes) } else { received += bytes }
            if case .receivesBody(let head, var decoder, let body) = state {
                try collect(head, &decoder, body)
            }
        } catch {
            throw error.code == .tooManyInterimResponses
                ? .tunnelInterim(source.hostAndPort, HTTPLimits.interimResponses)
                : .tunnelAnswerInvalid(source.hostAndPort, error)
        }
        try judge()
    }

    mutating func receiveEnd() throws(StreamError) {
        switch state {
        case .receivesBody(let head, _, let body):
            // Even if the body is incomplete, the response is known to be a refusal.
            refuse(head, body)
            try judge(isOver: true)
        default:
            throw .tunnelClosed(
                source.hostAndPort, parser.surplus.isEmpty ? "without a response" : "in the middle of its response")
        }
    }

    var properties: StreamProperties {
        var properties = StreamProperties()
        properties[.httpProxyResponse] = response
        return properties
    }

    /// Passes the proxy's response to the login, and continues the login if there is another leg.
    private mutating func judge(isOver: Bool = false) throws(StreamError) {
        guard let login else { return beginOwnLogin(isOver: isOver) }
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
            if verdict == .apply { continueLogin(after: head, isOver: isOver) }
        case .prepares, .awaitsField, .sends, .receivesHead, .receivesBody, .refused: break
        }
    }

    /// Answers the first 407 with the proxy's own account, if that is possible.
    private mutating func beginOwnLogin(isOver: Bool) {
        guard case .refused(let head) = state, head.status == .proxyAuthenticationRequired, let own,
            let known = own.begin(head, answering: request.fields[.proxyAuthorization], from: source.space)
        else { return }
        let login = TunnelLogin(for: known, at: source.space)
        login.binding = binding
        self.login = login
        continueLogin(after: head, isOver: isOver)
    }

    /// Continues with the next leg of the login: here if the connection is kept. The own account may continue on a new
    /// connection.
    private mutating func continueLogin(after head: HTTPResponse, isOver: Bool) {
        guard !isOver, head.isPersistent, isWhole, received.isEmpty else {
            if own != nil { refusal = .connection }
            return
        }
        refusal = nil
        parser = FinalHeadParser(limits: limits, leniency: .client)
        state = .prepares
    }

    private mutating func parseHead(_ bytes: [UInt8]) throws(HTTPMessageError) {
        guard let head = try parser.receive(bytes) else { return }
        received = parser.surplus
        switch head.status.code {
        case 101: throw HTTPMessageError(.invalidStatusCode, fault: .peer)
        case 200..<300:
            response = head
            state = .established(head)
        default:
            let framing = try BodyFraming.of(head, to: .connect, leniency: .client)
            state = .receivesBody(head, BodyDecoder(framing, limits: limits, leniency: .client), body: [])
        }
    }

    private mutating func collect(
        _ head: HTTPResponse, _ decoder: inout BodyDecoder, _ earlier: [UInt8]
    ) throws(HTTPMessageError) {
        var body = earlier
        var used = 0
        while body.count < HTTPProxy.refusalBodyLimit, !decoder.isComplete {
            let limit = HTTPProxy.refusalBodyLimit - body.count
            let event = try decoder.next(in: received.span.bytes, at: &used, upTo: limit)
            guard case .payload(let range) = event else { break }
            body += received[range]
            used = range.upperBound
        }
        received.removeFirst(min(used, received.count))
        if decoder.isComplete || body.count >= HTTPProxy.refusalBodyLimit {
            isWhole = decoder.isComplete && decoder.framing.endsByItself
            refuse(head, body)
        } else {
            state = .receivesBody(head, decoder, body: body)
        }
    }

    private mutating func refuse(_ head: HTTPResponse, _ body: [UInt8]) {
        var whole = head
        whole.body = body
        response = whole
        // 502, 503 and 504 mean that the target was not reached; any other status concerns the request.
        refusal = (502...504).contains(head.status.code) ? .address : .request
        state = .refused(whole)
    }
}
