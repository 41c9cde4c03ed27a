public import HTTPMessage

/// The inputs of a scheme, which must not obtain them itself: the request to sign, the connection, the time and random
/// bytes.
public struct AuthenticationInput: Sendable {
    /// The method of the request.
    public var method: HTTPMethod

    /// The target of the request, exactly as it will be sent.
    public var target: RequestTarget

    /// The body of the request.
    public var body: AuthenticationBody

    /// The protection space that asks for authentication.
    public var space: ProtectionSpace

    /// Whether the application named the server or proxy; false if a redirect chose it.
    public var isNamed: Bool

    /// The binding to the TLS connection; nil without TLS or if it is unknown.
    public var channelBinding: ChannelBinding?

    /// Nanoseconds since 1970-01-01 00:00 UTC.
    public var time: Int64

    /// 32 random bytes, new for each call.
    public var random: [UInt8]

    /// Creates an input.
    public init(
        method: HTTPMethod, target: RequestTarget, body: AuthenticationBody, space: ProtectionSpace,
        isNamed: Bool = true, channelBinding: ChannelBinding? = nil, time: Int64, random: [UInt8]
    ) {
        self.method = method
        self.target = target
        self.body = body
        self.space = space
        self.isNamed = isNamed
        self.channelBinding = channelBinding
        self.time = time
        self.random = random
    }
}
