internal import HTTPMessage
internal import StreamKit

/// The messages of the HTTP server.
extension StreamError {
    static func unsendable(_ reason: String) -> StreamError {
        StreamError(
            posix: 22, Sentence("server.unsendable", "The response cannot be sent: %1.", reason))  // EINVAL
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

    static func requestRefused(_ status: HTTPStatus, underlying: HTTPMessageError?) -> StreamError {
        http(
            .parseFailure,
            Sentence(
                "server.refused", "The request's body was rejected with status %1.", "\(status)"),
            underlying: underlying)
    }
}
