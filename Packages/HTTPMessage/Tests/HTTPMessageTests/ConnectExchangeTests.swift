@_spi(Packages) import HTTPMessage
import Testing

@Suite struct ConnectExchangeTests {
    private enum Outcome: Hashable {
        case response(Int, body: String, surplus: String, mayContinue: Bool)
        case ended(Int, body: String)
        case failed(HTTPMessageError.Code)
    }

    /// The outcome of an answer and the end of the connection, after a check that every split gives the same.
    private func outcome(_ answer: String, upTo limit: Int = 8) -> Outcome? {
        let outcomes = Set(everySplit(of: Array(answer.utf8)).map { outcome($0, limit) })
        #expect(outcomes.count == 1, "\(outcomes)")
        return outcomes.first
    }

    private func outcome(_ pieces: [ArraySlice<UInt8>], _ limit: Int) -> Outcome {
        func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }
        var exchange = ConnectExchange(maximumBodyLength: limit)
        do throws(HTTPMessageError) {
            for (index, piece) in pieces.enumerated() {
                guard let response = try exchange.receive(Array(piece)) else { continue }
                let rest = exchange.surplus + pieces[(index + 1)...].joined()
                return .response(
                    response.status.code, body: text(response.body), surplus: text(rest),
                    mayContinue: exchange.mayContinue)
            }
            let response = try exchange.receiveEnd()
            return .ended(response.status.code, body: text(response.body))
        } catch {
            return .failed(error.code)
        }
    }

    @Test func theRequestNamesTheTargetTwice() throws {
        let request = try HTTPRequest(connectingTo: "[2001:db8::1]:22")
        #expect(
            String(decoding: request.serialized(), as: UTF8.self)
                == "CONNECT [2001:db8::1]:22 HTTP/1.1\r\nHost: [2001:db8::1]:22\r\n\r\n")
        for invalid in ["", "a", "a.test:1 HTTP/1.1\r\nX: y"] {
            #expect(throws: HTTPMessageError(.invalidTarget, fault: .caller)) {
                try HTTPRequest(connectingTo: invalid)
            }
        }
    }

    /// RFC 9110 §9.3.6: a client ignores the framing fields of a 2xx.
    @Test(arguments: ["", "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "Content-Length: x\r\n"])
    func theTargetsBytesFollowASuccess(_ fields: String) {
        let head = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\(fields)\r\n"
        #expect(outcome(head + "220 hi") == .response(200, body: "", surplus: "220 hi", mayContinue: false))
    }

    @Test(arguments: [
        ("HTTP/1.1 407 No\r\nContent-Length: 3\r\n\r\nwhy", true),
        ("HTTP/1.0 407 No\r\nContent-Length: 3\r\n\r\nwhy", false),
        ("HTTP/1.1 407 No\r\nConnection: close\r\nContent-Length: 3\r\n\r\nwhy", false),
        ("HTTP/1.1 407 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nwhy\r\n0\r\n\r\n", true),
    ])
    func aRefusalHasItsBody(_ answer: String, mayContinue: Bool) {
        #expect(outcome(answer) == .response(407, body: "why", surplus: "", mayContinue: mayContinue))
    }

    @Test func bytesBehindARefusalEndTheConnection() {
        var exchange = ConnectExchange(maximumBodyLength: 8)
        let response = try? exchange.receive(Array("HTTP/1.1 407 No\r\nContent-Length: 3\r\n\r\nwhy?".utf8))
        #expect(response?.body == Array("why".utf8) && !exchange.mayContinue && exchange.surplus == Array("?".utf8))
    }

    @Test func theBodyOfARefusalIsBounded() {
        let long = "HTTP/1.1 403 No\r\n\r\nbecause"
        #expect(outcome(long) == .ended(403, body: "because"))
        #expect(outcome(long, upTo: 3) == .response(403, body: "bec", surplus: "ause", mayContinue: false))
        #expect(outcome(long, upTo: 0) == .response(403, body: "", surplus: "because", mayContinue: false))
        #expect(outcome("HTTP/1.1 403 No\r\nContent-Length: 9\r\n\r\nwhy") == .ended(403, body: "why"))
        // Without its body, a refusal is understood whatever its framing fields are.
        let odd = "HTTP/1.1 403 No\r\nContent-Length: x\r\n\r\n"
        #expect(outcome(odd, upTo: 0) == .response(403, body: "", surplus: "", mayContinue: false))
        #expect(outcome(odd) == .failed(.invalidContentLength))
    }

    @Test(
        arguments: [
            ("SSH-2.0-x\r\n", .malformedVersion), ("HTTP/1.1 20", .truncated), ("", .truncated),
            ("HTTP/1.1 101 Switch\r\n\r\n", .invalidStatusCode),
            ("HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", .invalidChunkSize),
            (String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 17), .tooManyInterimResponses),
        ] as [(String, HTTPMessageError.Code)])
    func anInvalidOrTruncatedResponseIsAnError(_ answer: String, _ code: HTTPMessageError.Code) {
        #expect(outcome(answer) == .failed(code))
    }
}
