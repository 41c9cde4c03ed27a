import FoundationEssentials
import HTTPServerKit
import HTTPStreamTesting
import Metrics
import MetricsTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct MetricsTests {
    private let backend = TestMetrics()
    private let url = URL(string: "https://www.example.org/page?x=1")!

    @Test func loadsAreTimedByMethodAndStatus() async throws {
        let server = TestServer()
        try server.enqueue(.ok)
        try server.enqueue(.ok)
        try server.enqueue(.notFound)
        // The kept connection is closed, and so is the new one on which the request is sent again.
        server.enqueue(.disconnection)
        server.enqueue(.disconnection)
        var configuration = HTTPSession.Configuration()
        configuration.metrics = HTTPMetrics(factory: backend)
        let session = HTTPSession(server.configuration(configuration))
        for _ in 0..<3 { _ = try await session.get(url) }
        await #expect(throws: StreamError.self) { try await session.get(url) }
        let timers = backend.timers(label: "http.client.request.duration")
        let counts = timers.map { timer in
            "\(timer.dimensions.map { "\($0.0)=\($0.1)" }.joined(separator: " ")): \(timer.values.count)"
        }
        #expect(
            counts.filter { $0.contains("status_code") }.sorted() == [
                "http.request.method=GET http.response.status_code=200: 2",
                "http.request.method=GET http.response.status_code=404: 1",
            ])
        #expect(counts.filter { $0.contains("error.type") }.count == 1)
    }

    @Test func responsesOfAServerAreTimedAndMeasured() throws {
        let metrics = HTTPMetrics(factory: backend)
        let request = try HTTPRequest(method: "BREW", url: url)
        for length: Int64 in [3, 4] {
            metrics.record(
                HTTPServer.Record(request: request, status: .ok, bodyLength: length, duration: .milliseconds(5)))
        }
        metrics.record(HTTPServer.Record(request: nil, status: nil, bodyLength: 0, isComplete: false))
        let dimensions = [("http.request.method", "_OTHER"), ("http.response.status_code", "200")]
        #expect(try backend.expectTimer("http.server.request.duration", dimensions).values == [5_000_000, 5_000_000])
        #expect(try backend.expectRecorder("http.server.response.body.size", dimensions).values == [3, 4])
    }
}
