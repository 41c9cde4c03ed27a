#if HTTPTypes
internal import FoundationEssentials
public import HTTPTypes

extension HTTPTypes.HTTPRequest {
    /// Converts the head of a request to the types of apple/swift-http-types.
    ///
    /// The authority is the value of `Host` or, for `CONNECT`, the target. The version, the body and the form of the target are
    /// lost, because those types cannot represent them.
    ///
    /// ```swift
    /// let request = try HTTPTypes.HTTPRequest(parsed, scheme: "https")
    /// ```
    ///
    /// Throws ``HTTPMessageError/Code/repeatedHost`` for more than one `Host`, ``HTTPMessageError/Code/invalidTarget`` for a
    /// target that is not UTF-8 or has none of the four forms, and the errors of ``HTTPTypes/HTTPFields/init(_:)``.
    ///
    /// - Parameters:
    ///   - request: The request to convert.
    ///   - scheme: The scheme of the connection. Ignored for a target in absolute form, which has its own scheme.
    public init(_ request: HTTPMessage.HTTPRequest, scheme: String) throws(HTTPMessageError) {
        guard let method = Method(request.method.name) else {
            throw HTTPMessageError(.invalidMethod, fault: .caller)
        }
        let hosts = request.fields.values(for: .host)
        guard hosts.count < 2 else { throw HTTPMessageError(.repeatedHost, fault: .caller) }
        var fields = request.fields
        fields.remove(.host)
        let target = request.target
        guard String(validating: target.bytes, as: UTF8.self) != nil, let form = target.form else {
            throw HTTPMessageError(.invalidTarget, fault: .caller)
        }
        let headerFields = try HTTPTypes.HTTPFields(fields)
        switch form {
        case .origin, .asterisk:
            self.init(
                method: method, scheme: scheme, authority: hosts.first, path: target.description,
                headerFields: headerFields)
        case .authority:
            self.init(
                method: method, scheme: nil, authority: target.description, path: nil, headerFields: headerFields)
        case .absolute:
            guard let url = target.url else { throw HTTPMessageError(.invalidTarget, fault: .caller) }
            // RFC 9112 §3.2.2: the target's authority replaces Host.
            self.init(
                method: method, scheme: url.scheme, authority: URLParts(url).authority.map { HTTPGrammar.text($0) },
                path: try RequestTarget(origin: url).description, headerFields: headerFields)
        }
    }
}

extension HTTPMessage.HTTPRequest {
    /// Converts a request from the types of apple/swift-http-types. The result has `Host` as its first field and no body.
    ///
    /// The result is always a valid message by the strict rules of ``HeadParser``: no method, target, authority or value can
    /// inject a line.
    ///
    /// Throws ``HTTPMessageError/Code/invalidTarget`` if the path (for `CONNECT`, the authority) is missing, and for extended
    /// `CONNECT` (RFC 8441), which HTTP/1 does not support. Throws ``HTTPMessageError/Code/repeatedHost`` if the request has
    /// both an authority and a `Host` field. Otherwise throws the errors of the parser.
    public init(
        _ request: HTTPTypes.HTTPRequest, version: HTTPVersion = .http11
    ) throws(HTTPMessageError) {
        guard let method = HTTPMethod(request.method.rawValue) else {
            throw HTTPMessageError(.invalidMethod, fault: .caller)
        }
        let target =
            method == .connect
            ? request.authority.flatMap { RequestTarget(authority: $0) } : request.path.flatMap { RequestTarget($0) }
        guard let target, request.extendedConnectProtocol == nil else {
            throw HTTPMessageError(.invalidTarget, fault: .caller)
        }
        try self.init(method: method, target: target, version: version)
        var all = HTTPFields()
        if let authority = request.authority {
            if request.headerFields.contains(.host) { throw HTTPMessageError(.repeatedHost, fault: .caller) }
            try all.set(authority, for: .host)
        }
        for field in try HTTPFields(request.headerFields) { try all.append(rawValue: field.rawValue, for: field.name) }
        fields = all
        var parser = HeadParser(.request, leniency: .missingHost)
        let head = serialized()
        guard case .complete(head.count) = try parser.parse(head.span.bytes) else {
            throw HTTPMessageError(.malformedStartLine, fault: .caller)
        }
    }
}

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

extension HTTPTypes.HTTPFields {
    /// Converts fields to the types of apple/swift-http-types. Order, letter case and bytes are preserved.
    ///
    /// Also converts trailers. Throws ``HTTPMessageError/Code/invalidFieldValue`` for a value that those types would modify,
    /// such as control characters that a leniency accepted, and ``HTTPMessageError/Code/tooManyFields`` for more fields than
    /// they support.
    public init(_ fields: HTTPMessage.HTTPFields) throws(HTTPMessageError) {
        guard fields.count < UInt16.max else { throw HTTPMessageError(.tooManyFields, fault: .caller) }
        self.init()
        reserveCapacity(fields.count)
        for field in fields {
            guard let name = HTTPTypes.HTTPField.Name(field.name.name) else {
                throw HTTPMessageError(.invalidFieldName, fault: .caller)
            }
            let bytes = field.rawValue
            let copy = HTTPTypes.HTTPField(name: name, value: bytes)
            guard copy.withUnsafeBytesOfValue({ $0.elementsEqual(bytes) }) else {
                throw HTTPMessageError(.invalidFieldValue, fault: .caller)
            }
            append(copy)
        }
    }
}

extension HTTPMessage.HTTPFields {
    /// Converts fields from the types of apple/swift-http-types. Order, letter case and bytes are preserved.
    ///
    /// Also converts trailers. Throws ``HTTPMessageError/Code/invalidFieldName`` and
    /// ``HTTPMessageError/Code/invalidFieldValue`` for names and values that HTTP/1 cannot represent.
    public init(_ fields: HTTPTypes.HTTPFields) throws(HTTPMessageError) {
        self.init()
        for field in fields {
            guard let name = HTTPFieldName(field.name.rawName) else {
                throw HTTPMessageError(.invalidFieldName, fault: .caller)
            }
            try append(rawValue: field.withUnsafeBytesOfValue { Array($0) }, for: name)
        }
    }
}

extension HTTPTypes.HTTPField.Name {
    fileprivate static var host: Self? { Self("Host") }
}

extension HTTPTypes.HTTPFields {
    fileprivate func contains(_ name: HTTPTypes.HTTPField.Name?) -> Bool { name.map { self[$0] != nil } ?? false }
}
#endif
