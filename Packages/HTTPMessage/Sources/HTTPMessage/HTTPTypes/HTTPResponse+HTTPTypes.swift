#if HTTPTypes
public import HTTPTypes

extension HTTPTypes.HTTPResponse {
    /// Converts the head of a response to the types of apple/swift-http-types. The version, the body and the URL are lost.
    ///
    /// Throws ``HTTPMessageError/Code/invalidReasonPhrase`` for a reason that those types would modify, and the errors of
    /// `HTTPTypes.HTTPFields(_:)`.
    public init(_ response: HTTPMessage.HTTPResponse) throws(HTTPMessageError) {
        let status = Status(code: response.status.code, reasonPhrase: response.reason)
        guard status.reasonPhrase == response.reason else {
            throw HTTPMessageError(.invalidReasonPhrase, fault: .caller)
        }
        self.init(status: status, headerFields: try HTTPTypes.HTTPFields(response.fields))
    }
}

extension HTTPMessage.HTTPResponse {
    /// Converts a response from the types of apple/swift-http-types. The result has no body. An empty reason stays empty.
    ///
    /// Throws ``HTTPMessageError/Code/invalidStatusCode`` for a status below 100, and the errors of the strict ``HeadParser``.
    public init(
        _ response: HTTPTypes.HTTPResponse, version: HTTPVersion = .http11
    ) throws(HTTPMessageError) {
        guard let status = HTTPStatus(response.status.code) else {
            throw HTTPMessageError(.invalidStatusCode, fault: .caller)
        }
        try self.init(status: status, reason: response.status.reasonPhrase, version: version)
        fields = try HTTPFields(response.headerFields)
        var parser = HeadParser(.response)
        let head = serialized()
        guard case .complete(head.count) = try parser.parse(head.span.bytes) else {
            throw HTTPMessageError(.malformedStartLine, fault: .caller)
        }
    }
}
#endif
