internal import EventLoops
internal import HTTP2
internal import HTTPMessage
internal import StreamKit

/// CONNECT over HTTP/2 (RFC 9113 §8.5), on a connection that carries one tunnel only.
struct HTTP2ConnectCarrier: ConnectCarrier {
    let readSize = HTTP2ConnectLayer.readSize
    private let connection: HTTP2ConnectConnection
    /// The head and the body so far of a refusal.
    private var refusal: HTTPResponse?

    /// - Parameter isAdequate: whether TLS with the proxy may carry HTTP/2 (RFC 9113 §9.2.2); if not, the connection fails.
    init(_ proxy: HTTPProxy, isAdequate: Bool) {
        connection = HTTP2ConnectConnection(
            HTTP2ConnectCore(proxy.hostAndPort, proxy.limits, isAdequate: isAdequate, now: .now))
    }

    /// It belongs to the layer.
    var surplus: [UInt8] { [] }

    mutating func send(_ request: HTTPRequest) throws(StreamError) {
        refusal = nil
        try connection.core.withLock { (core) throws(StreamError) in try core.request(request, now: .now) }
    }

    mutating func takeOutput() -> [UInt8] { connection.core.withLock { $0.takeOutput() } }

    mutating func receive(_ bytes: [UInt8]) throws(StreamError) -> ConnectAnswer? {
        connection.core.withLock { $0.receive(bytes.span.bytes, now: .now) }
        return try answer()
    }

    mutating func receiveEnd() throws(StreamError) -> HTTPResponse {
        connection.core.withLock { $0.receive(RawSpan(), now: .now) }
        guard let answer = try answer() else { throw .closed }
        return answer.response
    }

    func layer(over lower: any StreamTransport) -> (any StreamTransport)? { HTTP2ConnectLayer(connection, over: lower) }

    /// Returns the response once it is complete: a successful one with its head, a refusal with as much of its body as is kept.
    private mutating func answer() throws(StreamError) -> ConnectAnswer? {
        let head = refusal
        let (next, answer) = try connection.core.withLock {
            (core) throws(StreamError) -> (refusal: HTTPResponse?, ConnectAnswer?) in
            var next = head
            if next == nil { next = try core.takeResponse() }
            guard var response = next else { return (nil, nil) }
            if response.status.kind != .successful,
                !core.readBody(into: &response.body, upTo: HTTPProxy.maximumRefusalBodyLength, now: .now)
            {
                return (response, nil)
            }
            return (nil, ConnectAnswer(response: response, mayContinue: core.mayContinue))
        }
        refusal = next
        return answer
    }
}
