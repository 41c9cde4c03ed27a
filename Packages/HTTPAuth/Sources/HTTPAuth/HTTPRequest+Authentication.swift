public import HTTPMessage

extension HTTPRequest {
    /// Puts credentials on this request, once: nothing is remembered for the next.
    ///
    /// - Parameters:
    ///   - failure: The response that asked. Nil sends **Basic unasked**: to whoever answers at that address.
    ///   - user: The user name.
    ///   - password: The password.
    ///   - method: The scheme to use; nil for the strongest that is offered and needs one request only.
    ///   - role: Who is to have them; the response's status wins.
    ///
    /// Throws ``HTTPAuthError``, also for schemes that authenticate connections, which need ``HTTPAuthentication``.
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
                unasked: method ?? .basic, to: ProtectionSpace(role, of: role == .origin ? url : nil), policy: policy)
        }
        guard !authentication.isConnectionBound else {
            throw HTTPAuthError(
                .outOfOrder, scheme: authentication.method?.name,
                detail: "the scheme needs several requests on one connection")
        }
        try authentication.apply(to: &self, user: user, password: password)
    }
}
