public import FoundationEssentials
public import HTTPMessage

extension HTTPAuthentication {
    /// Creates an object for the challenge of a 401 or 407 that another HTTP client has received; nil for other statuses.
    ///
    /// ```swift
    /// let fields = reply.headers.map { ($0.name, $0.value) }
    /// let login = try HTTPAuthentication(status: reply.status.code, fields: fields, url: url)
    /// var signed = try HTTPRequest(method: .get, url: url)
    /// try await login?.apply(to: &signed, credential)
    /// next.headers.replaceOrAdd(name: "Authorization", value: signed.fields[.authorization] ?? "")
    /// ```
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - fields: The names and values of the response's fields, in order.
    ///   - url: The URL of the request.
    ///   - peer: The server or proxy that responded; see ``init(response:from:policy:workTimeout:memory:isNamed:)``.
    ///   - policy: The schemes that may be used.
    ///   - memory: The forms of earlier logins.
    /// - Throws: `HTTPMessageError` for an invalid status or field.
    public convenience init?(
        status: Int, fields: some Sequence<(String, String)>, url: URL, from peer: ProtectionSpace? = nil,
        policy: AuthenticationPolicy = .init(), memory: AuthenticationMemory = AuthenticationMemory()
    ) throws(HTTPMessageError) {
        var response = try HTTPResponse(status: status, fields: fields)
        response.url = url
        self.init(response: response, from: peer, policy: policy, memory: memory)
    }

    /// Processes the response that another HTTP client has received to a request with credentials, and returns the next action.
    ///
    /// ```swift
    /// let verdict = try login.update(status: 200, fields: fields, to: signed, body: bytes)
    /// ```
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - fields: The names and values of the response's fields, in order.
    ///   - request: The request with the credentials, as `apply` has left it.
    ///   - body: The bytes of the response's body if it is complete, otherwise nil; used if the server signs it.
    ///   - proxy: The proxy that the request was sent to, or nil.
    /// - Throws: As ``update(with:to:body:through:)-(_,_,AuthenticationBody,_)``; ``HTTPAuthError/Code/malformedChallenge`` for an
    ///   invalid status or field.
    public func update(
        status: Int, fields: some Sequence<(String, String)>, to request: HTTPRequest, body: [UInt8]? = nil,
        through proxy: ProtectionSpace? = nil
    ) throws(HTTPAuthError) -> AuthenticationVerdict {
        let response: HTTPResponse
        do throws(HTTPMessageError) {
            response = try HTTPResponse(status: status, fields: fields)
        } catch {
            throw HTTPAuthError(.malformedChallenge, detail: error.description)
        }
        return try update(
            with: response, to: request, body: body.map { .bytes($0) } ?? .unknown, through: proxy)
    }

    /// Processes the response to a request with credentials, whose whole body is known, and returns the next action.
    ///
    /// - Parameters:
    ///   - response: The response, with any status.
    ///   - request: The request as it was sent, including the credentials field.
    ///   - body: The bytes of the response's body.
    ///   - proxy: The proxy that the request was sent to, or nil.
    /// - Throws: As ``update(with:to:body:through:)-(_,_,AuthenticationBody,_)``.
    public func update(
        with response: HTTPResponse, to request: HTTPRequest, body: [UInt8], through proxy: ProtectionSpace? = nil
    ) throws(HTTPAuthError) -> AuthenticationVerdict {
        try update(with: response, to: request, body: .bytes(body), through: proxy)
    }
}

extension HTTPResponse {
    /// Makes the head of a response from the parts of another client's.
    fileprivate init(status: Int, fields: some Sequence<(String, String)>) throws(HTTPMessageError) {
        guard let status = HTTPStatus(status) else { throw HTTPMessageError(.invalidStatusCode, fault: .caller) }
        try self.init(status: status)
        for (name, value) in fields { try self.fields.append(value, for: name) }
    }
}
