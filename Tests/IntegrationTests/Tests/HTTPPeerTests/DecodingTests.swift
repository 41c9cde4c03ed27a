import Foundation
import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// Compressed bodies: decoded only on request, and never beyond the limit.
@Suite(.serialized) struct DecodingTests {
    static let text = patterned(300_000)

    static func decode(_ stream: ReadStream) throws { try stream.set(.http(\.decodesContent), to: true) }

    /// A server that responds with these bytes and this content coding.
    private func server(_ coding: String, _ body: [UInt8], chunk: Int? = nil) throws -> ScriptedServer {
        try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\n")
            guard let chunk else {
                try connection.send("Content-Length: \(body.count)\r\n\r\n")
                return try connection.send(body)
            }
            try connection.send("Transfer-Encoding: chunked\r\n\r\n")
            for start in stride(from: 0, to: body.count, by: chunk) {
                let part = body[start..<min(start + chunk, body.count)]
                try connection.send(Array("\(String(part.count, radix: 16))\r\n".utf8) + part + [13, 10])
            }
            try connection.send("0\r\n\r\n")
        }
    }

    /// The result of a Python expression for `input`.
    private func python(_ expression: String, _ input: [UInt8]) async throws -> [UInt8] {
        let script = "import sys,gzip,zlib; d=sys.stdin.buffer.read(); sys.stdout.buffer.write(\(expression))"
        return try await Command(Program("python3"), ["-c", script], input: input).run().output
    }

    @Test(
        arguments: [
            ("gzip", "gzip.compress(d)"), ("x-gzip", "gzip.compress(d)"), ("GZip", "gzip.compress(d)"),
            ("deflate", "zlib.compress(d)"), ("deflate", "zlib.compress(d)[2:-4]"),
            ("gzip", "gzip.compress(d[:1000])+gzip.compress(d[1000:])"),
        ], [nil, 7, 5000])
    func eachContentCoding(_ coding: (String, String), _ chunk: Int?) async throws {
        let body = try await python(coding.1, Self.text)
        let server = try server(coding.0, body, chunk: chunk)
        for style in Style.allCases {
            let loaded = try await get(server.url(), style, Self.decode)
            #expect(loaded.error == nil)
            #expect(loaded.body == Self.text)
            #expect(loaded.stream[.httpBodyLength] == nil)
        }
        let raw = try await get(server.url())
        #expect(raw.body == body)
    }

    @Test(arguments: Style.allCases)
    func codingsOfRealServers(_ style: Style) async throws {
        let nginx = try SharedNginx.get()
        try nginx.write("coded-\(style.rawValue)", Self.text)
        let pool = HTTPConnectionPool()
        for _ in 0..<2 {
            let loaded = try await get(nginx.url(.plain, "/gzip/coded-\(style.rawValue)"), style) { stream in
                try Self.decode(stream)
                try PersistenceTests.keep(pool)(stream)
            }
            #expect(loaded.response?.fields[.contentEncoding] == "gzip")
            #expect(loaded.body == Self.text)
            #expect(pool.idleCount == 1)
        }
        pool.drain()
        let head = try await get(nginx.url(.plain, "/gzip/coded-\(style.rawValue)"), style, method: .head, Self.decode)
        #expect(head.error == nil)
        #expect(head.body.isEmpty)
    }

    @Test func brotliOfApache() async throws {
        let apache = Apache(listeners: [.plain])
        try apache.start()
        try apache.write("brotli.txt", Self.text)
        for style in Style.allCases {
            let loaded = try await get(apache.url(.plain, "/brotli/brotli.txt"), style, Self.decode)
            #expect(loaded.response?.fields[.contentEncoding] == "br")
            #expect(loaded.body == Self.text)
        }
        apache.stop()
    }

    @Test(arguments: [nil, 7, 5000])
    func zstandardOfItsProgram(_ chunk: Int?) async throws {
        let zstd = Program("zstd")
        let body = try await Command(zstd, ["-c", "-q"], input: Self.text).run().output
        let server = try server("zstd", body, chunk: chunk)
        for style in Style.allCases {
            #expect(try await get(server.url(), style, Self.decode).body == Self.text)
        }
    }

    @Test(arguments: Style.allCases)
    func invalidDataIsAnError(_ style: Style) async throws {
        let whole = try await python("gzip.compress(d)", Self.text)
        var damaged = whole
        damaged[whole.count / 2] ^= 0xff
        for body in [Array(whole[..<(whole.count - 1)]), Array(whole[..<5]), damaged, Array("no gzip".utf8)] {
            let server = try server("gzip", body)
            let loaded = try await get(server.url(), style, Self.decode)
            #expect(loaded.error?.domain == .http)
            #expect(loaded.error?.code == HTTPErrorNumber.parseFailure.rawValue)
        }
        let server = try server("gzip", [])
        let empty = try await get(server.url(), style, Self.decode)
        #expect(empty.error == nil)
        #expect(empty.body.isEmpty)
    }

    /// 64 MiB of zeros in 64 KiB.
    @Test(arguments: Style.allCases)
    func aDecompressionBombIsAnError(_ style: Style) async throws {
        let bomb = try await python("gzip.compress(bytes(64<<20))", [])
        let server = try server("gzip", bomb)
        let loaded = try await get(server.url(), style) { stream in
            try Self.decode(stream)
            try stream.set(.http(\.maximumDecodedLength), to: 1 << 20)
        }
        #expect(loaded.error?.domain == .http)
        #expect(loaded.error?.description.contains("1048576") == true)
        #expect(loaded.body.count <= 1 << 20)
    }

    @Test func aBodyOfExactlyTheLimit() async throws {
        let body = try await python("gzip.compress(d)", Self.text)
        for (limit, fails) in [(Self.text.count, false), (Self.text.count - 1, true)] {
            let server = try server("gzip", body)
            let loaded = try await get(server.url()) { stream in
                try Self.decode(stream)
                try stream.set(.http(\.maximumDecodedLength), to: Int64(limit))
            }
            #expect((loaded.error != nil) == fails)
        }
    }

    @Test func unknownCodingsAreDeliveredAsTheyAre() async throws {
        let server = try server("compress", Array("whatever".utf8))
        let loaded = try await get(server.url(), Self.decode)
        #expect(loaded.text == "whatever")
        #expect(loaded.stream[.httpFinalRequest]?.fields[.acceptEncoding] == "gzip, deflate, br, zstd")
    }

    /// Coded data that decodes to nothing, followed by a little that decodes to bytes.
    private static func emptyData(_ coding: String) -> [UInt8] {
        let count = 256 * 1024
        if coding == "gzip" {
            let empty: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]
            let done: [UInt8] = [
                0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 0x4b, 0xc9, 0xcf, 0x4b, 5, 0, 0xab, 0xe0, 0x2d, 0x10, 4, 0, 0, 0,
            ]
            return Array(repeatElement(empty, count: count / empty.count).joined()) + done
        }
        let block: [UInt8] = [0, 0, 0, 0xff, 0xff]
        let done: [UInt8] = [0x4b, 0xc9, 0xcf, 0x4b, 5, 0]
        return Array(repeatElement(block, count: count / block.count).joined()) + done
    }

    /// A step ends after a bounded amount of data that decodes to nothing, so that other work proceeds; the load continues.
    @Test(arguments: ["gzip", "deflate"])
    func aStepIsBounded(_ coding: String) async throws {
        let body = Self.emptyData(coding)
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send(
                "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n")
            try connection.send(body)
        }
        let stream = try makeStream(server.url()) { try $0.set(.http(\.decodesContent), to: true) }
        try stream.open()
        try await stream.opened()
        try await server.finished()
        // All data is in the socket, and yet repeated tries return nothing.
        let tries = await onThread {
            Result {
                var buffer = [UInt8](repeating: 0, count: 100)
                var tries = 0
                while true {
                    guard let count = try stream.tryRead(into: &buffer) else {
                        tries += 1
                        continue
                    }
                    #expect(buffer[..<count] == Array("done".utf8)[...])
                    return tries
                }
            }
        }
        #expect(try tries.get() >= body.count / (64 * 1024) - 1)
        stream.close()
    }

    @Test(arguments: ["gzip", "deflate"], Style.allCases)
    func dataThatDecodesToNothing(_ coding: String, _ style: Style) async throws {
        let body = Self.emptyData(coding)
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send(
                "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n")
            try connection.send(body)
        }
        let loaded = try await get(server.url(), style) { try $0.set(.http(\.decodesContent), to: true) }
        #expect(loaded.error == nil && loaded.text == "done")
    }
}
