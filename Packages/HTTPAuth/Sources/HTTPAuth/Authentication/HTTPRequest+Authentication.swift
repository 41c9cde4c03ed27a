public import HTTPMessage

extension HTTPRequest {
    /// Puts credentials on this request only. No state is kept for later requests.
    ///
    /// - Parameters:
    ///   - failure: The response that asked for authentication. Nil sends credentials **before the server asks**, with
    ///     Basic by default: any server at that address receives them.
    ///   - user: The user name.
    ///   - password: The password.
    ///   - method: The scheme; nil for the strongest offered scheme that needs one request.
    ///   - role: The party that the credentials are for. The status of `failure` takes precedence.
    /// - Throws: ``HTTPAuthError``, also for schemes that authenticate connections; use ``HTTPAuthentication`` for
    ///   those.
    ///
    /// Replaces `CFHTTPMessageAddAuthentication`.
    public mutating func addAuthentication(
        answering failure: HTTPResponse?, user: String, password: String, method: AuthenticationMethod? = nil,
        for role: ProtectionSpace.Role = .origin
    ) throws(HTTPAuthError) {
        var policy = AuthenticationPolicy()
        policy.methods = [.digest, .basic]
        let authentication: HTTPAuthentication
        if let failure {
            if let method { policy.methods = [method] }
            guard let asked = HTTPAuthentication(response: failure, policy: policy) else {
                throw HTTPAuthError(
                    .outOfOrder, detail: "status \(failure.status.code) does not ask for authentication")
            }
            authentication = asked
        } else {
            authentication = HTTPAuthentication(
                preemptive: method ?? .basic, to: ProtectionSpace(role, of: role == .origin ? url : nil), policy: policy
            )
        }
        guard !authentication.isConnectionBound else {
            throw HTTPAuthError(
                .outOfOrder, scheme: authentication.method?.name,
                detail: "the scheme needs several requests on one connection")
        }
        try authentication.apply(to: &self, user: user, password: password)
    }
}
