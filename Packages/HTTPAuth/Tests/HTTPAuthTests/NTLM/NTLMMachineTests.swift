import HTTPAuthTesting
import Testing

@testable import HTTPAuth

@Suite struct NTLMMachineTests {
    private let random = [UInt8](0..<24)
    private let binding = Array("tls-server-end-point:".utf8) + Array(repeating: 7, count: 32)

    private func account(_ user: String = "alice", domain: String? = nil) throws -> NTLMAccount {
        try NTLMAccount(user: user, domain: domain, proof: .password(Secret("open sesame")))
    }

    private func login(
        _ acceptor: NTLMAcceptor, _ account: NTLMAccount, binding: [UInt8]? = nil, password: String = "open sesame"
    ) throws -> (message: NTLMAuthenticateMessage, key: [UInt8]?) {
        var machine = NTLMMachine(account: account, channelBinding: binding, targetName: "HTTP/localhost")
        let first = machine.start()
        let answer = try machine.answer(acceptor.message, time: 1, random: random)
        return (
            try NTLMAuthenticateMessage(answer), try acceptor.accept(answer, first: first, password: password)
        )
    }

    @Test(arguments: [
        ("alice", "alice", nil), ("D\\alice", "alice", "D"), ("D\\a\\b", "a\\b", "D"),
        ("alice@d.example", "alice@d.example", ""),
        // U+0301 forms one character with the delimiter before it.
        ("D\\\u{301}alice", "\u{301}alice", "D"), ("alice@\u{301}d", "alice@\u{301}d", ""),
    ])
    func domains(_ sample: (text: String, user: String, domain: String?)) throws {
        let account = try account(sample.text)
        #expect(account.user == sample.user && account.domain == sample.domain)
    }

    @Test func logsIn() throws {
        let (message, key) = try login(NTLMAcceptor(), try account(), binding: binding)
        #expect(key == Array(random[8...]))
        #expect(message.user == "alice" && message.domain == "PEERS" && message.workstation.isEmpty)
        let info = try #require(message.targetInfo)
        #expect(info.hasMIC)
        #expect(info.text(.targetName) == "HTTP/localhost")
        #expect(info[.channelBindings] == (try NTLMResponse.channelBindingHash(of: binding)))
        #expect(info.text(.computerName) == "HOST")
        #expect(message.lmResponse == Array(repeating: 0, count: 24))
        #expect(Array(message.ntResponse[24..<32]) == bytes("0011223344556677"))
    }

    @Test func wrongPasswordIsDetected() throws {
        #expect(try login(NTLMAcceptor(), try account(), password: "open").key == nil)
    }

    @Test func withoutTLSTheBindingIsZero() throws {
        let (message, _) = try login(NTLMAcceptor(), try account())
        #expect(message.targetInfo?[.channelBindings] == Array(repeating: 0, count: 16))
    }

    /// A server, or an attacker on the path, must not choose what the client vouches for.
    @Test func serverValuesAreReplaced() throws {
        var acceptor = NTLMAcceptor()
        acceptor.values += [
            (.channelBindings, Array(repeating: 9, count: 16)), (.targetName, Array(utf16LittleEndian: "HTTP/evil")),
            (.flags, [1, 0, 0, 0]), (.singleHost, Array(repeating: 1, count: 48)),
        ]
        let (message, key) = try login(acceptor, try account(), binding: binding)
        let info = try #require(message.targetInfo)
        #expect(key != nil)
        #expect(info.text(.targetName) == "HTTP/localhost")
        #expect(info[.channelBindings] == (try NTLMResponse.channelBindingHash(of: binding)))
        #expect(info.flags == 3)
        #expect(info[.singleHost] == nil)
    }

    /// If the server sends no clock, the client's time is used, both responses are sent, and so is the integrity code.
    @Test func serverWithoutClock() throws {
        var acceptor = NTLMAcceptor()
        acceptor.values = []
        let (message, key) = try login(acceptor, try account())
        #expect(key != nil)
        #expect(message.mic != nil && message.targetInfo?.hasMIC == true)
        #expect(Array(message.ntResponse[24..<32]) == [1, 0, 0, 0, 0, 0, 0, 0])
        #expect(message.lmResponse.suffix(8) == random.prefix(8))
    }

    @Test func serverWithoutKeyExchange() throws {
        var acceptor = NTLMAcceptor()
        acceptor.flags.remove(.keyExchange)
        let (message, key) = try login(acceptor, try account())
        #expect(key != nil && message.encryptedSessionKey.isEmpty)
    }

    @Test(
        arguments: [
            ("alice", nil, "alice", "PEERS"), ("alice", "", "alice", "PEERS"), ("alice", "CORP", "alice", "CORP"),
            ("CORP\\alice", nil, "alice", "CORP"), ("CORP\\alice", "OTHER", "alice", "OTHER"),
            ("alice@corp.example", nil, "alice@corp.example", ""), ("\\alice", nil, "alice", "PEERS"),
            ("a\\b\\c", nil, "b\\c", "a"), ("日本", "é", "日本", "é"),
        ] as [(String, String?, String, String)])
    func names(_ user: String, _ domain: String?, _ sentUser: String, _ sentDomain: String) throws {
        let (message, key) = try login(NTLMAcceptor(), try account(user, domain: domain))
        #expect(message.user == sentUser && message.domain == sentDomain)
        #expect(key != nil)
    }

    @Test func rejectsAnonymousAndLongNames() {
        #expect(throws: HTTPAuthError.ntlmAnonymous) { try account("") }
        #expect(throws: HTTPAuthError.ntlmAnonymous) { try account("CORP\\") }
        #expect(throws: HTTPAuthError.ntlmNameTooLong) { try account(String(repeating: "a", count: 1025)) }
        #expect(throws: HTTPAuthError.ntlmNameTooLong) { try account("a", domain: String(repeating: "a", count: 1025)) }
        #expect(throws: HTTPAuthError.self) {
            try NTLMAccount(user: "a", domain: nil, proof: .ntHash(Secret(bytes: [1, 2, 3])))
        }
    }

    @Test func rejectsServersWithoutUnicode() throws {
        var acceptor = NTLMAcceptor()
        acceptor.flags.remove(.unicode)
        #expect(throws: HTTPAuthError.self) { try login(acceptor, try account()) }
    }

    @Test func oneAnswerOnly() throws {
        var machine = NTLMMachine(account: try account(), channelBinding: nil, targetName: "HTTP/localhost")
        #expect(throws: HTTPAuthError.ntlmOutOfOrder) {
            try machine.answer(NTLMAcceptor().message, time: 0, random: random)
        }
        _ = machine.start()
        _ = try machine.answer(NTLMAcceptor().message, time: 0, random: random)
        #expect(throws: HTTPAuthError.ntlmOutOfOrder) {
            try machine.answer(NTLMAcceptor().message, time: 0, random: random)
        }
    }

    @Test func firstMessageNamesNothing() throws {
        var machine = NTLMMachine(
            account: try account("CORP\\alice"), channelBinding: nil, targetName: "HTTP/localhost")
        let first = machine.start()
        #expect(first.count == 40)
        let message = try NTLMNegotiateMessage(first)
        #expect(message == .ours && message.domain.isEmpty && message.workstation.isEmpty)
        #expect(message.flags.isDisjoint(with: [.lanManagerKey, .anonymous, .oem]))
    }
}

/// Damaged challenges, identical in every run: the client throws, or sends a well-formed response.
@Suite struct NTLMMutationTests {
    @Test(arguments: 0..<8)
    func damagedChallenges(_ seed: Int) throws {
        var damage = Damage(seed: UInt64(seed) + 1)
        let account = try NTLMAccount(user: "alice", domain: nil, proof: .password(Secret("open sesame")))
        var acceptor = NTLMAcceptor()
        acceptor.values += [(.dnsTreeName, Array(utf16LittleEndian: "peers.test")), (.flags, [0, 0, 0, 0])]
        let message = acceptor.message
        var answered = 0
        for _ in 0..<4000 {
            let damaged = damage.applied(to: message)
            var machine = NTLMMachine(account: account, channelBinding: nil, targetName: "HTTP/localhost")
            _ = machine.start()
            guard let answer = try? machine.answer(damaged, time: 0, random: Array(repeating: 1, count: 24)) else {
                continue
            }
            answered += 1
            #expect(answer.count < 2 * NTLMReader.maximumByteCount)
            let read = try NTLMAuthenticateMessage(answer)
            #expect(read.targetInfo?.hasMIC == true && read.mic != nil)
        }
        // Both outcomes must occur often, or the amount of damage is wrong.
        #expect(answered > 100 && answered < 3900)
    }

    @Test func damagedOthers() throws {
        var damage = Damage(seed: 99)
        let third = NTLMAuthenticateMessage(
            flags: [.unicode, .version], domain: "PEERS", user: "alice", workstation: "PC",
            lmResponse: Array(repeating: 1, count: 24), ntResponse: Array(repeating: 2, count: 90),
            encryptedSessionKey: Array(repeating: 3, count: 16), version: .ours, mic: Array(repeating: 4, count: 16))
        for message in [third.bytes, NTLMNegotiateMessage.ours.bytes] {
            for _ in 0..<8000 {
                let damaged = damage.applied(to: message)
                _ = try? NTLMNegotiateMessage(damaged)
                if let read = try? NTLMAuthenticateMessage(damaged) { _ = (read.targetInfo, read.bytes) }
            }
        }
    }
}
