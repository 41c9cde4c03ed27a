import EventLoops
import FoundationEssentials
import HTTPAuth
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

@Suite(.timeLimit(.minutes(5))) struct RunningClosureTests {
    private static let asks =
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"%\"\r\nContent-Length: 0\r\n\r\n"
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private static func asks(_ realm: String) -> String { asks.replacing("%", with: realm) }

    private func url(_ server: TurnServer, _ path: String = "/") throws -> URL {
        try #require(URL(string: "http://127.0.0.1:\(server.port)\(path)"))
    }

    private func session(_ change: (inout HTTPSession.Configuration) throws -> Void) rethrows -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.proxies = .direct
        configuration.stores = CredentialSearchList(origins: [], proxies: [])
        try change(&configuration)
        return HTTPSession(configuration)
    }

    /// Tokens with a closure. The default time limit is more than a busy machine needs.
    private func tokens(
        for url: URL, timeout: Duration = .seconds(240), _ token: @escaping @Sendable (String?) async throws -> String?
    ) throws -> BearerTokens {
        var tokens = try BearerTokens(for: url, token: token)
        tokens.timeout = timeout
        return tokens
    }

    /// The session whose closure uses it.
    private final class Owned: Sendable {
        private let value = Locked<HTTPSession?>(nil)

        var session: HTTPSession? {
            get { value.withLock { $0 } }
            set { value.withLock { $0 = newValue } }
        }
    }

    /// A prompt that is answered for one realm only when the test says so.
    private struct OpenPrompt {
        let isAsked = OneShot<Bool>()
        let answer = AsyncSemaphore(0)
    }

    @Test("an open prompt does not stop the logins of another realm or server", arguments: [true, false])
    func oneOpenPrompt(_ isOtherServer: Bool) async throws {
        let first = try TurnServer(
            [Self.asks("slow")] + (isOtherServer ? [] : [Self.asks("quick"), Self.ok]) + [Self.ok])
        let other = isOtherServer ? try TurnServer([Self.asks("quick"), Self.ok]) : first
        let open = OpenPrompt()
        let session = session { configuration in
            configuration.prompt = { prompt in
                if prompt.space.realm == "slow" {
                    open.isAsked.provide(true)
                    try? await open.answer.wait()
                }
                return .init(user: "joe", password: "pw")
            }
        }
        let slow = Task { [url = try url(first)] in try await session.get(url).status }
        _ = try await open.isAsked.value()
        #expect(try await session.get(url(other, "/b/")).status == .ok)
        open.answer.signal()
        #expect(try await slow.value == .ok)
        #expect(session.logins.spaceCount == 0)
    }

    @Test func loadsForOneRealmShareAPrompt() async throws {
        let server = try TurnServer([Self.asks("r"), Self.asks("r"), Self.ok, Self.ok])
        let prompts = Locked(0)
        let open = OpenPrompt()
        let session = session { configuration in
            configuration.prompt = { _ in
                prompts.withLock { $0 += 1 }
                open.isAsked.provide(true)
                try? await open.answer.wait()
                return .init(user: "joe", password: "pw")
            }
        }
        let url = try url(server)
        let one = Task { try await session.get(url).status }
        _ = try await open.isAsked.value()
        let other = Task { try await session.get(url).status }
        let space = ProtectionSpace(.origin, scheme: "http", host: "127.0.0.1", port: Int(server.port), realm: "r")
        while session.logins.waiterCount(at: space) == 0, !Task.isCancelled { await Task.yield() }
        open.answer.signal()
        #expect(try await [one.value, other.value] == [.ok, .ok])
        #expect(prompts.withLock { $0 } == 1)
    }

    /// The load within the prompt gets the 401, even with a single connection for each origin, which the outer load uses.
    @Test func aPromptMayUseTheSession() async throws {
        let server = try TurnServer([Self.asks("r"), Self.asks("r"), Self.ok])
        let own = Locked<HTTPSession?>(nil)
        let inner = Locked<HTTPStatus?>(nil)
        let url = try url(server)
        let session = session { configuration in
            configuration.maximumConnectionsPerOrigin = 1
            configuration.prompt = { _ in
                let status = try? await own.withLock { $0 }?.get(url).status
                inner.withLock { $0 = status }
                return .init(user: "joe", password: "pw")
            }
        }
        own.withLock { $0 = session }
        defer { own.withLock { $0 = nil } }
        #expect(try await session.get(url).status == .ok)
        #expect(inner.withLock { $0 } == .unauthorized)
    }

    @Test("a task that outlives the closure in which it began has the token") func outlivingTasks() async throws {
        let server = try TurnServer([Self.ok, Self.ok])
        let own = Owned()
        let url = try url(server)
        let later = OneShot<Task<HTTPStatus?, any Error>>()
        let hasToken = AsyncSemaphore(0)
        let session = try session { configuration in
            configuration.bearerTokens = try tokens(for: url) { _ in
                later.provide(
                    Task {
                        try await hasToken.wait()
                        return try await own.session?.get(url).status
                    })
                return "a"
            }
        }
        own.session = session
        defer { own.session = nil }
        #expect(try await session.get(url).status == .ok)
        hasToken.signal()
        #expect(try await later.value().value == .ok)
        #expect(server.requests.map { $0.contains("Authorization: Bearer a") } == [true, true])
    }

    @Test("a token's closure may load through another session, whose closure loads through the first one")
    func twoSessions() async throws {
        let (a, b) = (try TurnServer([Self.ok, Self.ok]), try TurnServer([Self.ok]))
        let sessions = Locked<[HTTPSession]>([])
        let (urlA, urlB) = (try url(a), try url(b))
        let first = try session { configuration in
            configuration.bearerTokens = try tokens(for: urlA) { _ in
                _ = try await sessions.withLock { $0[1] }.get(urlB)
                return "a"
            }
        }
        let second = try session { configuration in
            configuration.bearerTokens = try tokens(for: urlB) { _ in
                _ = try await sessions.withLock { $0[0] }.get(urlA)
                return "b"
            }
        }
        sessions.withLock { $0 = [first, second] }
        defer { sessions.withLock { $0 = [] } }
        #expect(try await first.get(urlA).status == .ok)
        #expect(a.requests.map { $0.contains("Authorization: Bearer a") } == [false, true])
        #expect(b.requests.map { $0.contains("Authorization: Bearer b") } == [true])
    }

    @Test("two closures that began apart and then wait for each other both end") func crossedWaits() async throws {
        let (a, b) = (try TurnServer([Self.ok, Self.ok]), try TurnServer([Self.ok, Self.ok]))
        let sessions = Locked<[HTTPSession]>([])
        let (urlA, urlB) = (try url(a), try url(b))
        let bothRun = AsyncSemaphore(0)
        let running = Locked(0)
        let meet: @Sendable () async throws -> Void = {
            let count = running.withLock {
                $0 += 1
                return $0
            }
            if count == 2 { (0..<2).forEach { _ in bothRun.signal() } }
            try await bothRun.wait()
        }
        let first = try session { configuration in
            configuration.bearerTokens = try tokens(for: urlA) { _ in
                try await meet()
                _ = try await sessions.withLock { $0[1] }.get(urlB)
                return "a"
            }
        }
        let second = try session { configuration in
            configuration.bearerTokens = try tokens(for: urlB) { _ in
                try await meet()
                _ = try await sessions.withLock { $0[0] }.get(urlA)
                return "b"
            }
        }
        sessions.withLock { $0 = [first, second] }
        defer { sessions.withLock { $0 = [] } }
        let one = Task { try await first.get(urlA).status }
        let other = Task { try await second.get(urlB).status }
        #expect(try await [one.value, other.value] == [.ok, .ok])
    }

    @Test("a load in a detached task is told why it waits, or asks for no token", arguments: [true, false])
    func detachedLoads(_ hasEmptyField: Bool) async throws {
        let server = try TurnServer([Self.ok, Self.ok])
        let own = Owned()
        let url = try url(server)
        var request = try HTTPRequest(method: .get, url: url)
        if hasEmptyField { try request.fields.set("", for: .authorization) }
        let session = try session { [request] configuration in
            configuration.bearerTokens = try tokens(
                for: url, timeout: hasEmptyField ? .seconds(240) : .milliseconds(10)
            ) { _ in
                try await Task.detached { try await own.session?.load(request).text }.value
            }
        }
        own.session = session
        defer { own.session = nil }
        if hasEmptyField {
            #expect(try await session.get(url).status == .ok)
            #expect(server.requests.map { $0.contains("Authorization") } == [false, true])
        } else {
            let error = await #expect(throws: StreamError.self) { try await session.get(url) }
            #expect(error?.description.contains("empty Authorization") == true)
        }
    }

    @Test("the session accepts everything, unless the request says otherwise", arguments: [nil, "text/html", ""])
    func accept(_ own: String?) async throws {
        let server = try TurnServer([Self.ok])
        var request = try HTTPRequest(method: .get, url: url(server))
        try request.fields.set(own, for: .accept)
        _ = try await session { _ in }.load(request)
        let sent = try #require(server.requests.first).split(separator: "\r\n").first { $0.hasPrefix("Accept:") }
        #expect(sent == (own == "" ? nil : "Accept: \(own ?? "*/*")"))
    }
}
