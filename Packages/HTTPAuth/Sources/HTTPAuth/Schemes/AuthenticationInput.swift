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

/// The body of a message, which some schemes sign or verify.
public enum AuthenticationBody: Hashable, Sendable {
    /// The complete body; empty if there is none.
    case bytes([UInt8])
    /// The body is streamed and not known yet.
    case unknown
}

/// A value that binds a login to its TLS connection, so that it cannot be relayed over another connection.
///
/// The streams of StreamKit provide both kinds.
public enum ChannelBinding: Hashable, Sendable {
    /// The hash of the server's certificate (RFC 5929 §4), which Windows calls Extended Protection.
    case tlsServerEndPoint([UInt8])
    /// 32 bytes of keying material exported from the connection (RFC 9266).
    case tlsExporter([UInt8])

    /// The application data for GSSAPI and NTLM: the name of the kind, a colon and the bytes.
    public var applicationData: [UInt8] {
        switch self {
        case .tlsServerEndPoint(let hash): Array("tls-server-end-point:".utf8) + hash
        case .tlsExporter(let bytes): Array("tls-exporter:".utf8) + bytes
        }
    }
}

/// A final response to a request that carried a scheme's field.
public struct Acceptance: Hashable, Sendable {
    /// The status: any except the one that asks for authentication (401, or 407 for a proxy).
    public var status: HTTPStatus

    /// The field value of the request.
    public var sent: [UInt8]

    /// A challenge of the scheme in the response, which carries the server's proof in Negotiate; nil if there is none.
    public var challenge: Challenge?

    /// The parameters of `Authentication-Info` or `Proxy-Authentication-Info` (RFC 7615).
    public var info: [Challenge.Parameter]

    /// The body of the response.
    public var body: AuthenticationBody

    /// Creates an acceptance.
    public init(
        status: HTTPStatus, sent: [UInt8], challenge: Challenge? = nil, info: [Challenge.Parameter] = [],
        body: AuthenticationBody = .unknown
    ) {
        self.status = status
        self.sent = sent
        self.challenge = challenge
        self.info = info
        self.body = body
    }
}
