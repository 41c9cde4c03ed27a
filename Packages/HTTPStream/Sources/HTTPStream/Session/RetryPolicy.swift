internal import Glibc
public import HTTPMessage
internal import StreamKit

/// The rules by which a session sends a request again after a failure that may be temporary.
///
/// ```swift
/// var configuration = HTTPSession.Configuration()
/// configuration.retries = RetryPolicy(maximumRetries: 3)
/// ```
///
/// Only a request whose repetition has no further effect is sent again: its method is idempotent (RFC 9110 §9.2.2) and its body can
/// be read again. It is sent again after a response with one of ``statuses``, and after an error of the connection: a refused, reset
/// or lost connection, an unreachable network, a name server that did not respond, or a time limit other than
/// ``HTTPOptions/totalTimeout``, which includes all retries. Once the head of the response has arrived, only a download
/// to a file is continued after an error.
///
/// The pause before a retry is random, between half of a delay and the whole, and the delay doubles with each retry, so that many
/// clients do not return at the same time. A `Retry-After` field (RFC 9110 §10.2.3) replaces the delay; if it is longer than
/// ``maximumDelay``, the response is the result.
public struct RetryPolicy: Sendable, Hashable {
    /// The maximum number of retries of a load; 0 for none.
    public var maximumRetries: Int

    /// The delay before the first retry.
    public var firstDelay: Duration

    /// The longest delay.
    public var maximumDelay: Duration

    /// The statuses after which a request is sent again.
    public var statuses: Set<HTTPStatus>

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - maximumRetries: The maximum number of retries of a load.
    ///   - firstDelay: The delay before the first retry.
    ///   - maximumDelay: The longest delay.
    ///   - statuses: The statuses after which a request is sent again.
    public init(
        maximumRetries: Int, firstDelay: Duration = .milliseconds(500), maximumDelay: Duration = .seconds(30),
        statuses: Set<HTTPStatus> = [
            .requestTimeout, .tooManyRequests, .badGateway, .serviceUnavailable, .gatewayTimeout,
        ]
    ) {
        self.maximumRetries = maximumRetries
        self.firstDelay = firstDelay
        self.maximumDelay = maximumDelay
        self.statuses = statuses
    }

    /// No retries: the default of a session.
    public static let never = RetryPolicy(maximumRetries: 0)

    /// Whether the request may be sent again.
    func permits(_ request: HTTPRequest, _ body: HTTPBody?) -> Bool {
        maximumRetries > 0 && request.method.isIdempotent && body?.isRepeatable != false
    }

    /// Returns the pause before the next retry; nil if the response is the result.
    ///
    /// - Parameters:
    ///   - retries: the number of retries so far.
    ///   - now: the current date.
    ///   - random: a random number from 0 to 1.
    func delay(after response: HTTPResponse, retries: Int, now: HTTPDate, random: Double) -> Duration? {
        guard statuses.contains(response.status) else { return nil }
        guard let field = response.fields[.retryAfter] else { return delay(retries: retries, random: random) }
        let seconds: Int64
        if let number = Int64(field), number >= 0 {
            seconds = number
        } else if let date = HTTPDate(field, now: now) {
            seconds = max(0, date.secondsSinceEpoch - now.secondsSinceEpoch)
        } else {
            return delay(retries: retries, random: random)
        }
        guard retries < maximumRetries, seconds <= maximumDelay.components.seconds else { return nil }
        return .seconds(seconds)
    }

    /// Returns the pause before the next retry; nil if the error is the result.
    func delay(after error: StreamError, retries: Int, random: Double) -> Duration? {
        RetryPolicy.isTemporary(error) ? delay(retries: retries, random: random) : nil
    }

    private func delay(retries: Int, random: Double) -> Duration? {
        guard retries < maximumRetries else { return nil }
        var delay = max(.zero, firstDelay)
        for _ in 0..<retries where delay < maximumDelay { delay += delay }
        return max(.zero, min(delay, maximumDelay)) * (0.5 + 0.5 * random)
    }

    private static func isTemporary(_ error: StreamError) -> Bool {
        switch error.domain {
        case .posix:
            [ECONNREFUSED, ECONNRESET, ECONNABORTED, EPIPE, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ENETDOWN]
                .contains(Int32(truncatingIfNeeded: error.code))
        case .netDB: error.code == Int(EAI_AGAIN)
        case .http: error.code == HTTPErrorNumber.connectionLost.rawValue
        default: false
        }
    }
}
