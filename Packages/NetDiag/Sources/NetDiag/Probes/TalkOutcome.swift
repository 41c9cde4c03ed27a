/// The outcome of an exchange over a connection.
enum ExchangeOutcome: Sendable, Hashable {
    /// The connection is ready, with TLS if the target requires it, and the target's protocol needs no further exchange.
    case connected
    /// The TLS handshake failed.
    case tlsFailed(StreamError)
    /// The server sent an HTTP response.
    case answered(ExchangeAnswer)
    /// The redirects form a loop; `wantsCookie` if one of the responses set a cookie.
    case redirectLoop(to: String, wantsCookie: Bool)
    /// An FTP server sent a greeting with this code.
    case greeted(Int)
    /// The server speaks another protocol than the URL's.
    case wrongProtocol
    /// The server did not answer.
    case unanswered(StreamError)
    /// The proxy refused the connection with this HTTP status.
    case proxyRefused(status: Int)
    /// The handshake with the proxy failed.
    case proxyFailed(StreamError)
}

/// The relevant parts of an HTTP response.
struct ExchangeAnswer: Sendable, Hashable {
    var status: Int
    /// The value of the `Location` field.
    var location: String?
    /// The names of the authentication schemes that the server offers.
    var schemes: [String] = []
    /// The time of the server's clock, in seconds since 1970.
    var time: Int64?
    /// Whether the response sets a cookie.
    var setsCookie = false
    /// The body, if the target has a ``DiagnosisTarget/bodyLimit``.
    var body: [UInt8] = []

    init(status: Int, location: String? = nil, schemes: [String] = [], time: Int64? = nil, setsCookie: Bool = false) {
        self.status = status
        self.location = location
        self.schemes = schemes
        self.time = time
        self.setsCookie = setsCookie
    }
}
