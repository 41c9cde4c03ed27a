@_spi(Packages) import HTTPMessage
import Testing

@Suite struct FinalHeadParserTests {
    /// Returns the status line, if there is one, and what follows it, or the error, after a check that every split gives the same.
    private func outcome(
        _ text: String, _ leniency: HTTPLeniency = .strict, limits: HTTPLimits = .default
    ) -> [String] {
        let splits = everySplit(of: Array(text.utf8))
        let whole = outcome(splits[0], leniency, limits)
        for pieces in splits { #expect(outcome(pieces, leniency, limits) == whole) }
        return whole
    }

    private func outcome(
        _ pieces: [ArraySlice<UInt8>], _ leniency: HTTPLeniency, _ limits: HTTPLimits
    ) -> [String] {
        var parser = FinalHeadParser(limits: limits, leniency: leniency)
        var line: String?
        var later: [UInt8] = []
        do throws(HTTPMessageError) {
            for piece in pieces {
                if line == nil { line = try parser.receive(piece)?.statusLine } else { later += piece }
            }
        } catch {
            return ["error \(error.code.rawValue)"]
        }
        return (line.map { [$0] } ?? []) + ["surplus " + String(decoding: parser.surplus + later, as: UTF8.self)]
    }

    private static let interim = "HTTP/1.1 103 Early\r\nA: 1\r\n\r\n"

    @Test(arguments: [
        ("HTTP/1.1 204 A\r\n\r\n", ["HTTP/1.1 204 A", "surplus "]),
        (
            "HTTP/1.1 100 Continue\r\n\r\n\(interim)HTTP/1.1 407 A\r\nB: 1\r\n\r\nwhy",
            ["HTTP/1.1 407 A", "surplus why"]
        ),
        // No other response follows a 101.
        (
            "\(interim)HTTP/1.1 101 Switch\r\n\r\nHTTP/1.1 200 A\r\n\r\n",
            ["HTTP/1.1 101 Switch", "surplus HTTP/1.1 200 A\r\n\r\n"]
        ),
        // RFC 9110 §9.3.6: a client ignores the framing fields of a 2xx to CONNECT.
        ("HTTP/1.1 200 A\r\nContent-Length: x\r\nTransfer-Encoding: x\r\n\r\ntls", ["HTTP/1.1 200 A", "surplus tls"]),
        ("HTTP/1.1 200 A\r\n\r\nHTTP/1.1 403 B\r\n\r\n", ["HTTP/1.1 200 A", "surplus HTTP/1.1 403 B\r\n\r\n"]),
        ("HTTP/1.1 999 A\r\n\r\n", ["HTTP/1.1 999 A", "surplus "]),
    ])
    func returnsTheFinalHead(text: String, expected: [String]) {
        #expect(outcome(text) == expected)
    }

    @Test(arguments: ["", "HTTP/1.1 20", "HTTP/1.1 200 A\r\nB: 1\r\n"])
    func needsMore(text: String) {
        #expect(outcome(text) == ["surplus \(text)"])
        #expect(outcome(Self.interim + text) == ["surplus \(text)"])
    }

    @Test func interimResponsesAreLimited() {
        let most = String(repeating: Self.interim, count: HTTPLimits.interimResponses)
        #expect(outcome(most + "HTTP/1.1 200 A\r\n\r\n") == ["HTTP/1.1 200 A", "surplus "])
        #expect(outcome(most + Self.interim) == ["error tooManyInterimResponses"])
    }

    @Test func obeysLimitsAndLeniency() {
        var limits = HTTPLimits.default
        limits.headLength = 40
        #expect(outcome(Self.interim + Self.interim, limits: limits) == ["surplus "])
        #expect(
            outcome("HTTP/1.1 200 A\r\nB: 0123456789012345678901234567890", limits: limits) == ["error headTooLong"])
        #expect(outcome("HTTP/1.1 200 A\n\n") == ["error bareLineFeed"])
        #expect(outcome("HTTP/1.1 200 A\n\nx", .client) == ["HTTP/1.1 200 A", "surplus x"])
        #expect(outcome(Self.interim + "SSH-2.0") == ["error malformedVersion"])
    }

    @Test(arguments: ["HTTP/1.1 200 A\r\n\r\n", "HTTP/1.1 101 A\r\n\r\n", "@", String(repeating: interim, count: 17)])
    func staysFinished(text: String) throws {
        var parser = FinalHeadParser()
        _ = try? parser.receive(Array(text.utf8))
        let surplus = parser.surplus
        #expect(throws: HTTPMessageError(.parserFinished, fault: .caller)) { try parser.receive([UInt8]()) }
        #expect(throws: HTTPMessageError(.parserFinished, fault: .caller)) {
            try parser.receive(Array("HTTP/1.1 200 A\r\n\r\n".utf8))
        }
        #expect(parser.surplus == surplus)
    }
}
