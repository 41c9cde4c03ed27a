import HTTPMessage
import Testing

/// Random messages: every accepted message is serialized without loss, and no input makes the parsers trap.
@Suite struct RoundTripTests {
    /// A seeded random number generator, so that a failure can be reproduced.
    struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    private static let fragments: [String] = [
        "GET", "POST", "CONNECT", " ", "  ", "/", "/a?b", "*", "a:1", "http://a/b", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0",
        "\r\n", "\n", "\r", "200", "404 Not Found", "Host", "Content-Length", "Transfer-Encoding", ":", ": ", "\t", "a",
        "chunked", "5", "0", "\0", "\u{7f}", "é", " x\r\n y", "Connection: close\r\n", "Host: a\r\n", "A: 1\r\n",
    ]

    private func message(_ generator: inout Generator) -> [UInt8] {
        let isRequest = Bool.random(using: &generator)
        var text =
            isRequest
            ? "GET /\(Int.random(in: 0...9, using: &generator)) HTTP/1.1\r\nHost: a\r\n" : "HTTP/1.1 200 OK\r\n"
        for _ in 0..<Int.random(in: 0...6, using: &generator) {
            text += "F\(Int.random(in: 0...3, using: &generator)):"
            text += [" ", "", "\t ", "  "].randomElement(using: &generator) ?? ""
            text += ["v", "", "a b", "é", "x\ty", "\u{FF}"].randomElement(using: &generator) ?? ""
            text += ["", " ", "\t"].randomElement(using: &generator) ?? ""
            text += ["\r\n", "\r\n", "\r\n", "\n", "\r\n z\r\n"].randomElement(using: &generator) ?? ""
        }
        text += "\r\n"
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 0...2, using: &generator) {
            let index = Int.random(in: 0..<bytes.count, using: &generator)
            let fragment = Array((Self.fragments.randomElement(using: &generator) ?? "").utf8)
            bytes.replaceSubrange(
                index..<min(bytes.count, index + Int.random(in: 0...2, using: &generator)), with: fragment)
        }
        return bytes
    }

    /// The deviations in syntax, which serialization corrects.
    private static let syntax: HTTPLeniency = [
        .bareLineFeed, .bareCarriageReturn, .foldedLines, .whitespaceBeforeColon, .extraSpacesInStartLine,
        .controlCharactersInValues,
    ]

    /// A head in strict syntax is serialized byte for byte. Any other head is rewritten so that a strict parser accepts it and
    /// returns the same fields.
    @Test(arguments: [HTTPLeniency.strict, .client, HTTPLeniency(rawValue: .max)])
    func serializesAcceptedMessagesInStrictSyntax(leniency: HTTPLeniency) throws {
        var generator = Generator(state: 1)
        var (unchanged, rewritten) = (0, 0)
        for round in 0..<20_000 {
            let bytes = message(&generator)
            for kind in [HeadParser.Kind.request, .response] {
                var parser = HeadParser(kind, leniency: leniency)
                guard case .complete(let count)? = try? parser.parse(bytes.span.bytes) else { continue }
                let (output, fields) = try written(&parser, bytes)
                if parser.toleratedDeviations.isDisjoint(with: Self.syntax) {
                    let start = bytes.firstIndex { $0 != 13 && $0 != 10 } ?? 0
                    #expect(output == (parser.byteCount == 0 ? [] : Array(bytes[start..<count])), "round \(round)")
                    unchanged += 1
                } else {
                    var strict = HeadParser(kind, leniency: leniency.subtracting(Self.syntax))
                    guard case .complete(output.count)? = try? strict.parse(output.span.bytes) else {
                        Issue.record("round \(round): \(String(decoding: output, as: UTF8.self).debugDescription)")
                        continue
                    }
                    let again = try written(&strict, output)
                    #expect(again.output == output && again.fields.count == fields.count, "round \(round)")
                    if !parser.toleratedDeviations.contains(.controlCharactersInValues) {
                        #expect(again.fields == fields, "round \(round)")
                    }
                    rewritten += 1
                }
            }
        }
        #expect(unchanged > 1000 && (leniency == .strict || rewritten > 1000))
    }

    private func written(_ parser: inout HeadParser, _ bytes: [UInt8]) throws -> (output: [UInt8], fields: HTTPFields) {
        if parser.kind == .request {
            let request = try parser.makeRequest(from: bytes.span.bytes)
            return (request.serialized(), request.fields)
        }
        let response = try parser.makeResponse(from: bytes.span.bytes)
        return (response.serialized(), response.fields)
    }

    // Parity: HM-030
    @Test func splitsDoNotChangeTheResult() {
        var generator = Generator(state: 2)
        for _ in 0..<400 {
            let bytes = message(&generator)
            _ = parseHead(.request, bytes: bytes, .client)
            _ = parseHead(.response, bytes: bytes)
        }
    }

    @Test func garbageNeverTraps() {
        var generator = Generator(state: 3)
        for _ in 0..<20_000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0...12, using: &generator) {
                bytes += Array((Self.fragments.randomElement(using: &generator) ?? "").utf8)
            }
            for kind in [MessageParser.Kind.request, .response] {
                var parser = MessageParser(
                    kind, leniency: HTTPLeniency(rawValue: UInt32.random(in: 0...(1 << 17), using: &generator)))
                do throws(HTTPMessageError) {
                    try parser.append(bytes)
                    while try parser.next() != nil {}
                    _ = try parser.receiveEnd()
                } catch {
                    #expect(error.fault == .peer)
                }
            }
            _ = decodeBody(BodyDecoder(.chunked), [bytes[...]], atEnd: true)
        }
    }

    @Test func parsesSerializedMessages() throws {
        var request = try HTTPRequest(method: .put, target: "/x?y")
        for (name, value) in [("Host", "a"), ("A", ""), ("a", "b c"), ("B", "é")] {
            try request.fields.append(value, for: try #require(HTTPFieldName(name)))
        }
        let bytes = request.serialized()
        var parser = HeadParser(.request)
        #expect(try parser.parse(bytes.span.bytes) == .complete(byteCount: bytes.count))
        #expect(try parser.makeRequest(from: bytes.span.bytes) == request)
    }
}
