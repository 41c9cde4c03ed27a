public import HTTPMessage

/// A request on a stream of HTTP/2: a head and what HTTP/1.1 does not carry in one.
///
/// ```swift
/// var head = try HTTPRequest(method: .get, target: "/index.html")
/// try head.fields.set("example.org", for: .host)
/// let request = HTTP2Request(head, scheme: "https")
/// ```
public struct HTTP2Request: Hashable, Sendable {
    /// The method, the target and the fields.
    ///
    /// `Host` stands for `:authority`. For an extended CONNECT (RFC 8441), this is the `GET` request that HTTP/1.1 would send
    /// with `Upgrade`, and ``connectProtocol`` stands for that field.
    public var head: HTTPRequest

    /// The scheme of the target's URL, `https` or `http`. Empty for `CONNECT`.
    public var scheme: String

    /// The protocol of an extended CONNECT, such as `websocket`; nil for all other requests.
    public var connectProtocol: String?

    /// The priority, which a client sends as the field `Priority` (RFC 9218 §5). The default priority is not sent.
    public var priority: HTTP2Priority
}

extension HTTP2Request {
    /// Creates a request.
    public init(
        _ head: HTTPRequest, scheme: String, connectProtocol: String? = nil, priority: HTTP2Priority = HTTP2Priority()
    ) {
        self.init(head: head, scheme: scheme, connectProtocol: connectProtocol, priority: priority)
    }
}
