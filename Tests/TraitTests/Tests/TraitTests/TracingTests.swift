import FoundationEssentials
import HTTPServerKit
import HTTPStreamTesting
import InMemoryTracing
import Testing
import Tracing

@Suite(.timeLimit(.minutes(5))) struct TracingTests {
    private let tracer = InMemoryTracer()
    private let url = URL(string: "https://joe@www.example.org/page?secret=1")!

    private func attribute(_ name: String, of span: FinishedInMemorySpan) -> String? {
        span.attributes.get(name).map { attribute in
            switch attribute {
            case .string(let text): text
            case .int64(let number): "\(number)"
            default: "\(attribute)"
            }
        }
    }

    private func session(_ server: TestServer) -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.tracer = tracer
        return HTTPSession(server.configuration(configuration))
    }

    @Test func aLoadIsASpanWithItsRequests() async throws {
        let server = TestServer()
        try server.enqueue(302, fields: ["Location": "/next"])
        try server.enqueue(.notFound)
        _ = try await session(server).get(url)
        let spans = tracer.finishedSpans
        let load = try #require(spans.first { $0.operationName == "GET" })
        #expect(attribute("url.full", of: load) == "https://www.example.org/page")
        #expect(attribute("server.port", of: load) == "443")
        #expect(attribute("http.response.status_code", of: load) == "404")
        #expect(load.status?.code == .error && load.errors.isEmpty)
        let requests = spans.filter { $0.operationName == "request GET" }
        #expect(
            requests.map { attribute("netkit.outcome", of: $0) } == [
                "HTTP/1.1 302 Found", "HTTP/1.1 404 Not Found",
            ])
        #expect(requests.allSatisfy { $0.parentSpanID == load.spanID && $0.traceID == load.traceID })
        #expect(
            requests.allSatisfy {
                $0.startInstant.nanosecondsSinceEpoch >= load.startInstant.nanosecondsSinceEpoch
                    && $0.endInstant.nanosecondsSinceEpoch >= $0.startInstant.nanosecondsSinceEpoch
            })
        #expect(server.requests.first?.fields["in-memory-trace-id"] == load.traceID)
        #expect(tracer.activeSpans.isEmpty)
    }

    @Test func aFailedLoadIsASpanWithItsError() async throws {
        let server = TestServer()
        server.enqueue(.disconnection)
        await #expect(throws: StreamError.self) { try await session(server).get(url) }
        let load = try #require(tracer.finishedSpans.first { $0.operationName == "GET" })
        #expect(load.errors.count == 1 && load.status?.code == .error)
        #expect(attribute("error.type", of: load) != nil)
        #expect(tracer.activeSpans.isEmpty)
    }

    @Test func aRequestOfAServerIsAChildOfTheClientsSpan() async throws {
        var configuration = HTTPServer.Configuration()
        configuration.tracer = tracer
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        let running = Task { [tracer] in
            try await server.run { exchange in
                tracer.startSpan("work").end()
                try await exchange.respond(.ok)
            }
        }
        var client = HTTPSession.Configuration()
        client.tracer = tracer
        client.proxies = .direct
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port ?? 0)/page"))
        #expect(try await HTTPSession(client).get(url).status == .ok)
        server.stop()
        try await running.value
        let spans = tracer.finishedSpans
        let load = try #require(spans.first { $0.kind == .client })
        let request = try #require(spans.first { $0.kind == .server })
        let work = try #require(spans.first { $0.operationName == "work" })
        #expect(spans.contains { $0.operationName == "connect" && $0.parentSpanID == load.spanID })
        #expect(request.traceID == load.traceID && request.parentSpanID == load.spanID)
        #expect(work.parentSpanID == request.spanID)
        #expect(attribute("http.response.status_code", of: request) == "200")
        #expect(attribute("url.path", of: request) == "/page")
    }
}
