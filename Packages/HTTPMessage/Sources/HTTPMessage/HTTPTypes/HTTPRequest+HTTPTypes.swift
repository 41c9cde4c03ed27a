#if HTTPTypes
internal import FoundationEssentials
public import HTTPTypes

extension HTTPTypes.HTTPRequest {
    /// The head of a request in the types of apple/swift-http-types.
    ///
    /// `Host` becomes the authority, and `host:port` of a `CONNECT`, too. What those types have no place for is left behind: the
    /// version, the body, and which form the target had.
    ///
    /// ```swift
    /// let request = try HTTPTypes.HTTPRequest(parsed, scheme: "https")
    /// ```
    ///
    /// Throws ``HTTPMessageError/Code/repeatedHost`` for several, ``HTTPMessageError/Code/invalidTarget`` for a target that is
    /// no text, and what ``HTTPTypes/HTTPFields/init(_:)`` throws.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - scheme: that of the connection; an absolute target has its own.
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
            // RFC 9112 §3.2.2: its authority counts, whatever Host says.
            self.init(
                method: method, scheme: url.scheme, authority: URLParts(url).authority,
                path: try RequestTarget(origin: url).description, headerFields: headerFields)
        }
    }
}

extension HTTPMessage.HTTPRequest {
    /// A request from the types of apple/swift-http-types: with `Host` first, and without a body.
    ///
    /// Whatever they hold, the result is a message by the strict rules of ``HeadParser``: no method, target, authority or value
    /// can begin another line.
    ///
    /// Throws ``HTTPMessageError/Code/invalidTarget`` without a path (or, for `CONNECT`, an authority) and for extended
    /// `CONNECT` (RFC 8441), which HTTP/1 has not; ``HTTPMessageError/Code/repeatedHost`` for `Host` beside an authority; else
    /// what the parser throws.
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
