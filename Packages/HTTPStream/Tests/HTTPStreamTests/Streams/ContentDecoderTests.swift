import HTTPMessage
import StreamKit
import Testing

@_spi(Compression) @testable import HTTPStream

@Suite struct ContentDecoderTests {
    /// "hello, hello, hello!" as Python's gzip, zlib and raw deflate make it.
    static let text = Array("hello, hello, hello!".utf8)
    static let raw: [UInt8] = [0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0xd7, 0x51, 0xc8, 0x40, 0xa2, 0x14, 0x01]
    static let zlib: [UInt8] = [0x78, 0x9c] + raw + [0x4b, 0x1e, 0x06, 0xf6]
    static let gzip: [UInt8] =
        [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff] + raw + [0xa7, 0xbb, 0xd2, 0xfe] + [20, 0, 0, 0]

    /// The same text as the libraries' own encoders make it.
    static let brotli: [UInt8] = [0x8b, 0x09, 0x80] + text + [0x03]
    static let zstandard: [UInt8] = [
        0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x75, 0, 0, 0x40, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x2c, 0x20, 0x21, 1, 0,
        0xe2, 0x8a, 0x11, 0xe5, 0x11, 0xf0, 0x2b,
    ]

    private func decoder(_ coding: String, limit: Int64 = .max) throws -> ContentDecoder? {
        var response = try HTTPResponse(status: .ok)
        try response.fields.set(coding, for: .contentEncoding)
        return ContentDecoder(for: response, limit: limit)
    }

    private func decode(_ bytes: [UInt8], _ coding: String, piece: Int, limit: Int64 = .max) throws -> [UInt8] {
        let decoder = try #require(try decoder(coding, limit: limit))
        var output: [UInt8] = []
        func drain() {
            while decoder.hasBytes {
                var part = [UInt8](repeating: 0, count: 3)
                var span = part.mutableSpan
                var memory = span.mutableBytes
                let count = decoder.read(into: &memory)
                output += part[..<count]
            }
        }
        for start in stride(from: 0, to: bytes.count, by: piece) {
            var rest = bytes[start..<min(start + piece, bytes.count)]
            while !rest.isEmpty {
                rest = try rest.dropFirst(decoder.decode(rest.span.bytes).consumed)
                drain()
            }
        }
        while try decoder.finish() != nil { drain() }
        return output
    }

    /// Whole and split at every position, with one member and several.
    @Test(
        arguments: [
            ("gzip", gzip, 1), ("deflate", zlib, 1), ("deflate", raw, 1), ("gzip", gzip + gzip + gzip, 3),
            ("br", brotli, 1),
            ("zstd", zstandard, 1), ("zstd", zstandard + zstandard, 2),
        ])
    func codings(_ coding: String, _ bytes: [UInt8], _ times: Int) throws {
        for piece in 1...bytes.count {
            #expect(try decode(bytes, coding, piece: piece) == Array(repeatElement(Self.text, count: times).joined()))
        }
    }

    /// A gzip member without compression.
    private static func stored(_ bytes: [UInt8]) throws -> [UInt8] {
        let zlib = try Zlib(deflating: .gzip, level: 0)
        var output = [UInt8](repeating: 0, count: bytes.count + bytes.count / 1000 + 100)
        let step = try #require(
            output.withUnsafeMutableBytes { zlib.deflate(bytes.span.bytes, into: $0, flush: .finish) })
        return Array(output[..<step.produced])
    }

    @Test(
        "a list of codings is removed from its end; identity and empty elements have no effect",
        arguments: [
            ("gzip, identity", 1), ("identity,gzip", 1), ("gzip,", 1), (",, GZIP ,", 1), ("gzip, gzip", 2),
            ("x-gzip, identity ,gzip", 2), ("gzip,gzip,gzip", 3), ("gzip, gzip, gzip, gzip, gzip", 5),
        ])
    func lists(_ coding: String, _ times: Int) throws {
        var bytes = Self.text
        for _ in 0..<times { bytes = try Self.stored(bytes) }
        for piece in [1, 7, 1000] { #expect(try decode(bytes, coding, piece: piece) == Self.text) }
        for count in 1..<bytes.count {
            #expect(throws: StreamError.badContentCoding("gzip")) {
                _ = try decode(Array(bytes[..<count]), coding, piece: 9)
            }
        }
    }

    @Test func differentCodings() throws {
        let outer = try Self.stored(Self.brotli)
        #expect(try decode(outer, "br, gzip", piece: 3) == Self.text)
        #expect(throws: StreamError.badContentCoding("br")) { _ = try decode(outer, "gzip, br", piece: 3) }
    }

    @Test("each step of several codings is bounded, and what comes out of it is limited") func bombs() throws {
        let size = 8 << 20
        var bytes = try Self.stored([UInt8](repeating: 0, count: size))
        bytes = try Self.stored(bytes)
        let decoder = try #require(try decoder("gzip, gzip", limit: 1 << 20))
        var rest = bytes[...]
        var read: Int64 = 0
        var memory = [UInt8](repeating: 0, count: 128 * 1024)
        #expect(throws: StreamError.decodedTooMuch(1 << 20)) {
            while true {
                let step = try decoder.decode(rest.span.bytes)
                #expect(step.cost <= 65 * 1024)
                rest = rest.dropFirst(step.consumed)
                while decoder.hasBytes {
                    var span = memory.mutableSpan
                    var target = span.mutableBytes
                    read += Int64(decoder.read(into: &target))
                }
            }
        }
        #expect(read <= 1 << 20)
    }

    /// Nothing comes out of them at the end, so that only the work of the stages before could be endless.
    @Test func theOutputOfEachCodingIsLimited() throws {
        let members = Array(repeatElement(try Self.stored([]), count: 100).joined())
        let bytes = try Self.stored(members)
        let size = Int64(members.count)
        #expect(try decode(bytes, "gzip, gzip", piece: 100, limit: size).isEmpty)
        #expect(throws: StreamError.decodedTooMuch(size - 1)) {
            _ = try decode(bytes, "gzip, gzip", piece: 100, limit: size - 1)
        }
    }

    @Test func bodiesThatAreNotDecoded() throws {
        for coding in [
            "", "identity", "identity, ,", "compress", "gzip, compress", "compress, gzip", "utf-8",
            "gzip,br,gzip,br,gzip,br",
        ] {
            #expect(try decoder(coding) == nil, "\(coding)")
        }
        var part = try HTTPResponse(status: .partialContent)
        try part.fields.set("gzip", for: .contentEncoding)
        #expect(ContentDecoder(for: part, limit: .max) == nil)
    }

    @Test(arguments: [("gzip", gzip), ("br", brotli), ("zstd", zstandard)])
    func truncatedAtEveryByte(_ coding: String, _ bytes: [UInt8]) throws {
        for count in 1..<bytes.count {
            #expect(throws: StreamError.badContentCoding(coding)) {
                _ = try decode(Array(bytes[..<count]), coding, piece: 5)
            }
        }
        #expect(try decode([], "gzip", piece: 1).isEmpty)
    }

    @Test func damaged() throws {
        var bytes = Self.gzip
        bytes[bytes.count - 8] ^= 1
        #expect(throws: StreamError.badContentCoding("gzip")) { _ = try decode(bytes, "gzip", piece: 100) }
        for coding in ["br", "zstd"] {
            #expect(throws: StreamError.badContentCoding(coding)) { _ = try decode(Self.text, coding, piece: 100) }
        }
    }

    /// A frame of Zstandard that declares a window of 128 MiB, above the limit of RFC 9659.
    @Test func windowsAboveTheLimit() throws {
        let frame: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x88] + [0x29, 0, 0] + Array("hello".utf8)
        #expect(throws: StreamError.badContentCoding("zstd")) { _ = try decode(frame, "zstd", piece: 100) }
        var small = frame
        small[5] = 0x58  // 2 MiB
        #expect(try decode(small, "zstd", piece: 100) == Array("hello".utf8))
    }

    @Test func surplusIsNotTheBody() throws {
        for (coding, bytes) in [("gzip", Self.gzip), ("br", Self.brotli), ("zstd", Self.zstandard)] {
            #expect(try decode(bytes + [0, 0, 0], coding, piece: 7) == Self.text)
        }
    }

    @Test func limit() throws {
        #expect(try decode(Self.gzip, "gzip", piece: 100, limit: 20) == Self.text)
        #expect(throws: StreamError.decodedTooMuch(19)) { _ = try decode(Self.gzip, "gzip", piece: 100, limit: 19) }
    }
}
