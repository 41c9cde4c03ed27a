internal import Glibc
internal import HTTPMessage
internal import StreamKit

/// The conversation with an HTTP proxy that ends in a tunnel: CONNECT (RFC 9110 §9.3.6; RFC 9112 §3.2.3).
///
/// Theory of operation. One request; then heads are parsed out of what has come until one is final. A 2xx has no body,
/// whatever its fields say, and what stands behind its head is the target's. Any other answer is a refusal; its body is
/// read as far as it is framed, up to a limit, because proxies explain themselves there.
struct ConnectMachine: TunnelMachine {
    private enum State {
        case sends([UInt8])
        case receivesHead
        case receivesBody(HTTPResponse, BodyDecoder, body: [UInt8])
        case refused(HTTPResponse)
        case established(HTTPResponse)
    }

    /// How much is read at once.
    private static let readSize = 4096

    private let proxy: String
    private let target: String
    private let limits: HTTPLimits
    private var state: State
    private var parser: HeadParser
    private var received: [UInt8] = []
    private var interimCount = 0
    private var response: HTTPResponse?
    private(set) var refusal: TunnelRefusal?

    /// - Throws: `EINVAL` if the proxy's fields make no request.
    init(_ proxy: HTTPProxy, _ target: TunnelTarget) throws(StreamError) {
        self.proxy = proxy.place
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
                try request.fields.set(RequestPreparation.userAgent, for: .userAgent)
            }
            for field in proxy.fields where field.name != .host {
                try request.fields.append(field.value, for: field.name)
            }
            state = .sends(request.serialized())
        } catch {
            throw StreamError(
                posix: EINVAL,
                Sentence(
                    "proxy.request", "The proxy %1 cannot be asked for %2: %3.", proxy.place, target.description,
                    "\(error)"),
                underlying: error)
        }
    }

    mutating func next() throws(StreamError) -> TunnelAction {
        switch state {
        case .sends(let bytes):
            state = .receivesHead
            return .send(bytes)
        case .receivesHead, .receivesBody:
            return .receive(upTo: ConnectMachine.readSize)
        case .refused(let response):
            throw .tunnelRefused(proxy, target, response)
        case .established(let response):
            return .established("tunnel to \(target): \(response.status.code)", surplus: received)
        }
    }

    mutating func receive(_ bytes: [UInt8]) throws(StreamError) {
        received += bytes
        do throws(HTTPMessageError) {
            if case .receivesHead = state { try parseHeads() }
            if case .receivesBody(let head, var decoder, let body) = state {
                try collect(head, &decoder, body)
            }
        } catch {
            throw .tunnelAnswerInvalid(proxy, error)
        }
        guard interimCount <= HTTPLimits.interimResponses else {
            throw .tunnelInterim(proxy, HTTPLimits.interimResponses)
        }
    }

    mutating func receiveEnd() throws(StreamError) {
        switch state {
        case .receivesBody(let head, _, let body):
            // Cut short or not: that it is a refusal is known.
            refuse(head, body)
        default:
            throw .tunnelBrokeOff(proxy, received.isEmpty ? "without an answer" : "in the middle of its answer")
        }
    }

    var properties: StreamProperties {
        var properties = StreamProperties()
        properties[.httpProxyResponse] = response
        return properties
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
