internal import Foundation
internal import HTTPAuth
internal import HTTPMessage

extension FuzzTarget {
    /// `WWW-Authenticate`, a line of it for each line of the input, up to a credential on the next request.
    static let challenges = FuzzTarget(name: "challenges") { bytes in
        guard var response = try? HTTPResponse(status: .unauthorized),
            let url = URL(string: "https://www.test/"), var request = try? HTTPRequest(method: .get, url: url)
        else { preconditionFailure("plain messages") }
        for line in bytes.split(separator: 10) {
            try? response.fields.append(rawValue: Array(line), for: .wwwAuthenticate)
        }
        let limits = AuthenticationLimits.default
        let found = ChallengeParser().parse(response)
        precondition(found.challenges.count <= limits.challengeCount)
        precondition(found.challenges.allSatisfy { $0.parameters.count <= limits.parameterCount })
        precondition(found == ChallengeParser().parse(response))
        _ = try? ChallengeParser().parseParameters(bytes)

        let place = ProtectionSpace(.origin, scheme: "https", host: "www.test", port: 443)
        var policy = AuthenticationPolicy()
        policy.methods = [.ntlm, .digest, .basic]
        guard let authentication = HTTPAuthentication(response: response, from: place, policy: policy) else {
            preconditionFailure("a 401")
        }
        _ = (authentication.explain().description, authentication.domains, authentication.realm)
        for _ in 0..<3 {
            guard authentication.isValid,
                (try? authentication.apply(to: &request, user: "joe", password: "secret")) != nil
            else { return }
            precondition(request.fields[.authorization]?.contains("secret") != true)
            _ = try? authentication.update(with: response, to: request)
        }
    }
}
