import HTTPAuthTesting
import Testing

@testable import HTTPAuth

@Suite struct NTLMSchemeTests {
    private let space = ProtectionSpace(.origin, scheme: "http", host: "localhost", port: 80)
    private var credential: Credential { Credential(user: "alice", password: "open sesame", for: space) }
    private let acceptor = NTLMAcceptor()

    private var input: AuthenticationInput {
        AuthenticationInput(
            method: .get, target: "/", body: .bytes([]), space: space, time: 0,
            random: Array(repeating: 1, count: 32))
    }

    private func sent(_ step: AuthenticationStep) throws -> [UInt8] {
        guard case .send(let value) = step else { throw HTTPAuthError(.outOfOrder) }
        return value
    }

    private func token(_ bytes: [UInt8]? = nil) -> Challenge {
        Challenge(scheme: "NTLM", token: bytes.map { String(decoding: Base64.encode($0), as: UTF8.self) })
    }

    /// Runs a login up to the third message.
    private func answered() throws -> (NTLMScheme, [UInt8]) {
        var scheme = NTLMScheme(space, NTLMOptions(workstation: "PC-17", serviceName: "HTTP/other"))
        #expect(try scheme.receive(token(), answering: nil) == .fresh)
        let first = try sent(try scheme.respond(to: input, with: credential))
        #expect(first.starts(with: Array("NTLM TlRMTVNTUAAB".utf8)))
        #expect(try scheme.receive(token(acceptor.message), answering: first) == .continues)
        let answer = try sent(try scheme.respond(to: input, with: credential))
        return (scheme, answer)
    }

    // Parity: HA-012, HA-045
    @Test("HA-012, HA-045: NTLM authenticates the connection") func authenticatesTheConnection() throws {
        var (scheme, field) = try answered()
        let bytes = try #require(Base64.decode(String(decoding: field.dropFirst(5), as: UTF8.self)))
        let answer = try NTLMAuthenticateMessage(bytes)
        #expect(answer.workstation == "PC-17" && answer.targetInfo?.text(.targetName) == "HTTP/other")
        let key = try acceptor.accept(bytes, first: NTLMNegotiateMessage.ours.bytes, password: "open sesame")
        #expect(key != nil)
        try scheme.finish(Acceptance(status: .ok, sent: field))
        guard case .nothing = try scheme.respond(to: input, with: credential) else {
            Issue.record("a field on an authenticated connection")
            return
        }
        scheme.disconnected()
        let again = try sent(try scheme.respond(to: input, with: credential))
        #expect(again == TokenField.value("NTLM", NTLMNegotiateMessage.ours.bytes))
    }

    @Test func refusal() throws {
        var (scheme, field) = try answered()
        #expect(try scheme.receive(token(), answering: field) == .refused)
        #expect(try sent(try scheme.respond(to: input, with: credential)).count > 5)
    }

    @Test func serverWithoutChallenge() throws {
        var scheme = NTLMScheme(space, NTLMOptions())
        _ = try scheme.receive(token(), answering: nil)
        let first = try sent(try scheme.respond(to: input, with: credential))
        #expect(throws: HTTPAuthError.self) { try scheme.receive(token(), answering: first) }
    }

    @Test func challengesOutOfOrder() throws {
        var scheme = NTLMScheme(space, NTLMOptions())
        #expect(throws: HTTPAuthError.ntlmOutOfOrder) {
            try scheme.receive(token(acceptor.message), answering: Array("NTLM x".utf8))
        }
        var (done, field) = try answered()
        #expect(throws: HTTPAuthError.ntlmOutOfOrder) {
            try done.receive(token(acceptor.message), answering: field)
        }
    }

    @Test func malformedTokens() throws {
        var scheme = NTLMScheme(space, NTLMOptions())
        _ = try scheme.receive(token(), answering: nil)
        let first = try sent(try scheme.respond(to: input, with: credential))
        var other = scheme
        #expect(
            failure(of: { _ = try scheme.receive(Challenge(scheme: "NTLM", token: "a"), answering: first) })?.code
                == .malformedToken)
        _ = try other.receive(token([1, 2, 3]), answering: first)
        #expect(failure(of: { _ = try other.respond(to: input, with: credential) })?.code == .malformedToken)
    }

    @Test func requiresCredential() {
        var scheme = NTLMScheme(space, NTLMOptions())
        #expect(scheme.traits.requiresUserNameAndPassword && scheme.traits.requiresAccountDomain)
        #expect(scheme.traits.isConnectionBound && scheme.traits.requiresOrderedRequests && scheme.realm == nil)
        #expect(throws: HTTPAuthError(.missingUserName, scheme: "NTLM")) { try scheme.respond(to: input, with: nil) }
    }

    @Test(
        arguments: [
            (0, 116_444_736_000_000_000), (1_000_000_000, 116_444_736_010_000_000), (-1, 116_444_736_000_000_000),
            (Int64.max, 208_678_456_368_547_758), (.min, 24_211_015_631_452_242),
        ] as [(Int64, UInt64)])
    func time(_ unix: Int64, _ file: UInt64) {
        #expect(FileTime.of(unixNanoseconds: unix) == file)
    }
}
