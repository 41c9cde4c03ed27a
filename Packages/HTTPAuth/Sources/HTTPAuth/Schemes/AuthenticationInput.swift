public import HTTPMessage

/// What a scheme must not get for itself: the request that it is to sign, the connection, time, and random bytes.
public struct AuthenticationInput: Sendable {
    /// The method of the request.
    public var method: HTTPMethod

    /// The target of the request, exactly as it will be sent.
    public var target: RequestTarget

    /// The body of the request.
    public var body: AuthenticationBody

    /// Who asks for authentication.
    public var space: ProtectionSpace

    /// Whether the application named the server or proxy itself; false for one that a redirect led to.
    public var isNamed: Bool

    /// What binds the conversation to the TLS connection; nil without TLS, or if the caller does not know it.
    public var channelBinding: ChannelBinding?

    /// Nanoseconds since 1970-01-01 00:00 UTC.
    public var time: Int64

    /// 32 random bytes, fresh for each call.
    public var random: [UInt8]

    /// Makes an input.
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
