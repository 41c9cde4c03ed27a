import EventLoops
import FoundationEssentials
import HTTPMessage
import HTTPStreamTesting
import StreamKit
import Testing

@testable import HTTPStream

/// The fields behind the body of a request (RFC 9110 §6.5), over both versions.
@Suite(.timeLimit(.minutes(5))) struct RequestTrailerTests {
    /// A pool whose connections lead to a server in the process, which responds with the body and the trailers of the request.
    private static func echo(_ seen: @escaping @Sendable (HTTPFields) -> Void = { _ in }) -> HTTPConnectionPool {
        HTTPConnectionPool { _, loop in
            guard let (near, far) = try? Socket.pair(loop: loop), let client = try? near.makeStreams(),
                let server = try? far.makeStreams()
            else { preconditionFailure("there are no descriptors left") }
            Task {
                try? server.open()
                var configuration = HTTPServer.Configuration.patient
                configuration.acceptsPriorKnowledge = true
                await HTTPServer.serve(server, configuration) { exchange in
                    let body = try await exchange.body()
                    seen(exchange.trailers)
                    try await exchange.respond(.ok, body: body)
                }
                server.close()
            }
            return client
        }
    }

    private static func load(
        _ body: HTTPBody, _ versions: HTTPVersions, _ pool: HTTPConnectionPool, fields: HTTPFields = HTTPFields()
    ) async throws -> [UInt8] {
        var options = HTTPOptions.userAgent
        (options.versions, options.pool) = (versions, pool)
        var request = try HTTPRequest(method: .put, url: try #require(URL(string: "http://www.example.org/")))
        request.fields = fields
        let stream = try ReadStream(request: request, body: body, options: options)
        try stream.open()
        defer { stream.close() }
        return try await stream.readAll(limit: 100)
    }

    @Test("trailers are made once the whole body has been read", arguments: [HTTPVersions.http1, .http2])
    func trailers(versions: HTTPVersions) async throws {
        let received = Locked<[HTTPFields]>([])
        let pool = Self.echo { fields in received.withLock { $0.append(fields) } }
        let count = Locked(0)
        let rest = Locked(["one", "two", "three"])
        let pieces = AsyncStream<[UInt8]> {
            let piece = rest.withLock { $0.isEmpty ? nil : Array($0.removeFirst().utf8) }
            count.withLock { $0 += piece?.count ?? 0 }
            return piece
        }
        let body = HTTPBody.chunks(pieces) {
            (try? HTTPFields(["X-Count": "\(count.withLock { $0 })", "X-Other": "a"])) ?? HTTPFields()
        }
        #expect(try await Self.load(body, versions, pool) == Array("onetwothree".utf8))
        #expect(received.withLock { $0 } == [["X-Count": "11", "X-Other": "a"]])
        // The connection carries further requests.
        #expect(try await Self.load(.chunks(AsyncStream { nil }) { HTTPFields() }, versions, pool) == [])
        #expect(received.withLock { $0.last } == [:] && pool.idleCount == 1)
    }

    @Test("a body has either a length or trailers, in both versions", arguments: [HTTPVersions.http1, .http2])
    func length(versions: HTTPVersions) async throws {
        let pool = Self.echo { _ in Issue.record("something was sent") }
        let pieces = AsyncStream<[UInt8]> { nil }
        let known = HTTPBody.chunks(pieces, length: 0) { ["X-Sum": "0"] }
        let error = await #expect(throws: StreamError.self) { try await Self.load(known, versions, pool) }
        #expect(error == .trailersNeedChunks)
        let stated = HTTPBody.chunks(pieces) { ["X-Sum": "0"] }
        await #expect(throws: StreamError.trailersNeedChunks) {
            try await Self.load(stated, versions, pool, fields: ["Content-Length": "0"])
        }
    }

    @Test("fields that are not allowed in trailers let the load fail", arguments: [HTTPVersions.http1, .http2])
    func forbidden(versions: HTTPVersions) async throws {
        let pool = Self.echo { _ in Issue.record("the body was complete") }
        for name in ["Content-Length", "Authorization", "Host"] {
            let body = HTTPBody.chunks(AsyncStream { nil }) { (try? HTTPFields([name: "1"])) ?? HTTPFields() }
            await #expect(throws: StreamError.self, "\(name)") { try await Self.load(body, versions, pool) }
        }
    }
}
