internal import Glibc
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// The conversation with an HTTP proxy that ends in a tunnel: CONNECT (RFC 9110 §9.3.6; RFC 9112 §3.2.3).
///
/// Theory of operation. One request; then heads are parsed out of what has come until one is final. A 2xx has no body,
/// whatever its fields say, and what stands behind its head is the target's. Any other answer is a refusal; its body is
/// read as far as it is framed, up to a limit, because proxies explain themselves there.
///
/// Where a session has credentials for the proxy, they are put on the request first, which may take a while and is done
/// elsewhere. A 407 that asks for another leg of the same login is answered over the same connection, if that is kept; one
/// that asks for other credentials is a refusal, and the session's business. Without a session, the proxy's own account
/// answers the first 407: over the same connection, or over a new one if that is not kept.
struct ConnectMachine: TunnelMachine {
    private enum State {
        /// The login is to be asked for a field.
        case prepares
        case awaitsField
        case sends
        case receivesHead
        case receivesBody(HTTPResponse, BodyDecoder, body: [UInt8])
        case refused(HTTPResponse)
        case established(HTTPResponse)
    }

    /// How much is read at once.
    private static let readSize = 4096

    private let source: HTTPProxy
    private let target: String
    private let limits: HTTPLimits
    private var login: ProxyLogin?
    /// The login belongs to the proxy's own account, and to no session.
    private let own: ProxyAccountLogin?
    private var binding: ChannelBinding?
    private var request: HTTPRequest
    private var state: State
    private var parser: HeadParser
    private var received: [UInt8] = []
    private var interimCount = 0
    private var response: HTTPResponse?
    /// The refusal was read to its end, and its connection can carry another request.
    private var isWhole = false
    private var verdict: AuthenticationVerdict?
    private(set) var refusal: TunnelRefusal?

    /// - Throws: `EINVAL` if the proxy's fields make no request.
    init(_ proxy: HTTPProxy, _ target: TunnelTarget) throws(StreamError) {
        source = proxy
        self.target = target.description
        limits = proxy.limits
        parser = HeadParser(.response, limits: proxy.limits, leniency: .client)
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
            // Copies of a proxy share its account, also if they name another host: a login is for the proxy that asked for it.
            let known = proxy.login ?? own?.current.flatMap { $0.place == proxy.space ? $0 : nil }
            login = known.map { ProxyLogin(for: $0, at: proxy.space) }
            // The account is sent unasked here, if at all.
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
                    "proxy.request", "The proxy %1 cannot connect to %2: %3.", proxy.place, target.description,
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
        received += bytes
        do throws(HTTPMessageError) {
            if case .receivesHead = state { try parseHeads() }
            if case .receivesBody(let head, var decoder, let body) = state {
                try collect(head, &decoder, body)
            }
        } catch {
            throw .tunnelAnswerInvalid(source.place, error)
        }
        try judge()
        guard interimCount <= HTTPLimits.interimResponses else {
            throw .tunnelInterim(source.place, HTTPLimits.interimResponses)
        }
    }

    mutating func receiveEnd() throws(StreamError) {
        switch state {
        case .receivesBody(let head, _, let body):
            // Cut short or not: that it is a refusal is known.
            refuse(head, body)
            try judge(isOver: true)
        default:
            throw .tunnelBrokeOff(
                source.place, received.isEmpty ? "without a response" : "in the middle of its response")
        }
    }

    var properties: StreamProperties {
        var properties = StreamProperties()
        properties[.httpProxyResponse] = response
        return properties
    }

    /// Tells the login what the proxy answered, and goes on with it where it is to go on.
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
            if verdict == .apply { goOn(after: head, isOver: isOver) }
        case .prepares, .awaitsField, .sends, .receivesHead, .receivesBody, .refused: break
        }
    }

    /// Answers the first 407 with the proxy's own account, if it can.
    private mutating func beginOwnLogin(isOver: Bool) {
        guard case .refused(let head) = state, head.status == .proxyAuthenticationRequired, let own,
            let known = own.begin(head, answering: request.fields[.proxyAuthorization], from: source.space)
        else { return }
        let login = ProxyLogin(for: known, at: source.space)
        login.binding = binding
        self.login = login
        goOn(after: head, isOver: isOver)
    }

    /// Says the next leg of the login: here if the connection is kept. The own account may say it on a new one.
    private mutating func goOn(after head: HTTPResponse, isOver: Bool) {
        guard !isOver, head.isPersistent, isWhole, received.isEmpty else {
            if own != nil { refusal = .connection }
            return
        }
        refusal = nil
        interimCount = 0
        state = .prepares
    }

    private mutating func parseHeads() throws(HTTPMessageError) {
        while interimCount <= HTTPLimits.interimResponses {
            let bytes = received
            guard case .complete = try parser.parse(bytes.span.bytes) else { return }
            let head = try parser.makeResponse(from: bytes.span.bytes)
            received.removeFirst(min(parser.byteCount ?? bytes.count, bytes.count))
            parser.reset()
            switch head.status.code {
            case 101: throw HTTPMessageError(.invalidStatusCode, fault: .peer)
            case ..<200: interimCount += 1
            case 200..<300:
                response = head
                state = .established(head)
                return
            default:
                let framing = try BodyFraming.of(head, to: .connect, leniency: .client)
                state = .receivesBody(head, BodyDecoder(framing, limits: limits, leniency: .client), body: [])
                return
            }
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
        // 502, 503 and 504 say that the target was not reached; anything else is about the request.
        refusal = (502...504).contains(head.status.code) ? .address : .request
        state = .refused(whole)
    }
}
