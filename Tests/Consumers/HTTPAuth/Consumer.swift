import HTTPAuth

/// Reads the challenges of a response.
@main struct Consumer {
    static func main() throws {
        var response = try HTTPResponse(status: .unauthorized)
        try response.fields.append("Negotiate, Digest realm=\"a, b\", nonce=\"x\"", for: .wwwAuthenticate)
        try response.fields.append("Basic realm=\"a\"", for: .wwwAuthenticate)
        let found = ChallengeParser().parse(response)
        print(found.challenges.map { "\($0.scheme):\($0["realm"] ?? "-")" }.joined(separator: " "), Secret("hidden"))
    }
}
