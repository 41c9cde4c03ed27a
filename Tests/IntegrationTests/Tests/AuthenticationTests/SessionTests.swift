import Foundation
import HTTPAuth
import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// The flow chart of chapter 4 of the guide, against servers in this process that record the requests.
@Suite struct SessionTests {
    /// A server that accepts "joe" with the password "right" by Basic, with a realm for each first folder.
    private static func guarded(
        _ more: @escaping @Sendable (Origin.Request) -> Origin.Response? = { _ in nil }
    ) throws -> Origin {
        try Origin { request in
            if request["Authorization"] == ["Basic am9lOnJpZ2h0"] { return more(request) ?? .init(body: "in") }
            let realm = request.target.split(separator: "/").first ?? "root"
            return .init(401, fields: [.init("WWW-Authenticate", "Basic realm=\"\(realm)\"")], body: "out")
        }
    }

    /// A user, with the prompts received and the answers to give.
    private final class User: Sendable {
        private let state: LockedState
        init(_ answers: AuthenticationPrompt.Answer?...) { state = LockedState(answers) }
        var questions: [AuthenticationPrompt] { state.with { $0.questions } }
        func answer(_ question: AuthenticationPrompt) -> AuthenticationPrompt.Answer? {
            state.with { state in
                state.questions.append(question)
                return state.answers.isEmpty ? nil : state.answers.removeFirst()
            }
        }
    }

    private final class LockedState: @unchecked Sendable {
        // Accessed only under the lock.
        private let lock = NSLock()
        var answers: [AuthenticationPrompt.Answer?]
        var questions: [AuthenticationPrompt] = []
        init(_ answers: [AuthenticationPrompt.Answer?]) { self.answers = answers }
        func with<Result>(_ body: (LockedState) -> Result) -> Result { lock.withLock { body(self) } }
    }

    private func session(
        _ user: User, _ change: (inout HTTPSession.Configuration) -> Void = { _ in }
    ) -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.prompt = { user.answer($0) }
        change(&configuration)
        return HTTPSession(configuration)
    }

    private func request(_ origin: Origin, _ path: String = "/a/x", user: String = "") throws -> HTTPRequest {
        let url = try #require(URL(string: "http://\(user)127.0.0.1:\(origin.port)\(path)"))
        return try HTTPRequest(method: .get, url: url)
    }

    private let right = AuthenticationPrompt.Answer(user: "joe", password: "right")
    private let wrong = AuthenticationPrompt.Answer(user: "joe", password: "wrong")

    // Parity: HA-027, HA-039, HA-070
    @Test("HA-027, HA-039, HA-070: wrong, wrong, right; then preemptive below the same folder")
    func twoWrongPasswordsThenTheRightOne() async throws {
        let origin = try Self.guarded()
        let user = User(wrong, wrong, right)
        let session = session(user)
        #expect(try await session.load(request(origin)).body == Array("in".utf8))
        #expect(origin.requests.count == 4)
        #expect(origin.requests.first?["Authorization"].isEmpty == true)
        #expect(user.questions.map { $0.failure?.code } == [nil, .credentialRefused, .credentialRefused])
        let question = try #require(user.questions.first)
        #expect(question.space.realm == "a" && question.method == .basic)
        #expect(
            question.text == """
                The server http://127.0.0.1:\(origin.port) requires a user name and a password for "a" (Basic). The \
                connection is not encrypted.
                """)
        // Below the same folder the credential is sent at once; elsewhere only after a challenge.
        #expect(try await session.load(request(origin, "/a/y")).status == .ok)
        #expect(origin.requests.count == 5)
        #expect(try await session.load(request(origin, "/b/z")).status == .unauthorized)
        #expect(origin.requests.count == 6 && origin.requests[5]["Authorization"].isEmpty)
        #expect(user.questions.count == 4 && user.questions[3].space.realm == "b")
    }

    /// The prompt is cancelled: the server's 401 is the answer, with its body.
    // Parity: HA-071
    @Test("HA-071: the prompt is cancelled") func aCancelledPrompt() async throws {
        let origin = try Self.guarded()
        let response = try await session(User()).load(request(origin))
        #expect(response.status == .unauthorized && response.body == Array("out".utf8))
        #expect(origin.requests.count == 1)
    }

    // Parity: HA-028
    @Test("HA-028: prompts end") func theNumberOfPromptsIsLimited() async throws {
        let origin = try Self.guarded()
        let user = User(wrong, wrong, wrong, wrong, wrong)
        #expect(try await session(user).load(request(origin)).status == .unauthorized)
        #expect(user.questions.count == 3 && origin.requests.count == 4)
        let stale = try Origin { _ in
            .init(401, fields: [.init("WWW-Authenticate", "Digest realm=\"r\", nonce=\"n\", stale=true")])
        }
        let endless = try HTTPRequest(method: .get, url: #require(URL(string: stale.url())))
        do throws(StreamError) {
            _ = try await session(User(right)).load(endless)
            Issue.record("the load ended successfully")
        } catch {
            #expect(error.description.contains("asked for authentication too many times"))
        }
        #expect(stale.requests.count == 11)
    }

    /// Stores are searched before the user is prompted, and their credentials are sent only after a challenge.
    // Parity: HA-026, HA-060, HA-061
    @Test("HA-026, HA-060, HA-061: stores before the user, and never before a challenge")
    func storesComeBeforeTheUser() async throws {
        let origin = try Self.guarded()
        let memory = MemoryCredentialStore()
        let space = ProtectionSpace(.origin, scheme: "http", host: "127.0.0.1", port: origin.port, realm: "a")
        memory.save(Credential(user: "joe", password: "right", for: space))
        let user = User()
        let session = session(user) { $0.stores = CredentialSearchList(origins: [memory]) }
        #expect(try await session.load(request(origin)).status == .ok)
        #expect(origin.requests.first?["Authorization"].isEmpty == true && user.questions.isEmpty)

        // If a stored credential is refused, the user is prompted, and that answer is stored once accepted.
        memory.save(Credential(user: "joe", password: "old", for: space))
        let asked = User(right)
        let other = self.session(asked) { $0.stores = CredentialSearchList(origins: [memory]) }
        #expect(try await other.load(request(origin)).status == .ok)
        #expect(asked.questions.count == 1)
        #expect(memory.find(CredentialQuery(space))?.password == Secret("right"))
    }

    /// Two loads with the same challenge prompt once.
    @Test func concurrentLoadsPromptOnce() async throws {
        let origin = try Self.guarded()
        let user = User(right)
        let session = session(user)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<8 {
                group.addTask { try await session.load(request(origin, "/a/\(number)")).status.code }
            }
            for try await status in group { #expect(status == 200) }
        }
        #expect(user.questions.count == 1)
    }

    /// However a load gets from A to B, no credential of A reaches B.
    @Test func credentialsStayAtTheirOrigin() async throws {
        let b = try Origin { request in
            request.target == "/open"
                ? .init(body: "open") : .init(401, fields: [.init("WWW-Authenticate", "Basic realm=\"a\"")])
        }
        let port = b.port
        let a = try Self.guarded { request in
            let path = request.target == "/a/to-open" ? "/open" : "/a/x"
            return request.target.hasPrefix("/a/to")
                ? .init(302, fields: [.init("Location", "http://127.0.0.1:\(port)\(path)")]) : nil
        }
        let netrc = User(right)
        let session = session(netrc) { $0.options.followsRedirects = true }
        #expect(try await session.load(request(a, "/a/first")).status == .ok)
        #expect(try await session.load(request(a, "/a/to-open")).body == Array("open".utf8))
        #expect(try await session.load(request(a, "/a/to-closed", user: "joe:right@")).status == .unauthorized)
        #expect(try await session.load(request(b, "/a/x")).status == .unauthorized)
        #expect(try await session.load(request(b, "/open")).status == .ok)
        #expect(b.requests.allSatisfy { $0["Authorization"].isEmpty })
        #expect(netrc.questions.map(\.space.port) == [a.port, b.port, b.port])
        #expect(b.recordings.allSatisfy { !String(decoding: $0.received, as: UTF8.self).contains("am9l") })
    }

    /// The user in the URL takes precedence, and selects among the entries of a store.
    @Test func theUserInTheURLTakesPrecedence() async throws {
        let origin = try Self.guarded()
        let user = User()
        #expect(try await session(user).load(request(origin, user: "joe:right@")).status == .ok)
        #expect(try await session(user).load(request(origin, user: "joe:wrong@")).status == .unauthorized)
        let memory = MemoryCredentialStore()
        let space = ProtectionSpace(.origin, scheme: "http", host: "127.0.0.1", port: origin.port, realm: "a")
        memory.save(Credential(user: "joe", password: "right", for: space))
        memory.save(Credential(user: "ann", password: "other", for: space))
        let session = session(user) { $0.stores = CredentialSearchList(origins: [memory]) }
        #expect(try await session.load(request(origin, user: "joe@")).status == .ok)
        #expect(origin.requests.allSatisfy { !$0.target.contains("joe") })
    }

    // Parity: HA-067
    @Test("HA-067: everything is forgotten") func credentialsAreForgotten() async throws {
        let origin = try Self.guarded()
        let session = session(User(right, nil)) { $0.stores = CredentialSearchList(origins: []) }
        #expect(try await session.load(request(origin)).status == .ok)
        session.forgetCredentials()
        #expect(try await session.load(request(origin)).status == .unauthorized)
        #expect(origin.requests.last?["Authorization"].isEmpty == true)
    }

    @Test func anExplicitFieldDisablesPrompts() async throws {
        let origin = try Self.guarded()
        let user = User(right)
        var request = try request(origin)
        try request.fields.set("Bearer mine", for: .authorization)
        #expect(try await session(user).load(request).status == .unauthorized)
        #expect(origin.requests.map { $0["Authorization"] } == [["Bearer mine"]] && user.questions.isEmpty)
    }

    /// A repeatable body is sent again; a body that is not repeatable waits for 100 (Continue).
    @Test func bodiesAreSentAgain() async throws {
        let origin = try Self.guarded { .init(body: "\($0.body.count)") }
        let large = [UInt8](repeating: 9, count: 200_000)
        let bodies: [HTTPBody] = [.bytes(large), .stream(length: 200_000) { ReadStream(bytes: large) }]
        for body in bodies {
            var post = try request(origin)
            post = try HTTPRequest(method: .post, url: #require(post.url))
            let answer = try await session(User(right)).load(post, body: body)
            #expect(answer.body == Array("200000".utf8))
        }
        let put = try HTTPRequest(method: .put, url: #require(request(origin).url))
        let session = session(User(right))
        #expect(try await session.load(request(origin)).status == .ok)
        let answer = try await session.load(put, body: .stream(once: ReadStream(bytes: large)))
        #expect(answer.body == Array("200000".utf8) && origin.requests.last?["Expect"] == ["100-continue"])
        var atOnce = put
        try atOnce.fields.set("", for: .expect)
        let second = try await session.load(atOnce, body: .stream(once: ReadStream(bytes: large)))
        #expect(second.body == Array("200000".utf8) && origin.requests.last?["Expect"] == [])
        // This server sends 100 before it checks the field, so the body is consumed when its challenge comes.
        do throws(StreamError) {
            _ = try await self.session(User(right)).load(put, body: .stream(once: ReadStream(bytes: large)))
            Issue.record("sent twice")
        } catch {
            #expect(error.description.contains("401"))
        }
    }

    /// A scheme of three messages on one connection, which afterwards serves only that user.
    // Parity: HA-050
    @Test("HA-050: an authenticated connection serves only its user")
    func anAuthenticatedConnectionServesOneUser() async throws {
        let origin = try Origin { request in
            switch request["Authorization"].first?.split(separator: " ").last {
            case "first": .init(401, fields: [.init("WWW-Authenticate", "Legs \(request.connection)=")])
            case "second.\(request.connection)": .init(body: "in")
            case nil where request.target == "/a/again": .init(body: "again")
            default: .init(401, fields: [.init("WWW-Authenticate", "Legs")])
            }
        }
        let session = session(User(right)) { $0.policy.methods = [Legs.method] }
        #expect(try await session.load(request(origin)).body == Array("in".utf8))
        #expect(try await session.load(request(origin, "/a/again")).body == Array("again".utf8))
        let connections = origin.requests.map(\.connection)
        try #require(connections.count == 4)
        #expect(
            connections[1] == connections[2] && connections[2] == connections[3] && connections[0] != connections[1])
        // Another user of another session, and requests without a user, use other connections.
        #expect(try await self.session(User()).load(request(origin, "/a/open")).status == .unauthorized)
        #expect(origin.requests.last?.connection != connections[1])
    }

    @Test(
        "a load that starts while another is between finding a login and its connection gets a login of its own",
        arguments: [1, 2])
    func concurrentLoadsHaveSeparateLogins(_ leg: Int) async throws {
        let origin = try Origin { request in
            switch request["Authorization"].first?.split(separator: " ").last {
            case "first": .init(401, fields: [.init("WWW-Authenticate", "Legs \(request.connection)=")])
            case "second.\(request.connection)": .init(body: "in")
            default: .init(401, fields: [.init("WWW-Authenticate", "Legs")])
            }
        }
        let hold = Hold()
        let user = User(right)
        let session = session(user) { $0.policy.methods = [HeldLegs.method(hold, leg: leg)] }
        async let held = session.load(request(origin)).status
        await hold.reached()
        // The first load has its login and is about to use it; other loads could have found it, too.
        #expect(try await session.load(request(origin)).status == .ok)
        hold.release()
        #expect(try await held == .ok)
        #expect(hold.conversations == 2 && user.questions.count == 1)
    }

    /// Stops the work of the first conversation until it is released.
    private final class Hold: @unchecked Sendable {
        // `count` and `isReached` are accessed only under the lock.
        private let lock = NSLock()
        private let gate = DispatchSemaphore(value: 0)
        private let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        private var count = 0
        var conversations: Int { lock.withLock { count } }
        func next() -> Int {
            lock.withLock {
                count += 1
                return count
            }
        }
        func reached() async { for await _ in arrivals { return } }
        func wait() {
            arrival.yield()
            gate.wait()
        }
        func release() { gate.signal() }
    }

    /// ``Legs``, stopped in one step of its first conversation.
    private struct HeldLegs: AuthenticationScheme {
        static func method(_ hold: Hold, leg: Int) -> AuthenticationMethod {
            AuthenticationMethod("Legs") { _ in HeldLegs(hold: hold, leg: leg, number: hold.next()) }
        }
        let hold: Hold
        let leg: Int
        let number: Int
        private var legs = Legs()
        private var count = 0
        private var field: [UInt8] = []
        init(hold: Hold, leg: Int, number: Int) {
            self.hold = hold
            self.leg = leg
            self.number = number
        }
        var traits: SchemeTraits { legs.traits }
        var realm: String? { nil }

        mutating func receive(
            _ challenge: Challenge, answering sent: [UInt8]?
        ) throws(HTTPAuthError) -> ChallengeVerdict { try legs.receive(challenge, answering: sent) }

        mutating func respond(
            to input: AuthenticationInput, with credential: Credential?
        ) throws(HTTPAuthError) -> AuthenticationStep {
            let step = try legs.respond(to: input, with: credential)
            count += 1
            guard case .send(let field) = step, number == 1, count == leg else { return step }
            return .work(
                BlockingWork { [hold] in
                    hold.wait()
                    return .success(.init(bytes: field, isComplete: true))
                })
        }

        mutating func resume(with output: BlockingWork.Output) throws(HTTPAuthError) -> AuthenticationStep {
            .send(output.bytes)
        }

        mutating func finish(_ acceptance: Acceptance) throws(HTTPAuthError) { try legs.finish(acceptance) }
        mutating func disconnected() {
            legs.disconnected()
            count = 0
        }
    }

    /// An invented scheme of two steps: `first`, then `second.` and the server's challenge.
    private struct Legs: AuthenticationScheme {
        static let method = AuthenticationMethod("Legs") { _ in Legs() }
        var traits: SchemeTraits { SchemeTraits(isConnectionBound: true, requiresOrderedRequests: true) }
        var realm: String? { nil }
        private enum State { case idle, sentFirst, challenged(String), sentSecond, authenticated }
        private var state = State.idle

        mutating func receive(
            _ challenge: Challenge, answering sent: [UInt8]?
        ) throws(HTTPAuthError) -> ChallengeVerdict {
            guard sent != nil else {
                state = .idle
                return .fresh
            }
            guard case .sentFirst = state, let token = challenge.token else { return .refused }
            state = .challenged(String(token.dropLast()))
            return .continues
        }

        mutating func respond(
            to input: AuthenticationInput, with credential: Credential?
        ) throws(HTTPAuthError) -> AuthenticationStep {
            switch state {
            case .idle:
                state = .sentFirst
                return .send(Array("Legs first".utf8))
            case .challenged(let text):
                state = .sentSecond
                return .send(Array("Legs second.\(text)".utf8))
            case .authenticated: return .nothing
            case .sentFirst, .sentSecond: throw HTTPAuthError(.outOfOrder)
            }
        }

        mutating func finish(_ acceptance: Acceptance) throws(HTTPAuthError) { state = .authenticated }

        mutating func disconnected() { state = .idle }
    }
}
