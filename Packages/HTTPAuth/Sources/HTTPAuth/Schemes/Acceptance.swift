public import HTTPMessage

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
