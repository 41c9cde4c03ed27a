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
                method: method, scheme: url.scheme, authority: URLParts(url).authority,
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

extension HTTPTypes.HTTPField.Name {
    fileprivate static var host: Self? { Self("Host") }
}

extension HTTPTypes.HTTPFields {
    fileprivate func contains(_ name: HTTPTypes.HTTPField.Name?) -> Bool { name.map { self[$0] != nil } ?? false }
}
#endif
