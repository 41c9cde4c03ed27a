#if HTTPTypes
public import HTTPTypes

extension HTTPTypes.HTTPResponse {
    /// The head of a response in the types of apple/swift-http-types: status, reason and fields. The version, the body and the
    /// URL are left behind.
    ///
    /// Throws ``HTTPMessageError/Code/invalidReasonPhrase`` for a reason that those types would change, and what
    /// `HTTPTypes.HTTPFields(_:)` throws.
    public init(_ response: HTTPMessage.HTTPResponse) throws(HTTPMessageError) {
        let status = Status(code: response.status.code, reasonPhrase: response.reason)
        guard status.reasonPhrase == response.reason else {
            throw HTTPMessageError(.invalidReasonPhrase, fault: .caller)
        }
        self.init(status: status, headerFields: try HTTPTypes.HTTPFields(response.fields))
    }
}

extension HTTPMessage.HTTPResponse {
    /// A response from the types of apple/swift-http-types, without a body. An empty reason stays empty.
    ///
    /// Throws ``HTTPMessageError/Code/invalidStatusCode`` for what is no status (those types hold 0 to 999), and what the strict
    /// ``HeadParser`` throws.
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
