internal import HTTP2
@_spi(Packages) internal import HTTPMessage
internal import StreamKit

/// The exchange with an HTTP proxy that establishes a tunnel: a ``ConnectConversation``, whose messages are carried by HTTP/1.1, or by HTTP/2
/// if the proxy has chosen that by ALPN.
struct ConnectMachine: TunnelMachine {
    private var conversation: ConnectConversation
    private var carrier: any ConnectCarrier
    private let proxy: HTTPProxy
    private let target: String

    /// - Throws: `EINVAL` if the proxy's fields do not form a valid request.
    init(_ proxy: HTTPProxy, _ target: TunnelTarget) throws(StreamError) {
        conversation = try ConnectConversation(proxy, target)
        carrier = HTTP1ConnectCarrier(proxy)
        self.proxy = proxy
        self.target = target.description
    }

    mutating func begin(over tls: TLSInformation?, boundBy binding: [UInt8]?) {
        conversation.begin(overTLSBoundBy: binding)
        if let tls, tls.applicationProtocol == HTTPVersions.http2Protocol {
            carrier = HTTP2ConnectCarrier(proxy, isAdequate: tls.isAdequateForHTTP2)
        }
    }

    mutating func next() throws(StreamError) -> TunnelAction {
        switch try conversation.next() {
        case .work(let work): return .work(work)
        case .send(let request):
            try carrier.send(request)
            return .send(carrier.takeOutput())
        case .receive:
            let output = carrier.takeOutput()
            return output.isEmpty ? .receive(upTo: carrier.readSize) : .send(output)
        case .established(let response):
            let version = response.version == .http20 ? " over HTTP/2" : ""
            return .established("tunnel to \(target)\(version): \(response.status.code)", surplus: carrier.surplus)
        }
    }

    mutating func receive(_ bytes: [UInt8]) throws(StreamError) {
        if let answer = try carrier.receive(bytes) {
            try conversation.receive(answer.response, mayContinue: answer.mayContinue)
        }
    }

    mutating func receiveEnd() throws(StreamError) {
        try conversation.receive(try carrier.receiveEnd(), mayContinue: false)
    }

    func layer(over lower: any StreamTransport) -> (any StreamTransport)? { carrier.layer(over: lower) }

    var refusal: TunnelRefusal? { conversation.refusal }

    var properties: StreamProperties {
        var properties = StreamProperties()
        properties[.httpProxyResponse] = conversation.response
        return properties
    }
}

/// The messages of a ``ConnectConversation`` on a connection, as bytes of a version of HTTP. No I/O.
protocol ConnectCarrier: Sendable {
    /// The maximum number of bytes of one read.
    var readSize: Int { get }

    /// The bytes from the target that were received behind the response, if they pass as they are.
    var surplus: [UInt8] { get }

    /// Begins a request. ``takeOutput()`` returns its bytes.
    mutating func send(_ request: HTTPRequest) throws(StreamError)

    /// Returns the bytes to send now.
    mutating func takeOutput() -> [UInt8]

    /// Processes bytes from the proxy. Returns the final response once it is complete, which that of a tunnel is with its head.
    mutating func receive(_ bytes: [UInt8]) throws(StreamError) -> ConnectAnswer?

    /// Processes the end of the connection. Returns the response that it completes, which is a refusal.
    mutating func receiveEnd() throws(StreamError) -> HTTPResponse

    /// As for ``TunnelMachine``.
    func layer(over lower: any StreamTransport) -> (any StreamTransport)?
}

/// The final response to a CONNECT.
struct ConnectAnswer {
    let response: HTTPResponse
    /// Whether the connection can carry another request.
    let mayContinue: Bool
}

/// CONNECT over HTTP/1.1: a ``ConnectExchange`` for each request.
struct HTTP1ConnectCarrier: ConnectCarrier {
    let readSize = 4096
    private let proxy: String
    private let limits: HTTPLimits
    private var output: [UInt8] = []
    private var exchange: ConnectExchange

    init(_ proxy: HTTPProxy) {
        self.proxy = proxy.hostAndPort
        limits = proxy.limits
        exchange = HTTP1ConnectCarrier.exchange(limits)
    }

    var surplus: [UInt8] { exchange.surplus }

    mutating func send(_ request: HTTPRequest) {
        output = request.serialized()
        exchange = HTTP1ConnectCarrier.exchange(limits)
    }

    mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    mutating func receive(_ bytes: [UInt8]) throws(StreamError) -> ConnectAnswer? {
        do throws(HTTPMessageError) {
            guard let response = try exchange.receive(bytes) else { return nil }
            return ConnectAnswer(response: response, mayContinue: exchange.mayContinue)
        } catch {
            throw error.code == .tooManyInterimResponses
                ? .tunnelInterim(proxy, HTTPLimits.interimResponses) : .tunnelAnswerInvalid(proxy, error)
        }
    }

    mutating func receiveEnd() throws(StreamError) -> HTTPResponse {
        do throws(HTTPMessageError) {
            return try exchange.receiveEnd()
        } catch {
            throw .tunnelClosed(
                proxy, exchange.surplus.isEmpty ? "without a response" : "in the middle of its response")
        }
    }

    func layer(over lower: any StreamTransport) -> (any StreamTransport)? { nil }

    private static func exchange(_ limits: HTTPLimits) -> ConnectExchange {
        ConnectExchange(maximumBodyLength: HTTPProxy.maximumRefusalBodyLength, limits: limits)
    }
}
