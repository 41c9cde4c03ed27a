import Foundation

@testable import HTTPAuth

/// Runs the file of NTLM computations and messages. Rows about NTLMv1 are stricter: HTTPAuth does not implement it.
struct NTLMScorer: Scorer {
    func runs(file: String) -> Bool { file == "ntlm-vectors.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let inputs = row.json["inputs"] as? [String: Any], let expected = row.json["expected"] as? [String: Any],
            let function = row.text("function")
        else { throw CaseError("\(row.name): no inputs") }
        let values = NTLMInputs(inputs)
        switch function {
        case "NTOWFv1": return compare(expected, ["hash": try values.hash().withBytes { Array($0) }])
        case "NTOWFv2": return compare(expected, ["hash": try values.responseKey()])
        case "compute_response_v2", "LMv2 response", "NTLMv2 response": return try response(values, expected)
        case "RC4": return compare(expected, ["out": rc4(values.bytes("key"), values.bytes("data"))])
        case "session key (MD4(NT hash))":
            return compare(expected, ["session_key": MD4.digest(of: try values.hash().withBytes { Array($0) })])
        case "MsvAvChannelBindings":
            let data = values.bytes("channel_bindings_app_data")
            return compare(expected, ["md5": try NTLMResponse.channelBindingHash(of: data)])
        case "compute_response_v1", "LM response", "NTLM response", "NTLM2 session response", "KXKEY":
            return .stricter(rule: "ntlmVersion1")
        case "SEALKEY", "SIGNKEY", "SEAL": return try session(function, values, expected)
        case "NEGOTIATE_MESSAGE decode":
            let message = try NTLMNegotiateMessage(values.bytes("message"))
            return compare(
                expected, flags: message.flags, texts: ["domain": message.domain, "workstation": message.workstation])
        case "CHALLENGE_MESSAGE decode":
            let message = try NTLMChallengeMessage(values.bytes("message"))
            return compare(
                expected, ["server_challenge": message.challenge, "target_info": message.targetInfo?.bytes ?? []],
                flags: message.flags, texts: ["target_name": message.targetName])
        case "AUTHENTICATE_MESSAGE decode":
            let message = try NTLMAuthenticateMessage(values.bytes("message"))
            return compare(
                expected, ["lm_response": message.lmResponse, "nt_response": message.ntResponse], flags: message.flags,
                texts: ["domain": message.domain, "user": message.user, "workstation": message.workstation])
        default: return .notComparable(reason: "unknown function \(function)")
        }
    }

    private func rc4(_ key: [UInt8], _ data: [UInt8]) -> [UInt8] {
        var cipher = RC4(key: key)
        return cipher.apply(to: data)
    }

    private func response(_ values: NTLMInputs, _ expected: [String: Any]) throws -> Outcome {
        let key = try values.responseKey()
        let (challenge, clientChallenge) = (values.bytes("server_challenge"), values.bytes("client_challenge"))
        let blob = NTLMResponse.blob(
            time: values.bytes("time").reversed().reduce(0) { $0 << 8 | UInt64($1) },
            clientChallenge: clientChallenge, targetInfo: values.bytes("target_info"))
        let proof = try NTLMResponse.proof(key: key, challenge: challenge, blob: blob)
        let sessionKey = try NTLMResponse.sessionKey(key: key, proof: proof)
        return compare(
            expected,
            [
                "nt_proof": proof, "temp": blob, "nt_response": proof + blob,
                "lm_response": try NTLMResponse.lanManager(
                    key: key, challenge: challenge, clientChallenge: clientChallenge),
                "session_base_key": sessionKey,
                "encrypted_session_key(random=55*16)": rc4(sessionKey, Array(repeating: 0x55, count: 16)),
            ])
    }

    private func session(_ function: String, _ values: NTLMInputs, _ expected: [String: Any]) throws -> Outcome {
        let flags = values.flags
        guard flags.contains(.extendedSessionSecurity) else { return .stricter(rule: "ntlmWithoutExtendedSecurity") }
        let key = values.bytes(function == "SEAL" ? "exported_session_key" : "session_key")
        let side: NTLMSession.Side = values.text("mode") == "server" ? .server : .client
        let session = NTLMSession(key: key, flags: flags)
        if function == "SIGNKEY" { return compare(expected, ["key": try session.signingKey(side)]) }
        let sealingKey = try session.sealingKey(side)
        if function == "SEALKEY" { return compare(expected, ["key": sealingKey]) }
        let text = values.bytes("plaintext_utf16le")
        let sealed = rc4(sealingKey, text)
        guard !flags.contains(.keyExchange) else {
            return .notComparable(reason: "HTTP encrypts no messages, so no RC4 state is shared with the signature")
        }
        let signature = try session.signature(of: text, by: side)
        return compare(expected, ["sealed": sealed, "signature": signature])
    }

    /// Agrees if all members that the row expects are computed and equal.
    private func compare(
        _ expected: [String: Any], _ bytes: [String: [UInt8]] = [:], flags: NTLMFlags? = nil,
        texts: [String: String] = [:]
    ) -> Outcome {
        for (key, value) in expected {
            let want = value as? String ?? ""
            let have: String? =
                if key == "flags" {
                    flags.map { "0x" + String($0.rawValue, radix: 16) }
                } else {
                    texts[key] ?? bytes[key].map(NTLMInputs.hexadecimal)
                }
            guard let have else { return .notComparable(reason: "\(key) is not computed") }
            if have != want { return .wrongFields(detail: "\(key) is \(have) instead of \(want)") }
        }
        return .agreed
    }
}
