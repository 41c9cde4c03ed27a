import Foundation
import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// The beginning and end of bodies, with exact responses (RFC 9112 §6.3, §8).
@Suite(.serialized) struct BodyTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var answer: String
        var body: String
        var status = 200
        var method = HTTPMethod.get
    }

    static let whole: [Case] = [
        .init(testDescription: "length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", body: "hello"),
        .init(testDescription: "length zero", answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", body: ""),
        .init(testDescription: "until close", answer: "HTTP/1.0 200 OK\r\n\r\nuntil the end", body: "until the end"),
        .init(testDescription: "until close, empty", answer: "HTTP/1.1 200 OK\r\n\r\n", body: ""),
        .init(
            testDescription: "chunked with extensions and trailers",
            answer:
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX-Sum: 9\r\n\r\n",
            body: "hello!"),
        .init(
            testDescription: "HEAD with a length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", body: "",
            method: .head),
        .init(
            testDescription: "204 with a length", answer: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
            body: "", status: 204),
        .init(
            testDescription: "304 with a length", answer: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
            body: "", status: 304),
        .init(
            testDescription: "100 and 103 first",
            answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", body: "ok"),
        .init(
            testDescription: "bytes after the end",
            answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n", body: "ok"),
        .init(
            testDescription: "bare line feeds and a fold",
            answer: "HTTP/1.1 200 OK\nX: a\n b\nContent-Length: 2\n\nok", body: "ok"),
        .init(
            testDescription: "an unknown status", answer: "HTTP/1.1 799 \r\nContent-Length: 2\r\n\r\nok", body: "ok",
            status: 799),
        .init(
            testDescription: "401", answer: "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno", body: "no",
            status: 401),
    ]

    // Parity: HM-060, HM-075, HM-078
    @Test(arguments: whole, Style.allCases)
    func completeBodies(_ sample: Case, _ style: Style) async throws {
        for size in [Int.max, 1] {
            let server = try ScriptedServer(answering: sample.answer, inPiecesOf: size)
            let loaded = try await get(server.url(), style, method: sample.method)
            #expect(loaded.error == nil)
            #expect(loaded.text == sample.body)
            #expect(loaded.status == sample.status)
            #expect(loaded.stream[.httpResponse]?.url?.absoluteString == server.url())
        }
    }

    // Parity: HM-075, HM-077
    @Test func trailersAndInterimResponsesAreKept() async throws {
        let chunked = try ScriptedServer(answering: Self.whole[4].answer)
        let loaded = try await get(chunked.url())
        #expect(loaded.stream[.httpTrailers]?["X-Sum"] == "9")
        #expect(loaded.stream[.httpBodyLength] == nil)

        let interim = try ScriptedServer(answering: Self.whole[8].answer)
        let hinted = try await get(interim.url())
        #expect(hinted.stream[.httpInterimResponses]?.map(\.status.code) == [100, 103])
        #expect(hinted.stream[.httpBodyLength] == 2)
    }

    // MARK: Broken answers

    static let broken: [(String, HTTPErrorNumber)] = [
        ("", .connectionLost),
        ("HTTP/1.1 200 OK\r\nContent-Le", .connectionLost),
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", .connectionLost),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", .connectionLost),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", .connectionLost),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", .connectionLost),
        ("SSH-2.0-OpenSSH_9.2\r\n", .parseFailure),
        ("HTTP/1.1 20 OK\r\n\r\n", .parseFailure),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", .parseFailure),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", .parseFailure),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", .parseFailure),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", .parseFailure),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfive\r\nhello\r\n0\r\n\r\n", .parseFailure),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n", .parseFailure),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", .parseFailure),
        ("HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 70_000) + "\r\n\r\n", .parseFailure),
        ("HTTP/1.1 200 OK\r\n" + String(repeating: "X: y\r\n", count: 300) + "\r\n", .parseFailure),
        (String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 17), .parseFailure),
        // These were not requested.
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello", .parseFailure),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", .parseFailure),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", .parseFailure),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: deflate\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", .parseFailure),
    ]

    @Test(arguments: broken.indices, Style.allCases)
    func invalidResponses(_ index: Int, _ style: Style) async throws {
        let (answer, number) = Self.broken[index]
        let server = try ScriptedServer(answering: answer)
        let loaded = try await get(server.url(), style)
        #expect(loaded.error?.domain == .http)
        #expect(loaded.error?.code == number.rawValue)
        #expect(loaded.error?.description.isEmpty == false)
    }

    /// A response cut at every byte, by an end or a reset: all bytes that arrived are readable, then comes an error, never a silent
    /// end.
    // Parity: HM-079
    @Test(
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\nT: 1\r\n\r\n",
        ], Ending.allCases)
    func aResponseCutAtEveryByte(_ answer: String, _ ending: Ending) async throws {
        let bytes = Array(answer.utf8)
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send(Array(bytes[..<connection.number]))
            if ending == .reset { connection.reset() }
        }
        let headEnd = try #require(answer.range(of: "\r\n\r\n")).upperBound
        let headLength = answer.utf8.distance(from: answer.startIndex, to: headEnd)
        for count in bytes.indices {
            let loaded = try await get(server.url(), .number(count))
            #expect(loaded.error != nil, "cut at \(count)")
            #expect(loaded.response == nil || count >= headLength)
            if ending == .finish {
                #expect(loaded.response != nil || count < headLength)
                #expect(loaded.error?.domain == .http && loaded.error?.code == -4)
                let payload = payload(of: bytes[min(headLength, count)..<count], isChunked: answer.contains("chunked"))
                #expect(loaded.body == payload, "cut at \(count)")
            }
        }
    }

    private func payload(of part: ArraySlice<UInt8>, isChunked: Bool) -> [UInt8] {
        isChunked ? part.filter { (0x61...0x67).contains($0) } : Array(part)
    }

    // MARK: Memory

    /// A body that arrives in single bytes needs no more memory and ends like any other.
    @Test(arguments: Style.allCases)
    func aBodyInSingleBytes(_ style: Style) async throws {
        let text = String(repeating: "drip ", count: 40)
        let server = try ScriptedServer(
            answering: "HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)", inPiecesOf: 1)
        let loaded = await load(try makeStream(server.url()), style, piece: 3)
        #expect(loaded.error == nil)
        #expect(loaded.text == text)
    }

    @Test(arguments: [1, 7, 1023, 1024, 65536])
    func readsOfAnySize(_ piece: Int) async throws {
        let bytes = patterned(piece == 1 ? 2000 : 200_000)
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for start in stride(from: 0, to: bytes.count, by: 30_000) {
                let part = bytes[start..<min(start + 30_000, bytes.count)]
                try connection.send(String(part.count, radix: 16) + "\r\n")
                try connection.send(Array(part) + [13, 10])
            }
            try connection.send("0\r\n\r\n")
        }
        for style in [Style.blocking, .async, .queueEvents] {
            let loaded = await load(try makeStream(server.url()), style, piece: piece)
            #expect(loaded.error == nil)
            #expect(loaded.body == bytes)
        }
    }
}
