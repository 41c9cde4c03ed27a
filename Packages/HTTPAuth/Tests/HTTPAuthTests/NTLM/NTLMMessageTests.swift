import HTTPAuthTesting
import Testing

@testable import HTTPAuth

@Suite struct NTLMMessageTests {
    /// The server's message in the example of MS-NLMP section 4.2.4.3.
    private let example = bytes(
        """
        4e544c4d53535000 02000000 0c000c0038000000 33828ae2 0123456789abcdef 0000000000000000 2400240044000000
        060070170000000f 530065007200760065007200 02000c0044006f006d00610069006e00 01000c00530065007200760065007200
        00000000
        """)

    @Test func challengeOfTheSpecification() throws {
        let message = try NTLMChallengeMessage(example)
        #expect(message.flags.rawValue == 0xe28a_8233)
        #expect(hexadecimal(message.challenge) == "0123456789abcdef")
        #expect(message.targetName == "Server")
        #expect(message.targetInfo?.text(.domainName) == "Domain")
        #expect(message.targetInfo?.text(.computerName) == "Server")
        #expect(message.targetInfo?.timestamp == nil)
        #expect(message.version == NTLMVersion(major: 6, minor: 0, build: 6000))
    }

    /// Old servers end the message after the challenge or after the reserved bytes.
    @Test func shortChallenge() throws {
        let short = bytes("4e544c4d5353500002000000 0000000020000000 07820000 0123456789abcdef")
        let message = try NTLMChallengeMessage(short)
        #expect(message.targetInfo == nil && message.targetName.isEmpty && message.version == nil)
    }

    @Test func everyTruncationIsRejected() throws {
        for count in 0..<example.count {
            let cut = Array(example[..<count])
            // The target information extends to the last byte, so every truncation is detected.
            #expect(throws: HTTPAuthError.self) { try NTLMChallengeMessage(cut) }
        }
    }

    /// Lengths and offsets at the boundaries of the message and of 32 bits, for each field.
    @Test(arguments: [12, 40])
    func fieldsStayWithin(_ field: Int) throws {
        let lengths: [Int] = [0, 1, 2, 35, 36, 37, 80, 0x7fff, 0x8000, 0xffff]
        let offsets: [Int] = [0, 8, 31, 32, 56, 103, 104, 105, 0x7fff_ffff, 0x8000_0000, 0xffff_0000, 0xffff_ffff]
        for length in lengths {
            for offset in offsets {
                var message = example
                for byte in 0..<2 { message[field + byte] = UInt8(truncatingIfNeeded: length >> (8 * byte)) }
                for byte in 0..<4 { message[field + 4 + byte] = UInt8(truncatingIfNeeded: offset >> (8 * byte)) }
                let lies = length == 0 || (offset >= 32 && offset + length <= message.count)
                let read = try? NTLMChallengeMessage(message)
                if !lies && field == 12 { #expect(read == nil) }
                if length == 0 { #expect(read != nil || field == 12) }
            }
        }
    }

    @Test func sizesAreBounded() {
        let huge = example + Array(repeating: 0, count: NTLMReader.maximumByteCount)
        #expect(throws: HTTPAuthError.self) { try NTLMChallengeMessage(huge) }
    }

    @Test(arguments: [
        ("", "no terminator"), ("0000", "no terminator"), ("00000100aa", "terminator has a value"),
        ("0100040061006200", "no terminator"), ("01000700610062000000", "truncated"), ("0100ffff00000000", "truncated"),
        ("0700040000000000 00000000", "8"), ("06000200000000000000", "4"), ("0a00010000 00000000", "16"),
        ("01000200610001000200620000000000", "duplicate"),
    ])
    func brokenTargetInformation(_ digits: String, _ reason: String) {
        #expect(failure(of: { _ = try NTLMTargetInfo(bytes(digits)) })?.description.contains(reason) == true)
    }

    @Test func targetInformationRoundTrip() throws {
        let list = bytes("02000c0044006f006d00610069006e00 0700080011223344556677 88 ff000100aa 00000000")
        let info = try NTLMTargetInfo(list + [1, 2, 3])
        #expect(info.bytes == list)
        #expect(info.timestamp == 0x8877_6655_4433_2211)
        #expect(info[.init(rawValue: 0xff)] == [0xaa])
        var changed = info
        changed[.domainName] = nil
        changed[.timestamp] = Array(repeating: 0, count: 8)
        #expect(changed.values.map(\.identifier.rawValue) == [7, 0xff])
        #expect(changed != info)
    }

    @Test func otherMessagesRoundTrip() throws {
        let first = NTLMNegotiateMessage(
            flags: [.unicode, .ntlm, .domainSupplied, .version], domain: "MYDOMAIN", workstation: "MYPC", version: .ours
        )
        #expect(try NTLMNegotiateMessage(first.bytes) == first)
        for mic in [nil, [UInt8](repeating: 3, count: 16)] {
            let third = NTLMAuthenticateMessage(
                flags: [.unicode, .ntlm, .version], domain: "é", user: "日本", workstation: "PC",
                lmResponse: Array(repeating: 1, count: 24), ntResponse: Array(repeating: 2, count: 60),
                encryptedSessionKey: [], version: .ours, mic: mic)
            #expect(try NTLMAuthenticateMessage(third.bytes) == third)
        }
        #expect(try NTLMNegotiateMessage(Array(first.bytes.prefix(16))).flags == first.flags)
        #expect(throws: HTTPAuthError.self) { try NTLMNegotiateMessage(Array(first.bytes.prefix(15))) }
        #expect(throws: HTTPAuthError.self) { try NTLMNegotiateMessage(example) }
        #expect(throws: HTTPAuthError.self) { try NTLMAuthenticateMessage(example) }
    }
}
