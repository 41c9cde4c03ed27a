import Foundation

@testable import HTTPAuth

/// The inputs of an NTLM row, with access to hexadecimal members as bytes.
struct NTLMInputs {
    private let json: [String: Any]

    init(_ json: [String: Any]) {
        self.json = json
    }

    func text(_ key: String) -> String? { json[key] as? String }

    func bytes(_ key: String) -> [UInt8] {
        let digits = (text(key) ?? "").compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - digits.count % 2, by: 2).map {
            UInt8(digits[$0] << 4 | digits[$0 + 1])
        }
    }

    var flags: NTLMFlags {
        NTLMFlags(rawValue: UInt32((text("flags") ?? "").dropFirst(2), radix: 16) ?? 0)
    }

    /// The NT hash of the password.
    func hash() throws -> Secret { try NTHash.of(password: Secret(text("password") ?? "")) }

    /// The NTLMv2 key of the account.
    func responseKey() throws -> [UInt8] {
        try NTHash.responseKey(hash(), user: text("user") ?? "", domain: text("domain") ?? "")
    }

    static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
