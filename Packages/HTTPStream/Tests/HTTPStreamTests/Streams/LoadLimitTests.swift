import EventLoops
import Foundation
import FoundationEssentials
import HTTPMessage
import HTTPStreamTesting
import StreamKit
import Testing

@testable import HTTPStream

@Suite(.timeLimit(.minutes(5))) struct ResponseLimitTests {
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
    private func step(_ load: inout HTTPLoad) throws -> BodyReading? {
        var memory = [UInt8](repeating: 0, count: 10)
        var span = memory.mutableSpan
        var bytes = span.mutableBytes
        _ = try load.read(into: &bytes)
        var deferred = load.deferred.take()
        deferred.perform()
        return deferred.bodyReading
    }

    /// The limit is that of the head. A server may answer before it has read the whole request.
    @Test func thePartsOfARequestAfterTheResponseBeginNoTime() async throws {
        let server = try TurnServer(["HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"], readsBodies: false)
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        let body = HTTPBody.stream(length: 20) { ReadStream(transport: Source()) }
        var options = HTTPOptions()
        options.responseTimeout = .seconds(60)
        var load = HTTPLoad(try HTTPRequest(method: .put, url: url), body: body, LoadSettings(options), loop: .shared)
        load.start()
        defer { load.close() }
        var second: BodyReading?
        // The response may arrive before the load needs the second part.
        while load.state.response == nil || second == nil {
            if let reading = try step(&load) {
                if load.state.bodyBytesSent > 0 {
                    second = reading
                } else {
                    reading.run()
                    load.endBodyReading()
                }
            }
            if load.state.response == nil { #expect(load.clock.responseDeadline != nil) }
            await Task.yield()
        }
        try #require(second).run()
        load.endBodyReading()
        #expect(load.clock.responseDeadline == nil)
        while load.state.bodyBytesSent < 20, !Task.isCancelled {
            _ = try step(&load)
            await Task.yield()
        }
        _ = try step(&load)
        #expect(load.clock.responseDeadline == nil)
    }
}

/// A server that does not read an upload.
@Suite(.timeLimit(.minutes(5))) struct WriteLimitTests {
    /// A port whose connections stay in the kernel's queue and are never accepted.
    private static func deafServer() throws -> (socket: Socket, url: URL) {
        let socket = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        let port = try #require(socket.localAddress?.port)
        return (socket, try #require(URL(string: "http://127.0.0.1:\(port)/")))
    }

    /// More than the socket buffers of both ends hold.
    private static let body = [UInt8](repeating: 7, count: 64 << 20)

    @Test(
        "an upload that the server does not take ends with the limit for writing, set before or after opening",
        arguments: [false, true])
    func fires(_ isLate: Bool) async throws {
        let (socket, url) = try Self.deafServer()
        defer { socket.invalidate() }
        let stream = ReadStream(request: try HTTPRequest(method: .put, url: url), body: .bytes(Self.body))
        if !isLate { try stream.set(.writeTimeout, to: .milliseconds(20)) }
        try stream.open()
        if isLate { try stream.set(.writeTimeout, to: .milliseconds(20)) }
        #expect(stream[.writeTimeout] == .milliseconds(20))
        let error = await #expect(throws: StreamError.self) { _ = try await stream.response() }
        #expect(error == .timedOut && error?.description.contains("sending the request") == true)
        #expect((stream[.httpBodyBytesSent] ?? .max) < Self.body.count)
    }

    @Test("a slow server that reads within the limit is not timed out")
    func progress() async throws {
        let server = try HTTPServer(
            port: 0, isLocal: true,
            configuration: {
                var configuration = HTTPServer.Configuration.patient
                configuration.limits.bodyLength = .max
                return configuration
            }())
        let serving = Task {
            try await server.run { exchange in
                var count = 0
                while true {
                    let piece = try await exchange.readBody()
                    if piece.isEmpty { break }
                    count += piece.count
                }
                try await exchange.respond(.ok, body: Array("\(count)".utf8))
            }
        }
        defer { serving.cancel() }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port ?? 0)/"))
        let stream = ReadStream(request: try HTTPRequest(method: .put, url: url), body: .bytes(Self.body))
        try stream.set(.writeTimeout, to: .seconds(3600))
        try stream.open()
        #expect(try await stream.readAll(limit: 100) == Array("\(Self.body.count)".utf8))
    }
}
