import EventLoops
import FoundationEssentials
import HTTPMessage
@_spi(Packages) import NetKit
import StreamKitTesting
import Testing

@testable import StreamKit

/// A server that sends these bytes to each client after its first bytes, and closes the connection.
private func server(saying bytes: [UInt8]) throws -> (listener: StreamListener, url: URL) {
    let listener = try StreamListener(address: .ip(.v4(.loopback), port: 0))
    Task {
        try await listener.run { client in
            _ = try? await client.input.read(upTo: 4096)
            try? await client.output.writeAll(bytes)
            try? await client.output.finish()
        }
    }
    return (listener, try #require(URL(string: "http://127.0.0.1:\(try port(listener.port))/")))
}

private func port(_ port: UInt16?) throws -> UInt16 { try #require(port) }

extension PropertyEffect {
    private static func url(_ server: AnsweringServer) throws -> URL {
        try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
    }

    /// The request that a server receives from a GET with a property.
    private static func request(
        _ set: (ReadStream) throws -> Void
    ) async throws -> String {
        let server = try AnsweringServer("HTTP/1.1 204 No Content\r\n\r\n")
        let stream = try ReadStream(httpURL: url(server))
        try set(stream)
        try stream.open()
        _ = try await stream.response()
        return server.requests.first ?? ""
    }

    private static let none = "HTTP/1.1 204 No Content\r\n\r\n"

    static let ofHTTP = [
        http(#"http(\.keepsConnection)"#) {
            let usual = try await request { _ in }
            let keeping = try await request {
                try $0.set(.http(\.keepsConnection), to: true)
                try $0.set(.http(\.pool), to: HTTPConnectionPool())
            }
            return usual.contains("Connection: close") && !keeping.contains("Connection: close")
        },
        http(#"http(\.decodesContent)"#) {
            let usual = try await request { _ in }
            let decoding = try await request { try $0.set(.http(\.decodesContent), to: true) }
            return !usual.contains("gzip") && decoding.contains("gzip")
        },
        http(#"http(\.followsRedirects)"#) {
            let target = try AnsweringServer(none)
            let server = try AnsweringServer(
                "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(target.port)/\r\nContent-Length: 0\r\n\r\n")
            let stream = try ReadStream(httpURL: url(server))
            try stream.set(.http(\.followsRedirects), to: true)
            try stream.open()
            return try await stream.response().status.code == 204 && target.connections == 1
        },
        http(#"http(\.versions)"#) {
            let usual = try await request { _ in }
            let server = try AnsweringServer(none)
            let stream = try ReadStream(httpURL: url(server))
            try stream.set(.http(\.versions), to: .http2)
            try stream.open()
            // The answer to the preface of HTTP/2 is one of HTTP/1.1.
            let failure = await #expect(throws: StreamError.self) { try await stream.response() }
            let preface = server.requests.first?.hasPrefix("PRI * HTTP/2.0\r\n")
            return usual.contains(" HTTP/1.1\r\n") && preface == true && failure != nil
        },
        http(#"http(\.pool)"#) {
            // The server continues to read, so that the connection can be kept.
            let server = try AnsweringServer(none, "")
            let pool = HTTPConnectionPool()
            let stream = try ReadStream(httpURL: url(server))
            try stream.set(.http(\.keepsConnection), to: true)
            try stream.set(.http(\.pool), to: pool)
            try stream.open()
            _ = try await stream.readAll(limit: 10)
            return pool.idleCount == 1
        },
        http(#"http(\.totalTimeout)"#) {
            let peer = try SilentPeer()
            let stream = try ReadStream(httpURL: try #require(URL(string: "http://127.0.0.1:\(peer.port)/")))
            try stream.set(.http(\.totalTimeout), to: .milliseconds(1))
            try stream.open()
            return await Subject.reader(stream).failureOfReading() == .timedOut
        },
        http(#"http(\.responseTimeout)"#) {
            let peer = try SilentPeer()
            let stream = try ReadStream(httpURL: try #require(URL(string: "http://127.0.0.1:\(peer.port)/")))
            try stream.set(.http(\.responseTimeout), to: .milliseconds(1))
            try stream.open()
            return await Subject.reader(stream).failureOfReading() == .timedOut
        },
        http(#"http(\.crossOrigin)"#) {
            let target = try AnsweringServer(none)
            let server = try AnsweringServer(
                "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(target.port)/\r\nContent-Length: 0\r\n\r\n")
            var request = try HTTPRequest(method: .get, url: url(server))
            let name: HTTPFieldName = "X-Key"
            try request.fields.set("secret", for: name)
            let stream = ReadStream(request: request)
            try stream.set(.http(\.followsRedirects), to: true)
            try stream.set(.http(\.crossOrigin), to: CrossOriginPolicy(fields: [name]))
            try stream.open()
            _ = try await stream.response()
            return target.requests.first?.contains("X-Key: secret") == true
        },
        http(#"http(\.endpoints)"#) {
            let server = try AnsweringServer(none)
            let stream = try ReadStream(httpURL: try #require(URL(string: "http://www.example.org/")))
            try stream.set(.http(\.endpoints), to: HTTPEndpoints(others: .host("127.0.0.1", port: server.port)))
            try stream.open()
            _ = try await stream.response()
            return server.requests.first?.contains("Host: www.example.org\r\n") == true
        },
        http(#"http(\.host)"#) {
            let server = try AnsweringServer(none)
            let stream = try ReadStream(httpURL: url(server))
            try stream.set(.http(\.host), to: "www.example.org")
            try stream.open()
            _ = try await stream.response()
            return server.requests.first?.contains("Host: www.example.org\r\n") == true
        },
        http(#"http(\.discardTimeout)"#) {
            // The redirect announces a body that does not arrive.
            for (limit, isFollowed) in [(Duration.milliseconds(1), true), (.seconds(3600), false)] {
                let target = try AnsweringServer(none)
                let server = try AnsweringServer(
                    "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(target.port)/\r\nContent-Length: 9\r\n\r\n", "")
                let stream = try ReadStream(httpURL: url(server))
                try stream.set(.http(\.followsRedirects), to: true)
                try stream.set(.http(\.keepsConnection), to: true)
                try stream.set(.http(\.pool), to: HTTPConnectionPool())
                try stream.set(.http(\.discardTimeout), to: limit)
                if !isFollowed { try stream.set(.http(\.totalTimeout), to: .milliseconds(50)) }
                try stream.open()
                let response = try? await stream.response()
                if (response?.status.code == 204) != isFollowed { return false }
            }
            return true
        },
        http(#"http(\.continueTimeout)"#) {
            let peer = try SilentPeer()
            var request = try HTTPRequest(
                method: .put, url: try #require(URL(string: "http://127.0.0.1:\(peer.port)/")))
            try request.fields.set("100-continue", for: .expect)
            let stream = ReadStream(request: request, body: .bytes(Array("the body".utf8)))
            defer { stream.close() }
            try stream.set(.http(\.continueTimeout), to: .milliseconds(1))
            try stream.open()
            let reading = Task { _ = try? await stream.response() }
            defer { reading.cancel() }
            let (pair, _) = try await peer.accept()
            defer { pair.close() }
            var received = ""
            while !received.contains("the body") {
                received += String(decoding: try await pair.input.read(upTo: 4096), as: UTF8.self)
            }
            return true
        },
        http(#"http(\.maximumDecodedLength)"#) {
            // A thousand times "a".
            let zlib: [UInt8] = [
                0x78, 0xDA, 0x4B, 0x4C, 0x1C, 0x05, 0xA3, 0x60, 0x14, 0x0C, 0x77, 0x00, 0x00, 0xF9, 0xD8, 0x7A, 0xF8,
            ]
            let head = "HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Length: \(zlib.count)\r\n\r\n"
            for (limit, fits) in [(1000, true), (999, false)] as [(Int64, Bool)] {
                let (listener, url) = try server(saying: Array(head.utf8) + zlib)
                defer { listener.stop(within: .zero) }
                let stream = try ReadStream(httpURL: url)
                try stream.set(.http(\.decodesContent), to: true)
                try stream.set(.http(\.maximumDecodedLength), to: limit)
                try stream.open()
                let body = try? await stream.readAll(limit: 2000)
                if (body == [UInt8](repeating: 0x61, count: 1000)) != fits { return false }
            }
            return true
        },
        http(#"http(\.limits)"#) {
            let server = try AnsweringServer(
                "HTTP/1.1 204 No Content\r\nX: \(String(repeating: "x", count: 200))\r\n\r\n")
            let stream = try ReadStream(httpURL: url(server))
            var limits = HTTPLimits.default
            limits.headLength = 100
            try stream.set(.http(\.limits), to: limits)
            try stream.open()
            let usual = try ReadStream(httpURL: url(server))
            try usual.open()
            let failure = await Subject.reader(stream).failureOfReading()
            let usualFailure = await Subject.reader(usual).failureOfReading()
            return failure != nil && usualFailure == nil
        },
        http(#"http(\.proxySettings)"#) {
            let server = try AnsweringServer(none)
            var settings = ProxySettings()
            settings.http = [ProxyServer(.http, host: "127.0.0.1", port: server.port)]
            let stream = try ReadStream(httpURL: try #require(URL(string: "http://origin.test/")))
            try stream.set(.http(\.proxySettings), to: settings)
            try stream.open()
            _ = try await stream.response()
            return server.requests.first?.hasPrefix("GET http://origin.test/ ") == true
        },
    ]

    private static func http(
        _ property: String, _ observe: @escaping @Sendable () async throws -> Bool
    ) -> PropertyEffect {
        PropertyEffect(property, of: [.http]) { _ in try await observe() }
    }
}
