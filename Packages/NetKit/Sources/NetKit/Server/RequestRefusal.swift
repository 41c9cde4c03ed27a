internal import HTTPMessage

/// A request that the server answers by itself, because it cannot or must not be handed on. The connection ends with it: where
/// the next request would begin is unknown.
struct RequestRefusal: Error, Equatable {
    let status: HTTPStatus
    /// The rule that was broken.
    let error: HTTPMessageError?

    init(_ status: HTTPStatus, _ error: HTTPMessageError? = nil) {
        self.status = status
        self.error = error
    }

    /// What a parser threw.
    ///
    /// - Parameter isInStartLine: the first line had not ended.
    init(_ error: HTTPMessageError, isInStartLine: Bool = false) {
        self.init(RequestRefusal.status(of: error.code, isInStartLine), error)
    }

    private static func status(of code: HTTPMessageError.Code, _ isInStartLine: Bool) -> HTTPStatus {
        switch code {
        case .bodyTooLong: 413
        case .lineTooLong, .headTooLong: isInStartLine ? 414 : 431
        case .tooManyFields: 431
        case .unknownTransferCoding: 501
        case .unsupportedVersion: 505
        // All others say that the message is malformed, and new ones will.
        default: 400
        }
    }
}
