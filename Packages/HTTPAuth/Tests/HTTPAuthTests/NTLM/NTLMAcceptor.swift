import HTTPAuthTesting

@testable import HTTPAuth

/// The server side of a login, as far as the tests need it: creates a challenge and verifies a response.
struct NTLMAcceptor {
    var flags = NTLMNegotiateMessage.ours.flags.union(.targetIsServer)
    var challenge = bytes("0123456789abcdef")
    var targetName = "PEERS"
    var values: [(NTLMTargetInfo.Identifier, [UInt8])] = [
        (.domainName, Array(utf16LittleEndian: "PEERS")), (.computerName, Array(utf16LittleEndian: "HOST")),
        (.timestamp, bytes("0011223344556677")),
    ]

    var targetInfo: NTLMTargetInfo {
        var info = NTLMTargetInfo()
        for (identifier, value) in values { info[identifier] = value }
        return info
    }

    var message: [UInt8] {
        var writer = NTLMWriter(type: 2, headerSize: 56)
        writer.field(Array(utf16LittleEndian: targetName))
        writer.number(flags.rawValue)
        writer.raw(challenge)
        writer.raw(Array(repeating: 0, count: 8))
        writer.field(targetInfo.bytes)
        writer.raw(NTLMVersion(major: 6, minor: 1, build: 7600).bytes)
        return writer.finished()
    }

    /// Returns the session key if the password and the integrity code are right; otherwise nil.
    func accept(_ answer: [UInt8], first: [UInt8], password: String, domain: String? = nil) throws -> [UInt8]? {
        let answer = try NTLMAuthenticateMessage(answer)
        let key = try NTHash.responseKey(
            NTHash.of(password: Secret(password)), user: answer.user, domain: domain ?? answer.domain)
        let proof = Array(answer.ntResponse.prefix(16))
        guard try NTLMDigests.hmacMD5(key: key, challenge, Array(answer.ntResponse.dropFirst(16))) == proof else {
            return nil
        }
        var session = try NTLMDigests.hmacMD5(key: key, proof)
        if answer.flags.contains(.keyExchange) {
            var stream = RC4(key: session)
            session = stream.apply(to: answer.encryptedSessionKey)
        }
        guard let mic = answer.mic else { return nil }
        var blank = answer.bytes
        blank.replaceSubrange(72..<88, with: Array(repeating: 0, count: 16))
        return try NTLMDigests.hmacMD5(key: session, first, message, blank) == mic ? session : nil
    }
}
