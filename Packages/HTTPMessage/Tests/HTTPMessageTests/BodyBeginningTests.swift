@_spi(Packages) import HTTPMessage
import Testing

@Suite struct BodyBeginningTests {
    private func head(_ fields: String) throws -> HTTPResponse {
        var parser = FinalHeadParser()
        return try #require(try parser.receive(Array("HTTP/1.1 200 OK\r\n\(fields)\r\n".utf8)))
    }

    @Test(
        arguments: [
            ("Content-Length: 5\r\n", "hello"), ("Transfer-Encoding: chunked\r\n", "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"),
            ("", "hello"),
        ])
    func isReadAtEverySplit(_ fields: String, _ wire: String) throws {
        for pieces in everySplit(of: Array(wire.utf8)) {
            var body = try BodyBeginning(of: try head(fields), to: .get, upTo: 100)
            for piece in pieces { try body.receive(Array(piece)) }
            #expect(body.isComplete == !fields.isEmpty && body.hasEndedByItself == !fields.isEmpty)
            if !body.isComplete { try body.receiveEnd() }
            #expect(body.isComplete && body.hasEndedByItself == !fields.isEmpty)
            #expect(body.bytes == Array("hello".utf8) && body.surplus.isEmpty)
        }
    }

    @Test func bytesBehindTheBodyAreSurplus() throws {
        for pieces in everySplit(of: Array("hello HTTP/1.1 200 OK".utf8)) {
            var body = try BodyBeginning(of: try head("Content-Length: 5\r\n"), to: .get, upTo: 100)
            for piece in pieces { try body.receive(Array(piece)) }
            #expect(body.hasEndedByItself && body.surplus == Array(" HTTP/1.1 200 OK".utf8))
        }
    }

    @Test(arguments: [0, 5])
    func isBounded(_ limit: Int) throws {
        for fields in ["", "Content-Length: 12\r\n"] {
            var body = try BodyBeginning(of: try head(fields), to: .get, upTo: limit)
            try body.receive(Array("hello, world".utf8))
            #expect(body.isComplete && !body.hasEndedByItself && body.bytes == Array("hello".utf8.prefix(limit)))
        }
    }

    @Test func rejectsATruncatedBodyAndAnInvalidLength() throws {
        var cut = try BodyBeginning(of: try head("Content-Length: 9\r\n"), to: .get, upTo: 4)
        try cut.receive([1])
        #expect(!cut.isComplete)
        #expect(throws: HTTPMessageError(.truncated, offset: 1)) { try cut.receiveEnd() }
        let invalid = try head("Content-Length: x\r\n")
        #expect(throws: HTTPMessageError.self) { try BodyBeginning(of: invalid, to: .get, upTo: 4) }
    }
}
