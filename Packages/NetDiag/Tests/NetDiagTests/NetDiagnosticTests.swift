import Dispatch
import FoundationEssentials
import Glibc
import HostResolverTesting
import StreamKitTesting
import Synchronization
import Testing

@testable import NetDiag

/// Diagnoses of real failures on loopback.
@Suite struct NetDiagnosticTests {
    private let deadEnd: RefusedPort

    init() throws { deadEnd = try RefusedPort() }

    private func diagnose(_ url: String) async throws -> Diagnosis {
        try await NetDiagnostic(url: URL(string: url)!, options: .patient).diagnose()
    }

    @Test func aRefusedPort() async throws {
        let diagnosis = try await diagnose("http://127.0.0.1:\(deadEnd.port)/")
        #expect(diagnosis.cause?.code == .portRefused)
        #expect(diagnosis.unchecked == [.security, .answer, .authentication].filter { $0 != .security })
    }

    // Parity: ND-003
    @Test(
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", nil),
            ("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 404 Not Found\r\n\r\n", .requestRefused),
            ("HTTP/1.1 500 Broken\r\n\r\n", .serverBroken), ("HTTP/1.1 401 No\r\n\r\n", .credentialsWanted),
            ("HTTP/1.1 429 Slow Down\r\nRetry-After: 7\r\n\r\n", .requestsLimited),
            ("220 ftp.example.org ready\r\n\r\n", .notHTTP), ("", .answerMissing),
            ("HTTP/1.1 101 Switching Protocols\r\n\r\n", .notHTTP),
            (
                String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 16)
                    + "HTTP/1.1 404 Not Found\r\n\r\n", .requestRefused
            ),
        ] as [(String, FindingCode?)])
    func findingsForAnswers(answer: String, code: FindingCode?) async throws {
        let server = try AnsweringServer(answer)
        let diagnosis = try await diagnose("http://127.0.0.1:\(server.port)/page")
        #expect(diagnosis.cause?.code == code, "\(diagnosis)")
    }

    /// The query may hold a secret: it is not sent, and a refusal without it is not a fault.
    @Test func theQueryIsNotSent() async throws {
        let server = try AnsweringServer("HTTP/1.1 404 Not Found\r\n\r\n")
        let diagnosis = try await diagnose("http://127.0.0.1:\(server.port)/page?token=secret")
        #expect(diagnosis.cause == nil)
        #expect(diagnosis.remarks.map(\.code) == [.requestRefused])
        #expect(diagnosis.uncheckable.map(\.key) == ["diag.noQuerySent"])
        #expect(server.requests.allSatisfy { !$0.contains("secret") } && !server.requests.isEmpty)
        #expect(!"\(diagnosis)".contains("secret"))
    }

    /// Interim responses without end do not delay the diagnosis.
    @Test func interimResponsesWithoutEnd() async throws {
        let server = try AnsweringServer(String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 10_000))
        let diagnosis = try await diagnose("http://127.0.0.1:\(server.port)/")
        #expect(diagnosis.cause?.code == .notHTTP, "\(diagnosis)")
    }

    /// The limit applies to the whole head, however often a byte arrives.
    @Test func aLateHead() async throws {
        let server = try AnsweringServer("HTTP/1.1 200 OK\r\n")
        var options = NetDiagnostic.Options.patient
        options.responseTimeout = .zero
        let url = URL(string: "http://127.0.0.1:\(server.port)/")!
        let diagnosis = try await NetDiagnostic(url: url, options: options).diagnose()
        #expect(diagnosis.cause?.code == .answerMissing, "\(diagnosis)")
    }

    @Test func aServerWithoutTLS() async throws {
        let server = try AnsweringServer("HTTP/1.1 400 Bad Request\r\n\r\n")
        let diagnosis = try await diagnose("https://127.0.0.1:\(server.port)/")
        #expect(diagnosis.cause?.code == .notTLS, "\(diagnosis)")
    }

    @Test func aDeadNameServer() async throws {
        var options = NetDiagnostic.Options.patient
        options.resolver = ScriptedResolver()
        options.nameServers = [.ip(.v4(.loopback), port: deadEnd.port)]
        let url = URL(string: "http://www.example.test/")!
        let diagnosis = try await NetDiagnostic(url: url, options: options).diagnose()
        let failures = [diagnosis.cause].compactMap(\.self) + diagnosis.consequences
        #expect(failures.contains { $0.code == .nameServersFail })  // on a machine without a network, there are others
    }

    // Parity: ND-002
    @Test func aStreamThatFailedIsNotOpenedAgain() async throws {
        let stream = StreamPair(host: "127.0.0.1", port: deadEnd.port)
        try stream.open()
        await #expect(throws: StreamError(posix: ECONNREFUSED)) { try await stream.input.opened() }
        let diagnosis = await NetDiagnostic(read: stream.input, write: nil).diagnose()
        #expect(diagnosis.cause?.code == .portRefused)
        // The stream's error is unchanged.
        #expect(stream.input.error == StreamError(posix: ECONNREFUSED))
        #expect(stream.input.status == .error)
    }

    /// ND-006: a diagnosis inside the error event, before the error was read.
    // Parity: ND-006
    @Test func aDiagnosisInTheErrorEventChangesNothing() async throws {
        let stream = StreamPair(host: "127.0.0.1", port: deadEnd.port)
        let (events, feed) = AsyncStream<Task<Diagnosis, Never>>.makeStream()
        stream.input.setClient([.errorOccurred]) { stream, _ in
            let before = stream.status
            feed.yield(NetDiagnostic(read: stream, write: nil).diagnoseInteractively(with: SilentPresenter()))
            #expect(stream.status == before)
            #expect(stream.error == StreamError(posix: ECONNREFUSED))
        }
        stream.input.schedule(on: LoopTarget(.shared))
        try stream.open()
        for await task in events {
            #expect(await task.value.cause?.code == .portRefused)
            break
        }
        #expect(stream.input.error == StreamError(posix: ECONNREFUSED))
        stream.close()
    }

    private struct SilentPresenter: DiagnosisPresenter {
        func began(_ target: String, for name: String) {}
        func finished(_ diagnosis: Diagnosis) {}
    }

    // Parity: ND-011
    @Test func anOpenStreamIsUp() async throws {
        let server = try AnsweringServer("hello")
        let stream = StreamPair(host: "127.0.0.1", port: server.port)
        try stream.open()
        try await stream.output.opened()
        #expect(NetDiagnostic(read: nil, write: stream.output).passiveStatus().status == .up)
        stream.close()
    }

    // Parity: ND-011
    @Test func aFailedLookupIsIndeterminateAtBest() async throws {
        let stream = StreamPair(host: "no-such-host.test", port: 80)
        try stream.set(.resolver, to: ScriptedResolver())
        try stream.open()
        await #expect(throws: StreamError.self) { try await stream.input.opened() }
        #expect(NetDiagnostic(read: stream.input, write: nil).passiveStatus().status != .up)
    }

    // Parity: ND-002
    @Test func withoutStreamsItIsAboutTheMachine() async {
        let diagnosis = await NetDiagnostic(read: nil, write: nil).diagnose()
        #expect(diagnosis.target == "this machine")
    }

    // Parity: ND-003
    @Test func urlsThatCannotBeDiagnosed() {
        for text in [
            "mailto:a@example.org", "gopher://example.org/", "http:///path", "http://example.org:70000/",
            "http://example.org:18446744073709551697/", "http://[example.org]/",
        ] {
            guard let url = URL(string: text) else { continue }
            #expect(throws: StreamError.self, "\(text)") { try NetDiagnostic(url: url) }
        }
    }

    /// A presenter whose first call lasts until the test ends it.
    private final class WaitingPresenter: DiagnosisPresenter {
        let permission = DispatchSemaphore(value: 0)
        let finished = Atomic<Int>(0)
        func began(_ target: String, for name: String) { permission.wait() }
        func finished(_ diagnosis: Diagnosis) { finished.wrappingAdd(1, ordering: .relaxed) }
    }

    // Parity: ND-005
    @Test("ND-005: the call returns before the presenter has begun") func theCallReturnsAtOnce() async throws {
        let presenter = WaitingPresenter()
        let url = URL(string: "http://127.0.0.1:\(deadEnd.port)/")!
        let task = try NetDiagnostic(url: url, options: .patient).diagnoseInteractively(with: presenter)
        #expect(presenter.finished.load(ordering: .relaxed) == 0)
        presenter.permission.signal()
        #expect(await task.value.cause?.code == .portRefused)
        #expect(presenter.finished.load(ordering: .relaxed) == 1)
    }

    // Parity: ND-005
    @Test func presenterAndCallerGetTheResult() async throws {
        final class CountingPresenter: DiagnosisPresenter {
            let began = Atomic<Int>(0)
            let finished = Atomic<Int>(0)
            func began(_ target: String, for name: String) { began.wrappingAdd(1, ordering: .relaxed) }
            func finished(_ diagnosis: Diagnosis) { finished.wrappingAdd(1, ordering: .relaxed) }
        }
        let presenter = CountingPresenter()
        let url = URL(string: "http://127.0.0.1:\(deadEnd.port)/")!
        let diagnosis = await (try NetDiagnostic(url: url)).diagnoseInteractively(with: presenter).value
        #expect(diagnosis.cause?.code == .portRefused)
        #expect(presenter.began.load(ordering: .relaxed) == 1)
        #expect(presenter.finished.load(ordering: .relaxed) == 1)
    }

    private final class NameRecorder: DiagnosisPresenter {
        let names = Locked<[String]>([])
        func began(_ target: String, for name: String) { names.withLock { $0.append(name) } }
        func finished(_ diagnosis: Diagnosis) {}
    }

    // Parity: ND-004
    @Test("ND-004: the program's name defaults to that of the process; the last value set is used")
    func programName() async throws {
        let presenter = NameRecorder()
        let url = URL(string: "http://127.0.0.1:\(deadEnd.port)/")!
        var options = NetDiagnostic.Options.patient
        #expect(CommandLine.arguments[0].hasSuffix(options.name) && !options.name.contains("/"))
        options.name = "first"
        options.name = "second"
        let diagnostic = try NetDiagnostic(url: url, options: options)
        options.name = "too late"
        _ = await diagnostic.diagnoseInteractively(with: presenter).value
        #expect(presenter.names.withLock { $0 } == ["second"])
    }

    // Parity: ND-014
    @Test("ND-014: one diagnostic in many tasks, and many diagnostics at the same time, give the same result")
    func manyAtOnce() async throws {
        let url = URL(string: "http://127.0.0.1:\(deadEnd.port)/")!
        let shared = try NetDiagnostic(url: url, options: .patient)
        let codes = await withTaskGroup(of: FindingCode?.self, returning: [FindingCode?].self) { group in
            for number in 0..<24 {
                group.addTask {
                    if number % 3 == 0 { return await shared.diagnose().cause?.code }
                    if number % 3 == 1 { return shared.passiveStatus().status == .up ? .portRefused : nil }
                    return await (try? NetDiagnostic(url: url, options: .patient))?.diagnose().cause?.code
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes == Array(repeating: .portRefused, count: 24))
    }

    // Parity: ND-016
    @Test(
        "ND-016: a diagnostic retains its streams until its last reference is gone; a running diagnosis retains it until it ends"
    )
    func nothingIsRetained() async throws {
        weak var stream: ReadStream?
        weak var diagnostic: NetDiagnostic?
        var task: Task<Diagnosis, Never>?
        do {
            let pair = StreamPair(host: "127.0.0.1", port: deadEnd.port)
            try pair.open()
            await #expect(throws: StreamError.self) { try await pair.input.opened() }
            let made = NetDiagnostic(read: pair.input, write: nil)
            stream = pair.input
            diagnostic = made
            task = made.diagnoseInteractively(with: SilentPresenter())
        }
        #expect(await task?.value.cause?.code == .portRefused)
        task = nil
        #expect(diagnostic == nil && stream == nil)
    }
}
