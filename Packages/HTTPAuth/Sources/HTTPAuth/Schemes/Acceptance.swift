public import HTTPMessage

/// What a final response says to the scheme whose field its request carried.
public struct Acceptance: Hashable, Sendable {
    /// The status: any but 401 (407 for a proxy).
    public var status: HTTPStatus

    /// The field value that the request carried.
    public var sent: [UInt8]

    /// A challenge of the scheme in the response: where Negotiate puts the server's own proof. Nil if there is none.
    public var challenge: Challenge?

    /// The parameters of `Authentication-Info`, or of `Proxy-Authentication-Info` (RFC 7615).
    public var info: [Challenge.Parameter]

    /// The body of the response.
    public var body: AuthenticationBody

    /// Makes an acceptance.
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
