internal import FoundationEssentials
internal import Glibc
internal import HTTP2
internal import HTTPAuth
@_spi(Packages) internal import HTTPMessage
public import StreamKit

extension StreamErrorDetail {
    /// A number: the error code with which the peer has reset the stream of a request over HTTP/2 (RFC 9113 §7), such as 8 for `CANCEL`.
    ///
    /// Errors of the connection do not have it, also if GOAWAY ended the connection.
    public static let http2ErrorCode = Self(rawValue: "NetKit.http2ErrorCode")
}

/// The messages of HTTP streams.
extension StreamError {
    static func http(
        _ number: HTTPErrorNumber, _ sentence: Sentence, reason: StreamErrorReason? = nil,
        underlying: (any Error)? = nil
    ) -> StreamError {
        StreamError(domain: .http, code: number.rawValue, sentence: sentence, reason: reason, underlying: underlying)
    }

    static func badURL(_ reason: String, underlying: (any Error)? = nil) -> StreamError {
        http(.badURL, Sentence("http.badURL", "The URL cannot be requested: %1", reason), underlying: underlying)
    }

    /// Throws if the current task is cancelled. For loops of reads: a read notices that only if it has to wait, and a peer that sends
    /// fast enough never lets it.
    static func checkCancellation() throws(StreamError) {
        if Task.isCancelled { throw .cancelled }
    }

    static let ftpNeedsProxy = http(
        .badURL,
        Sentence(
            "http.ftpNeedsProxy",
            "An HTTP stream loads an ftp URL only through an HTTP proxy; without one, use an FTP stream."))

    static let tlsNeverUsed = StreamError(
        posix: 22,  // EINVAL
        Sentence(
            "http.tlsNeverUsed",
            "The property %1 cannot be honoured: %2 for an http URL that follows no redirects never uses TLS. Use an https "
                + "URL, or leave the property out.", StreamProperty<TLSConfiguration>.tls.name, StreamKind.http.name))

    static func invalidHost(_ text: String) -> StreamError {
        StreamError(
            posix: 22,  // EINVAL
            Sentence(
                "http.host",
                "%1 is not a value for Host: it needs a host with an optional port, such as example.org:8080.", text))
    }

    static func misplaced(_ property: String, instead: String) -> StreamError {
        StreamError(
            posix: 22,  // EINVAL
            Sentence("http.misplacedOption", "The options cannot contain %1; set %2 instead.", property, instead))
    }

    static func unreadableFile(_ path: String, _ number: CInt) -> StreamError {
        StreamError(
            posix: number, Sentence("file.read", "%1 cannot be read: %2", path, "\(StreamError(posix: number))"),
            reason: .localFile)
    }

    static func notARegularFile(_ path: String) -> StreamError {
        StreamError(
            posix: 22,  // EINVAL
            Sentence("file.kind", "%1 is not a regular file of this user.", path), reason: .localFile)
    }

    static func invalidFormField(_ name: String) -> StreamError {
        StreamError(
            posix: 22,  // EINVAL
            Sentence("form.field", "The form field %1 has an invalid media type or length.", name))
    }

    static let notDownloadable = StreamError(
        posix: 22,  // EINVAL
        Sentence(
            "download.request", "The request of a download cannot have a body, nor the fields Range and If-Range."))

    static let wrongPart = http(
        .parseFailure,
        Sentence("download.part", "The server has returned another part of the resource than the requested one."))

    static let invalidCookie = StreamError(
        posix: 22,  // EINVAL
        Sentence("cookie.invalid", "The cookie's name, value, domain or path cannot be sent in a field."))

    static func invalidCookieLine(_ number: Int) -> StreamError {
        StreamError(
            posix: 22,  // EINVAL
            Sentence("cookie.line", "Line %1 of the cookie file is not a cookie.", "\(number)"))
    }

    static func serverDecides(_ property: String, instead: String) -> StreamError {
        StreamError(
            posix: 22,  // EINVAL
            Sentence(
                "server.properties", "The connections of an HTTP server cannot have the property %1; set %2 instead.",
                property, instead))
    }

    static func outOfRange(_ setting: String, _ range: ClosedRange<Int>) -> StreamError {
        StreamError(
            posix: 22,  // EINVAL
            Sentence(
                "server.range", "%1 must be from %2 to %3.", setting, "\(range.lowerBound)", "\(range.upperBound)"))
    }

    static let lengthNeeded = http(
        .badURL,
        Sentence(
            "http.lengthNeeded", "HTTP/1.0 cannot send a body of unknown length; give its length, or use HTTP/1.1."))

    static let trailersNeedChunks = http(
        .badURL,
        Sentence(
            "http.trailersNeedChunks", "A body with trailers has no length: HTTP/1.1 sends trailers behind chunks only."
        ))

    static let negativeLength = http(
        .badURL, Sentence("http.negativeLength", "The length of the request's body must not be negative."))

    static func tooManyRedirects(_ count: Int) -> StreamError {
        http(
            .redirectionLoop,
            Sentence("http.redirects", "Gave up after %1 redirects.", "\(count)"))
    }

    static func foreignRedirect(_ url: String) -> StreamError {
        http(.badURL, Sentence("http.foreignRedirect", "The redirect leads to %1, which is not followed.", url))
    }

    static func insecureRedirect(_ url: String) -> StreamError {
        http(
            .badURL,
            Sentence(
                "http.insecureRedirect",
                "A redirect leads from https to %1, which is not encrypted; it was not followed.", url))
    }

    static func bodyToOtherOrigin(_ url: String) -> StreamError {
        http(
            .badURL,
            Sentence(
                "http.bodyToOtherOrigin",
                "A redirect would send the request's body to another origin, %1; it was not followed. "
                    + "CrossOriginPolicy.sendsBody allows it.", url))
    }

    static func bodyNotRepeatable(_ status: Int) -> StreamError {
        http(
            .connectionLost,
            Sentence(
                "http.bodySpent",
                "The request must be sent again (status %1), but its body can be read only once; use a repeatable body.",
                "\(status)"))
    }

    static func bodyTooShort(_ sent: Int64, of length: Int64) -> StreamError {
        http(
            .connectionLost,
            Sentence(
                "http.bodyShort", "The body ended after %1 bytes, but %2 were announced.", "\(sent)", "\(length)"))
    }

    static func bodyUnavailable(_ error: any Error) -> StreamError {
        http(
            .connectionLost, Sentence("http.bodyFailed", "The program could not supply the body: %1", "\(error)"),
            underlying: error)
    }

    static func connectionLost(_ what: String, underlying: (any Error)? = nil) -> StreamError {
        http(
            .connectionLost, Sentence("http.connectionLost", "The server closed the connection %1.", what),
            underlying: underlying)
    }

    static let http2NotChosen = http(
        .parseFailure,
        Sentence(
            "http2.notChosen", "The server does not speak HTTP/2, the only version that is permitted."))

    static func http2NotPossible(_ reason: String) -> StreamError {
        http(
            .badURL,
            Sentence(
                "http2.notPossible", "The request cannot use HTTP/2, the only version that is permitted: %1.", reason))
    }

    static func proxyOfHTTP2(_ proxy: String) -> StreamError {
        StreamError(
            posix: 22,  // EINVAL
            Sentence(
                "proxy.http2",
                "Requests to the proxy %1 itself use HTTP/1.1; add http/1.1 to its application protocols.", proxy)
        )
    }

    static let noOtherProtocols = http(
        .badURL,
        Sentence("http2.noOtherProtocols", "The server accepts no other protocols over HTTP/2 (RFC 8441)."))

    /// The failure of a stream of HTTP/2.
    static func http2(_ failure: HTTP2StreamFailure) -> StreamError {
        switch failure.cause {
        case .violation(let error), .connection(let error): return http2(error)
        case .peer:
            return http(
                .connectionLost, Sentence("http2.reset", "The server reset the stream: %1.", "\(failure.code)")
            ).with(failure.details)
        case .goAway(let goAway):
            return http(
                .connectionLost,
                Sentence(
                    "http2.goAway", "The server ends the connection and has not processed the request: %1.", goAway.text
                ))
        }
    }

    /// The failure of a connection of HTTP/2, or a request that it cannot carry.
    static func http2(_ error: HTTP2Error) -> StreamError {
        if error.scope == .call, error.fault == .peer {
            return http(
                .badURL,
                Sentence("http2.fieldsTooLarge", "The peer does not accept the message over HTTP/2: %1.", "\(error)"),
                underlying: error)
        }
        if error.fault == .caller { return badURL("HTTP/2 cannot carry the request: \(error).", underlying: error) }
        if let step = error.silentStep { return timedOut(step, underlying: error) }
        if error.code == .noError { return connectionLost("without a response", underlying: error) }
        return http(
            .parseFailure, Sentence("http2.error", "The HTTP/2 connection failed: %1.", "\(error)"),
            underlying: error)
    }

    static let headCutShort = http(
        .connectionLost,
        Sentence("http.headCutShort", "The server closed the connection in the middle of the head."),
        reason: .cutShort)

    static let connectionGone = http(
        .connectionLost,
        Sentence("http.connectionGone", "The authenticated connection was closed."), underlying: ConnectionGone())

    static func tooManyInterim(_ count: Int) -> StreamError {
        http(.parseFailure, Sentence("http.interim", "The server sent more than %1 interim responses.", "\(count)"))
    }

    static func switchedProtocols(_ name: String) -> StreamError {
        http(.parseFailure, Sentence("http.switched", "The server switched to %1, which was not requested.", name))
    }

    static func transferCoded(_ coding: String) -> StreamError {
        http(
            .parseFailure,
            Sentence(
                "http.transferCoded", "The body has the transfer coding '%1', which was not requested.", coding))
    }

    static func badContentCoding(_ coding: String) -> StreamError {
        http(
            .parseFailure,
            Sentence("http.badCoding", "The body is declared as %1, but cannot be decoded as such.", coding),
            reason: .undecodable)
    }

    static func decodedTooMuch(_ limit: Int64) -> StreamError {
        http(
            .parseFailure,
            Sentence("http.decodedTooMuch", "The decoded body is larger than the limit of %1 bytes.", "\(limit)"))
    }

    static let noZlib = http(
        .parseFailure,
        Sentence(
            "http.noZlib", "The body is compressed, but libz.so.1 (Debian: zlib1g) is not installed to decode it."),
        reason: .undecodable)

    static func bodyTooLong(_ limit: Int) -> StreamError {
        http(.parseFailure, Sentence("http.bodyTooLong", "The body is larger than the limit of %1 bytes.", "\(limit)"))
    }

    /// The error for a response that is not a success: what its status means for the caller.
    static func unsuccessful(_ response: HTTPResponse) -> StreamError {
        let url = response.url?.publicText
        let next = response.redirectReference.flatMap { URL(string: $0, relativeTo: response.url)?.publicText }
        let status = "\(response.status.code) \(response.status.standardPhrase)"
        let sentence =
            switch response.status.code {
            case 401: Sentence("status.login", "The server requires a login[ for %2]: %1.", status, url)
            case 403: Sentence("status.forbidden", "The server refuses access[ to %2]: %1.", status, url)
            case 404, 410: Sentence("status.missing", "The server has no resource[ at %2]: %1.", status, url)
            case 407: Sentence("status.proxy", "The proxy requires a login[ for %2]: %1.", status, url)
            case 429, 503:
                Sentence(
                    "status.later", "The server does not serve requests[ for %2] now: %1. Try again later.", status, url
                )
            case 300..<400 where next != nil:
                Sentence(
                    "status.redirect", "The server redirects[ %2] to %3, which was not followed: %1.", status, url, next
                )
            case 500...: Sentence("status.server", "The server failed to respond[ for %2]: %1.", status, url)
            default: Sentence("status.other", "The response[ for %2] is not a success: %1.", status, url)
            }
        return StreamError(
            domain: .httpStatus, code: response.status.code, sentence: sentence,
            underlying: UnsuccessfulResponse(response: response))
    }

    static func authentication(_ error: HTTPAuthError) -> StreamError {
        http(
            error.number ?? .authenticationTypeUnsupported,
            Sentence("http.authentication", "Authentication failed: %1.", error.description), underlying: error)
    }

    static func noBearerToken(_ reason: String, underlying: (any Error)? = nil) -> StreamError {
        http(
            .authenticationTypeUnsupported,
            Sentence("http.bearer", "The program supplied no usable bearer token: %1.", reason), underlying: underlying)
    }

    static func timedOut(
        _ step: String, after limit: Duration? = nil, underlying: (any Error)? = nil
    ) -> StreamError {
        StreamError(
            domain: .posix, code: StreamError.timedOut.code,
            sentence: Sentence("http.timedOut", "Timed out%1 %2.", limit.map { " after \($0.text)" } ?? "", step),
            underlying: underlying)
    }

    /// A violation of the HTTP rules, as the error of a stream.
    init(_ error: HTTPMessageError) {
        let number = error.number ?? .parseFailure
        let sentence =
            error.code == .truncated
            ? Sentence("http.truncated", "The server closed the connection before the body was complete.")
            : Sentence("http.message", "The server's response is not valid HTTP: %1.", error.description)
        self = .http(number, sentence, reason: error.code == .truncated ? .cutShort : nil, underlying: error)
    }
}

extension HTTP2StreamFailure {
    fileprivate var details: [StreamErrorDetail: StreamErrorDetail.Value] {
        cause == .peer ? [.http2ErrorCode: .number(Int(code.rawValue))] : [:]
    }
}

extension Duration {
    /// The duration in milliseconds or seconds, with one decimal at most.
    fileprivate var text: String {
        // A limit that is shared by several steps may be a little below a whole second.
        let (value, unit) = self < .milliseconds(950) ? (self / .milliseconds(1), "ms") : (self / .seconds(1), "s")
        return "\((value * 10).rounded() / 10) \(unit)".replacing(".0 ", with: " ")
    }
}

/// The messages of the HTTP server.
extension StreamError {
    static func unsendable(_ reason: String) -> StreamError {
        StreamError(
            posix: 22, Sentence("server.unsendable", "The response cannot be sent: %1.", reason))  // EINVAL
    }

    /// The client has reset the stream of its request, or the connection has ended.
    static func clientGone(_ failure: HTTP2StreamFailure) -> StreamError {
        StreamError(
            posix: 104,  // ECONNRESET
            Sentence("server.clientGone", "The client has ended its request: %1.", "\(failure.code)")
        ).with(failure.details)
    }

    static func acceptsProtocol(_ status: HTTPStatus) -> StreamError {
        StreamError(
            posix: 22,
            Sentence(
                "server.acceptsProtocol",
                "Over HTTP/2, the response %1 would accept the protocol that the request offers (RFC 8441 §5).",
                "\(status)"))
    }

    static let answeredTwice = StreamError(
        posix: 22, Sentence("server.twice", "The request has already been answered."))

    static let notBegun = StreamError(
        posix: 22, Sentence("server.notBegun", "There is no response to write to; begin one with a body first."))

    static func responseTooLong(_ length: Int64) -> StreamError {
        StreamError(
            posix: 22,
            Sentence("server.tooLong", "The response was announced with %1 bytes, but more were written.", "\(length)"))
    }

    static func responseTooShort(_ missing: Int64) -> StreamError {
        StreamError(
            posix: 22,
            Sentence("server.tooShort", "The response ended %1 bytes before its announced length.", "\(missing)"))
    }

    static let requestCutShort = http(
        .connectionLost,
        Sentence("server.cutShort", "The client closed the connection in the middle of the request's body."))

    static func tooManyLongLived(_ maximum: Int) -> StreamError {
        StreamError(
            posix: EAGAIN,
            Sentence(
                "server.longLived", "The server already has the maximum of %1 long-lived connections.", "\(maximum)"))
    }

    static func requestRefused(_ status: HTTPStatus, underlying: HTTPMessageError?) -> StreamError {
        http(
            .parseFailure,
            Sentence(
                "server.refused", "The request's body was rejected with status %1.", "\(status)"),
            underlying: underlying)
    }
}

/// The underlying error of `StreamError.connectionGone`: the connection that a login belongs to was closed; nothing was sent.
struct ConnectionGone: Error {}

extension HTTP2GoAway {
    /// The code, and the server's explanation.
    fileprivate var text: String {
        let text = String(decoding: debugData, as: UTF8.self)
        return text.isEmpty ? "\(code)" : "\(code) ('\(text.debugDescription.dropFirst().dropLast())')"
    }
}

extension HTTP2Error {
    /// What was waited for, if the peer has not done what each peer does at once.
    fileprivate var silentStep: String? {
        if rule == "pingTimeout" { return "waiting for the answer to a PING of HTTP/2" }
        return code == .settingsTimeout && fault == .peer ? "waiting for the acknowledgment of SETTINGS of HTTP/2" : nil
    }
}
