public import HTTPMessage
public import StreamKit

/// The check that a response has a status of success.
extension HTTPResponse {
    /// Throws an error unless the response is a success: its status is 2xx, or it is that of a download whose file is complete
    /// (`isFileComplete`).
    ///
    /// A status such as 404 is a response, and no call of a session or stream throws for it. This call turns it into an error:
    ///
    /// ```swift
    /// let user = try await session.get(url).requireSuccess().decode(User.self)
    /// ```
    ///
    /// A redirect that was not followed, a 304 (Not Modified) and a 101 (Switching Protocols) are not successes.
    ///
    /// - Returns: The response.
    /// - Throws: An error of domain `StreamErrorDomain.httpStatus` whose code is the status. Its message names the URL, without user and
    ///   password; `httpResponse` is the response, with its fields and its body.
    @discardableResult
    public func requireSuccess() throws(StreamError) -> HTTPResponse {
        guard status.kind == .successful || isFileComplete else { throw .unsuccessful(self) }
        return self
    }
}

extension StreamErrorDomain {
    /// HTTP status codes: the errors of `HTTPResponse.requireSuccess()`, and no others. CFNetwork has no such domain.
    public static let httpStatus = StreamErrorDomain(rawValue: -4)
}

extension StreamError {
    /// The status of a response that was not a success, if `HTTPResponse.requireSuccess()` has thrown the error; otherwise nil.
    ///
    /// ```swift
    /// do {
    ///     try await session.get(url).requireSuccess()
    /// } catch where error.httpStatus == .notFound {
    ///     print("no such page")
    /// }
    /// ```
    public var httpStatus: HTTPStatus? { httpResponse?.status }

    /// The response that was not a success, if `HTTPResponse.requireSuccess()` has thrown the error; otherwise nil.
    ///
    /// Its body often says what is wrong.
    public var httpResponse: HTTPResponse? { (underlying as? UnsuccessfulResponse)?.response }
}

/// A response that is not a success: the underlying error of the error that reports it.
struct UnsuccessfulResponse: Error {
    let response: HTTPResponse
}
