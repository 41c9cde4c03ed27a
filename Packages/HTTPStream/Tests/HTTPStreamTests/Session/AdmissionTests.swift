import EventLoops
import FoundationEssentials
import HTTPAuth
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

@Suite(.timeLimit(.minutes(5))) struct AdmissionTests {
    private func space(_ port: Int) -> ProtectionSpace {
        ProtectionSpace(.origin, scheme: "http", host: "a.example", port: port)
    }

    @Test func loadsWaitInOrderForEachSpace() async throws {
        let admission = Admission(limit: 1)
        let first = try await admission.admit(to: space(1), until: nil)
        _ = try await admission.admit(to: space(2), until: nil)
        #expect(admission.spaceCount == 1)
        await #expect(throws: WaitError.timedOut) {
            try await admission.admit(to: space(1), until: .now + .milliseconds(1))
        }
        let order = Locked<[Int]>([])
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<3 {
            let space = space(1)
            tasks.append(
                Task { @Sendable in
                    let permit = try await admission.admit(to: space, until: nil)
                    order.withLock { $0.append(number) }
                    permit.end()
                    permit.end()
                })
            while admission.waiterCount(at: space) < number + 1, !Task.isCancelled { await Task.yield() }
        }
        first.end()
        for task in tasks { try await task.value }
        #expect(order.withLock { $0 } == [0, 1, 2] && admission.spaceCount == 0)
    }

    @Test func aReleasedPermitIsReturned() async throws {
        let admission = Admission(limit: 1)
        for _ in 0..<3 { _ = try await admission.admit(to: space(1), until: nil) }
        #expect(admission.spaceCount == 0)
    }

    private func session(_ limit: Int) -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.proxies = .direct
        configuration.maximumConnectionsPerOrigin = limit
        return HTTPSession(configuration)
    }

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test func manyLoadsUseFewConnections() async throws {
        let server = try TurnServer(Array(repeating: Self.ok, count: 60))
        let session = session(3)
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<60 { group.addTask { _ = try await session.get(url) } }
            try await group.waitForAll()
        }
        #expect(server.requests.count == 60 && (1...3).contains(server.connections))
        #expect(session.admission?.spaceCount == 0)
    }

    @Test("each end of a load permits the next one", arguments: ["read", "closed", "released", "failed"])
    func ends(_ end: String) async throws {
        let server = try TurnServer(Array(repeating: end == "failed" ? "nonsense\r\n\r\n" : Self.ok, count: 5))
        let session = session(1)
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        for _ in 0..<5 {
            guard let stream = try? await session.open(HTTPRequest(method: .get, url: url)) else { continue }
            switch end {
            case "read": while try await !stream.read(upTo: 100).isEmpty {}
            case "closed": stream.close()
            default: break
            }
        }
        #expect(server.requests.count == 5 && session.admission?.spaceCount == 0)
    }
}
