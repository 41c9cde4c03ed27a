import Foundation

@testable import HTTPAuth

/// Runs the file of SPNEGO tokens: each part must be decoded as the source decodes it.
struct SPNEGOScorer: Scorer {
    func runs(file: String) -> Bool { file == "spnego-tokens.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let expected = row.json["expected"] as? [String: Any] else {
            throw CaseError("\(row.name): no expected result")
        }
        if let numbers = row.json["mech_types"] as? [String] { return list(numbers, expected) }
        let token: AuthenticationToken
        do {
            token = try AuthenticationToken(try row.bytes("input_b64"))
        } catch let error as HTTPAuthError {
            return .stricter(rule: error.code.rawValue)
        }
        var found: [String: String] = [:]
        switch token.content {
        case .spnego(.initial(let token)):
            found["type"] = "NegTokenInit"
            found["mech_types"] = token.mechanisms.map(\.dotted).joined(separator: " ")
            found["mech_token"] = token.token.map(NTLMInputs.hexadecimal)
            found["hint_name"] = token.hint
            found["mech_list_mic"] = token.signature.map(NTLMInputs.hexadecimal)
        case .spnego(.reply(let token)):
            found["type"] = "NegTokenResp"
            found["neg_state"] = token.state.map { "\($0.rawValue)" }
            found["supported_mech"] = token.mechanism?.dotted
            found["response_token"] = token.token.map(NTLMInputs.hexadecimal)
            found["mech_list_mic"] = token.signature.map(NTLMInputs.hexadecimal)
        case .ntlmNegotiate, .ntlmChallenge, .ntlmAuthenticate, .kerberos, .other:
            found["type"] = "bytes"
        }
        for (key, value) in expected {
            let want: String? =
                switch value {
                case let text as String: text
                case let list as [String]: list.joined(separator: " ")
                case let number as Int: "\(number)"
                default: nil
                }
            if found[key] != want {
                return .wrongFields(detail: "\(key) is \(found[key] ?? "absent") instead of \(want ?? "absent")")
            }
        }
        return .agreed
    }

    private func list(_ numbers: [String], _ expected: [String: Any]) -> Outcome {
        let known: [MechanismIdentifier] = [.kerberos, .kerberosOfMicrosoft, .ntlm, .negoEx, .spnego]
        let mechanisms = numbers.compactMap { number in known.first { $0.dotted == number } }
        guard mechanisms.count == numbers.count else {
            return .notComparable(reason: "a mechanism that HTTPAuth never offers")
        }
        let found = NTLMInputs.hexadecimal(SPNEGOInitialToken.signedList(mechanisms))
        return found == expected["der"] as? String ? .agreed : .wrongFields(detail: "the list is \(found)")
    }
}
