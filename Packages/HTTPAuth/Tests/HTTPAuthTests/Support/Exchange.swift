import HTTPAuth

/// Requests, responses and protection spaces that the tests share.
enum Exchange {
    static let origin = ProtectionSpace(.origin, scheme: "http", host: "example.org", port: 80)
    static let proxy = ProtectionSpace(.proxy, scheme: "http", host: "proxy.example", port: 3128)

    static func request(_ target: RequestTarget = "/dir/index.html", host: String = "example.org") throws -> HTTPRequest
    {
        var request = try HTTPRequest(method: .get, target: target)
        try request.fields.set(host, for: .host)
        return request
    }

    static func response(_ status: HTTPStatus = .unauthorized, _ fields: [(HTTPFieldName, String)]) throws
        -> HTTPResponse
    {
        var response = try HTTPResponse(status: status)
        for (name, value) in fields { try response.fields.append(value, for: name) }
        return response
    }

    static func challenge(_ values: String...) throws -> HTTPResponse {
        try response(.unauthorized, values.map { (.wwwAuthenticate, $0) })
    }

    /// Creates an object for the origin from these challenges.
    static func authentication(
        _ values: String..., policy: AuthenticationPolicy = .init()
    ) throws -> HTTPAuthentication {
        let response = try response(.unauthorized, values.map { (.wwwAuthenticate, $0) })
        return HTTPAuthentication(response: response, from: origin, policy: policy)!
    }
}

extension HTTPRequest {
    /// The scheme and parameters of the request's credentials.
    var credentials: Challenge? {
        guard let field = fields.first(where: { $0.name == .authorization || $0.name == .proxyAuthorization }) else {
            return nil
        }
        return ChallengeParser(leniency: .strict).parse(field.rawValue).challenges.first
    }
}
