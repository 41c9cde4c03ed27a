import EventLoops
import Foundation
import HTTPMessage
import StreamKit
import Testing

@testable import NetKit

@Suite(.timeLimit(.minutes(1))) struct ResponseLimitTests {
    /// Returns ten bytes at each read.
    private final class Source: StreamTransport {
        let waitPoint = WaitPoint()

        func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { .moved(10) }
        func peek() throws(StreamError) -> Attempt { .moved(10) }
        func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }
        func writability() throws(StreamError) -> Attempt { .ended }
        func close() {}
    }

    /// Takes a step of the load and returns the read of the request's body that the load needs.
    private func step(_ load: inout HTTPLoad) throws -> BodyFetch? {
        var memory = [UInt8](repeating: 0, count: 10)
        var span = memory.mutableSpan
        var bytes = span.mutableBytes
        _ = try load.read(into: &bytes)
        let deferred = load.deferred.take()
        deferred.perform()
        return deferred.fetch
    }

    /// The limit is that of the head. A server may answer before it has read the whole request.
    @Test func thePartsOfARequestAfterTheResponseBeginNoTime() async throws {
        let server = try TurnServer(["HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"])
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        let body = HTTPBody.stream(length: 20) { ReadStream(transport: Source()) }
        var load = HTTPLoad(try HTTPRequest(method: .put, url: url), body: body, loop: .shared)
        defer { load.close() }
        load.settings.responseLimit = .seconds(60)
        var second: BodyFetch?
        while load.response == nil {
            if let fetch = try step(&load) {
                if load.bodyBytesSent > 0 {
                    second = fetch
                } else {
                    fetch.run()
                    load.endFetch()
                }
            }
            if load.response == nil { #expect(load.responseDeadline != nil) }
            await Task.yield()
        }
        try #require(second).run()
        load.endFetch()
        #expect(load.responseDeadline == nil)
        while load.bodyBytesSent < 20 {
            _ = try step(&load)
            await Task.yield()
        }
        _ = try step(&load)
        #expect(load.responseDeadline == nil)
    }
}
