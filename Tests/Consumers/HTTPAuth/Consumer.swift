import HTTPAuth

/// Reads the challenges of a response and answers one of them, with Digest if Kerberos is not installed.
@main struct Consumer {
    static func main() throws {
        var response = try HTTPResponse(status: .unauthorized)
        try response.fields.append("Negotiate, Digest realm=\"a, b\", nonce=\"x\"", for: .wwwAuthenticate)
        try response.fields.append("Basic realm=\"a\"", for: .wwwAuthenticate)
        let found = ChallengeParser().parse(response)
        print(found.challenges.map { "\($0.scheme):\($0["realm"] ?? "-")" }.joined(separator: " "), Secret("hidden"))

        let place = ProtectionSpace(.origin, scheme: "http", host: "example.org", port: 80)
        guard let authentication = HTTPAuthentication(response: response, from: place) else { return }
        print(authentication.explain())
        guard authentication.requiresUserNameAndPassword else { return }
        var request = try HTTPRequest(method: .get, target: "/")
        try authentication.apply(to: &request, user: "joe", password: "secret")
        print(request.fields[.authorization]?.prefix { $0 != " " } ?? "-")
    }
}
