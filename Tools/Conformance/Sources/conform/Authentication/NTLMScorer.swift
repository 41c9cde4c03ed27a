import Foundation
@_spi(Conformance) import HTTPAuth

/// Runs the file of NTLM computations and messages. Rows about NTLMv1 are stricter: HTTPAuth does not implement it.
struct NTLMScorer: Scorer {
    func runs(file: String) -> Bool { file == "ntlm-vectors.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let inputs = row.json["inputs"] as? [String: Any], let expected = row.json["expected"] as? [String: Any],
            let function = row.text("function")
        else { throw CaseError("\(row.name): no inputs") }
        let values = NTLMInputs(inputs)
        let vector = values.vector
        switch function {
        case "NTOWFv1": return compare(expected, ["hash": try vector.hash()])
        case "NTOWFv2": return compare(expected, ["hash": try vector.responseKey()])
        case "compute_response_v2", "LMv2 response", "NTLMv2 response": return try response(vector, expected)
        case "RC4": return compare(expected, ["out": NTLMVector.rc4(key: values.bytes("key"), values.bytes("data"))])
        case "session key (MD4(NT hash))":
            return compare(expected, ["session_key": NTLMVector.md4(try vector.hash())])
        case "MsvAvChannelBindings":
            let data = values.bytes("channel_bindings_app_data")
            return compare(expected, ["md5": try NTLMVector.channelBindingHash(of: data)])
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

    private func response(_ vector: NTLMVector, _ expected: [String: Any]) throws -> Outcome {
        let response = try vector.response()
        return compare(
            expected,
            [
                "nt_proof": response.proof, "temp": response.blob, "nt_response": response.proof + response.blob,
                "lm_response": response.lanManager, "session_base_key": response.sessionKey,
                "encrypted_session_key(random=55*16)": NTLMVector.rc4(
                    key: response.sessionKey, Array(repeating: 0x55, count: 16)),
            ])
    }

    private func session(_ function: String, _ values: NTLMInputs, _ expected: [String: Any]) throws -> Outcome {
        let flags = values.flags
        guard flags.contains(.extendedSessionSecurity) else { return .stricter(rule: "ntlmWithoutExtendedSecurity") }
        let key = values.bytes(function == "SEAL" ? "exported_session_key" : "session_key")
        let fromClient = values.text("mode") != "server"
        let keys = try NTLMVector.sessionKeys(key, flags: flags, fromClient: fromClient)
        if function != "SEAL" { return compare(expected, ["key": function == "SEALKEY" ? keys.sealing : keys.signing]) }
        let text = values.bytes("plaintext_utf16le")
        let sealed = NTLMVector.rc4(key: keys.sealing, text)
        guard !flags.contains(.keyExchange) else {
            return .notComparable(reason: "HTTP encrypts no messages, so no RC4 state is shared with the signature")
        }
        let signature = try NTLMVector.signature(of: text, key: key, flags: flags, fromClient: fromClient)
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
