internal import Glibc
internal import HTTPMessage

/// The outcome of a probe of the target's service over a connection.
enum ServiceOutcome: Sendable, Hashable {
    /// The connection is ready, with TLS if the target requires it, and the target's protocol asks for nothing further.
    case connected
    /// The TLS handshake failed.
    case tlsFailed(StreamError)
    /// The server sent an HTTP response.
    case answered(ServiceAnswer)
    /// The redirects form a loop; `wantsCookie` if one of the responses set a cookie.
    case redirectLoop(to: String, wantsCookie: Bool)
    /// An FTP server sent a greeting with this code.
    case greeted(Int)
    /// The server speaks another protocol than the URL's.
    case wrongProtocol
    /// The port expects TLS, which the URL does not use.
    case expectsTLS
    /// The server did not answer.
    case unanswered(StreamError)
    /// The proxy refused the connection with this HTTP status.
    case proxyRefused(status: Int)
    /// The handshake with the proxy failed.
    case proxyFailed(StreamError)
}

extension ServiceOutcome {
    /// Whether the probe timed out.
    var isTimeout: Bool {
        switch self {
        case .unanswered(let error), .tlsFailed(let error): error.isPOSIX(ETIMEDOUT)
        case .connected, .answered, .redirectLoop, .greeted, .wrongProtocol, .expectsTLS, .proxyRefused, .proxyFailed:
            false
        }
    }

    /// Whether the intended server answered.
    var isSuccess: Bool {
        switch self {
        case .connected, .answered, .greeted: true
        case .tlsFailed, .redirectLoop, .wrongProtocol, .expectsTLS, .unanswered, .proxyRefused, .proxyFailed: false
        }
    }
}

/// The relevant parts of an HTTP response.
struct ServiceAnswer: Sendable, Hashable {
    var status: Int
    /// The value of the `Location` field.
    var location: String?
    /// The names of the authentication schemes that the server offers.
    var schemes: [String] = []
    /// The time of the server's clock, in seconds since 1970.
    var time: Int64?
    /// Whether the response sets a cookie.
    var setsCookie = false
    /// The value of the `Retry-After` field: seconds or a date.
    var retryAfter: String?
    /// The body, if the target has a ``DiagnosisTarget/maximumBodyLength``.
    var body: [UInt8] = []
}

extension ServiceAnswer {
    init(_ head: HTTPResponse) {
        let challenges = head.fields.values(for: .wwwAuthenticate)
        self.init(
            status: head.status.code, location: head.fields[.location],
            schemes: challenges.prefix(8).map { String($0.prefix { $0 != " " && $0 != "," }) },
            time: head.fields[.date].flatMap { HTTPDate($0) }?.secondsSinceEpoch,
            setsCookie: head.fields.contains(.setCookie), retryAfter: head.fields[.retryAfter])
    }

    /// Whether the answer is a temporary redirect (RFC 9110 §15.4).
    var isTemporaryMove: Bool { [302, 303, 307].contains(status) }
}
