public import FoundationEssentials
public import HTTPMessage

extension HTTPAuthentication {
    /// Creates an object for the challenge of a 401 or 407 that another HTTP client has received; nil for other statuses.
    ///
    /// ```swift
    /// let fields = response.headers.map { ($0.name, $0.value) }
    /// let login = try HTTPAuthentication(status: response.status.code, fields: fields, url: url)
    /// var signed = try HTTPRequest(method: .get, url: url)
    /// try await login?.apply(to: &signed, credential)
    /// request.headers.replaceOrAdd(name: "Authorization", value: signed.fields[.authorization] ?? "")
    /// ```
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - fields: The names and values of the response's fields, in order.
    ///   - url: The URL of the request.
    ///   - peer: The server or proxy that responded; see ``init(response:from:policy:workLimit:memory:isNamed:)``.
    ///   - policy: The schemes that may be used.
    ///   - memory: The forms of earlier logins.
    /// - Throws: `HTTPMessageError` for an invalid status or field.
    public convenience init?(
        status: Int, fields: some Sequence<(String, String)>, url: URL, from peer: ProtectionSpace? = nil,
        policy: AuthenticationPolicy = .init(), memory: AuthenticationMemory = AuthenticationMemory()
    ) throws(HTTPMessageError) {
        guard let status = HTTPStatus(status) else { throw HTTPMessageError(.invalidStatusCode, fault: .caller) }
        var response = try HTTPResponse(status: status)
        for (name, value) in fields { try response.fields.append(value, for: name) }
        response.url = url
        self.init(response: response, from: peer, policy: policy, memory: memory)
    }
}
