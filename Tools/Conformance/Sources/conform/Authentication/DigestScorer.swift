import Foundation

@testable import HTTPAuth

/// Runs the file of Digest responses: our `response` and user hash must equal the source's.
struct DigestScorer: Scorer {
    private let space = ProtectionSpace(.origin, scheme: "http", host: "h", port: 80)

    func runs(file: String) -> Bool { file == "digest-vectors.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let inputs = row.json["inputs"] as? [String: Any], let expected = row.json["expected"] as? [String: Any]
        else { throw CaseError("\(row.name): no inputs") }
        func text(_ key: String) -> String? { inputs[key] as? String }
        func bytes(_ key: String) -> [UInt8] { Array((text(key) ?? "").utf8) }
        let protection = text("qop").flatMap { DigestProtection(rawValue: $0) }
        guard let algorithm = DigestAlgorithm(text("algorithm")), text("qop") == nil || protection != nil else {
            return .stricter(rule: "unsupportedChallenge")
        }
        let credential = Credential(user: text("username") ?? "", password: text("password") ?? "", for: space)
        let key = try DigestComputation.key(
            algorithm, user: credential.user, realm: bytes("realm"), password: Secret(text("password") ?? ""))
        let computation = DigestComputation(
            algorithm: algorithm, key: key, nonce: bytes("nonce"), clientNonce: bytes("cnonce"), count: bytes("nc"),
            protection: protection, uri: Array((text("uri") ?? "/").utf8))
        let response = AuthGrammar.text(
            try computation.response(
                method: text("method") ?? "GET", body: Array((text("entity_body") ?? text("body") ?? "").utf8)))
        if let want = expected["response"] as? String, want != response {
            return .wrongFields(detail: "response \(response) instead of \(want)")
        }
        if let want = expected["userhash"] as? String,
            try userHash(credential, text("realm") ?? "", text("algorithm")) != want
        {
            return .wrongFields(detail: "the user hash differs")
        }
        return .agreed
    }

    /// Returns the user name in the field if the challenge requests a hash.
    private func userHash(_ credential: Credential, _ realm: String, _ algorithm: String?) throws -> String? {
        var scheme = try AuthenticationMethod.digest.conversation(in: space)
        var challenge = Challenge(
            scheme: "Digest",
            parameters: [.init("realm", realm), .init("nonce", "n"), .init("userhash", "true")])
        if let algorithm { challenge.parameters.append(.init("algorithm", algorithm)) }
        _ = try scheme.receive(challenge, answering: nil)
        let input = AuthenticationInput(
            method: .get, target: "/", body: .bytes([]), space: space, time: 0,
            random: [UInt8](repeating: 0, count: 32))
        guard case .send(let field) = try scheme.respond(to: input, with: credential) else { return nil }
        return ChallengeParser().parse(field).challenges.first?["username"]
    }
}
