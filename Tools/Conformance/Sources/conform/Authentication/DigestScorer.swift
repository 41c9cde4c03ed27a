import Foundation
@_spi(Conformance) import HTTPAuth

/// Runs the file of Digest responses: our `response` and user hash must equal the source's.
struct DigestScorer: Scorer {
    func runs(file: String) -> Bool { file == "digest-vectors.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let inputs = row.json["inputs"] as? [String: Any], let expected = row.json["expected"] as? [String: Any]
        else { throw CaseError("\(row.name): no inputs") }
        func text(_ key: String) -> String? { inputs[key] as? String }
        var vector = DigestVector()
        vector.user = text("username") ?? ""
        vector.password = text("password") ?? ""
        vector.realm = text("realm") ?? ""
        vector.nonce = text("nonce") ?? ""
        vector.method = text("method") ?? "GET"
        vector.uri = text("uri") ?? "/"
        vector.algorithm = text("algorithm")
        vector.protection = text("qop")
        vector.count = text("nc") ?? ""
        vector.clientNonce = text("cnonce") ?? ""
        vector.body = Array((text("entity_body") ?? text("body") ?? "").utf8)
        guard let response = try vector.response() else {
            return .stricter(rule: "unsupportedChallenge")
        }
        if let want = expected["response"] as? String, want != response {
            return .wrongFields(detail: "response \(response) instead of \(want)")
        }
        if let want = expected["userhash"] as? String, try userHash(vector) != want {
            return .wrongFields(detail: "the user hash differs")
        }
        return .agreed
    }

    /// Returns the user name that is sent if the challenge requests a hashed user name.
    private func userHash(_ vector: DigestVector) throws -> String? {
        let space = ProtectionSpace(.origin, scheme: "http", host: "h", port: 80)
        var scheme = try AuthenticationMethod.digest.conversation(in: space)
        var challenge = Challenge(
            scheme: "Digest",
            parameters: [.init("realm", vector.realm), .init("nonce", vector.nonce), .init("userhash", "true")])
        if let algorithm = vector.algorithm { challenge.parameters.append(.init("algorithm", algorithm)) }
        _ = try scheme.receive(challenge, answering: nil)
        let input = AuthenticationInput(
            method: .get, target: "/", body: .bytes([]), space: space, time: 0,
            random: [UInt8](repeating: 0, count: 32))
        let credential = Credential(user: vector.user, password: vector.password, for: space)
        guard case .send(let field) = try scheme.respond(to: input, with: credential) else { return nil }
        return ChallengeParser().parse(field).challenges.first?["username"]
    }
}
