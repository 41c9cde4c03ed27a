import HTTPMessage
import Testing

/// One test for each known kind of vulnerability in HTTP/1 parsers and serializers.
@Suite struct SecurityHistoryTests {
    private static let splitters = ["\r\n", "\n", "\r", "\0", "\r\nX: y\r\n\r\nGET /evil HTTP/1.1"]

    @Test("CVE-2026-28970: line endings in the start line", arguments: splitters)
    func startLineInjection(text: String) {
        #expect(HTTPMethod("GET" + text) == nil)
        #expect(RequestTarget("/a" + text) == nil)
        #expect(throws: HTTPMessageError(.invalidReasonPhrase, offset: 2, fault: .caller)) {
            try HTTPResponse(status: .ok, reason: "OK" + text)
        }
    }

    @Test("CVE-2022-3215, CVE-2023-0040, CVE-2022-3918: line endings in names and values", arguments: splitters)
    func fieldInjection(text: String) throws {
        #expect(HTTPFieldName("A" + text) == nil)
        var request = try HTTPRequest(method: .get, target: "/")
        #expect { try request.fields.set("v" + text, for: "A") } throws: {
            ($0 as? HTTPMessageError)?.code == .invalidFieldValue
        }
        #expect(request.serialized() == Array("GET / HTTP/1.1\r\n\r\n".utf8))
    }

    @Test("CVE-2026-28980: an unlimited number of fields")
    func endlessFields() {
        var parser = HeadParser(.response)
        var buffer = Array("HTTP/1.1 200 OK\r\n".utf8)
        var outcome: HTTPMessageError?
        for _ in 0..<1_000_000 where outcome == nil {
            buffer += Array("a:\r\n".utf8)
            do throws(HTTPMessageError) { _ = try parser.parse(buffer.span.bytes) } catch { outcome = error }
        }
        #expect(outcome?.code == .tooManyFields)
        #expect(buffer.count < 2000)
    }

    @Test(
        "CVE-2023-38039, CVE-2022-32205: a head of unlimited length",
        arguments: ["a", "HTTP/1.1 200 ", "HTTP/1.1 200 OK\r\nA: "])
    func endlessHead(start: String) {
        for leniency in [HTTPLeniency.strict, .client] {
            var parser = HeadParser(start == "a" ? .request : .response, leniency: leniency)
            var buffer = Array(start.utf8)
            var outcome: HTTPMessageError?
            for _ in 0..<100 where outcome == nil {
                buffer += [UInt8](repeating: UInt8(ascii: "a"), count: 4096)
                do throws(HTTPMessageError) { _ = try parser.parse(buffer.span.bytes) } catch { outcome = error }
            }
            #expect(outcome?.code == .lineTooLong)
            #expect(buffer.count < 80_000)
        }
    }

    @Test(
        "llhttp#877: a lone line feed instead of a line ending",
        arguments: [
            "GET /\n\n", "GET / \n\n", "GET / HTTP/1.1\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n\n", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        ])
    func loneLineFeeds(text: String) {
        for terminator in ["\n", "\r", ""] {
            let mutated = text.replacing("\n\n", with: "\(terminator)\n")
            guard case .failure = parseHead(.request, mutated.contains("\r\n\n") ? mutated : text) else {
                Issue.record("accepted")
                return
            }
        }
    }

    @Test("CVE-2025-22871, GHSA-vqfr-h8mv-ghfj: lone CR and LF in chunk framing")
    func funkyChunks() {
        let good = Array("5;a=b\r\nhello\r\n0\r\nT: 1\r\n\r\n".utf8)
        for index in good.indices where good[index] == 13 || good[index] == 10 {
            for replacement: [UInt8] in [[], [10], [13], [32], [0], [13, 13], [10, 10]]
            where replacement != [good[index]] {
                var bytes = good
                bytes.replaceSubrange(index...index, with: replacement)
                let outcome = decodeBody(BodyDecoder(.chunked, leniency: .client), [bytes[...]], atEnd: true)
                // A second line feed after the last one of the body belongs to the next message.
                let isSurplus = index == good.count - 1 && replacement == [10, 10]
                #expect(isSurplus || outcome.error != nil, "byte \(index) as \(replacement)")
            }
        }
    }

    @Test(
        "hyper 8f93123e: chunk sizes that wrap around",
        arguments: [
            "10000000000000005", "8000000000000005", "FFFFFFFFFFFFFFFF", "00000000000000005",
        ])
    func chunkSizeOverflow(size: String) {
        #expect(decodeBody(BodyDecoder(.chunked), "\(size)\r\nhello\r\n0\r\n\r\n").error?.code == .invalidChunkSize)
    }

    @Test("hyper 1068b994: signs and blanks in numbers", arguments: ["+5", "-5", " 5", "5 ", "0x5", "5_0", "５"])
    func numbersAreDigits(number: String) {
        #expect(decodeBody(BodyDecoder(.chunked), "\(number)\r\nhello\r\n0\r\n\r\n").error?.code == .invalidChunkSize)
    }

    @Test(
        "CL.TE and TE.CL: a request with two possible ends",
        arguments: [
            "Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 5",
            "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5, 6", "Content-Length: 5\r\nContent-Length: 5",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
            "Transfer-Encoding: identity, chunked, identity",
            "Transfer-Encoding: \u{b}chunked", "Transfer-Encoding: chunked\r\n : x", "Transfer-Encoding : chunked",
            "Transfer-Encoding\r\n: chunked", "X: y\rTransfer-Encoding: chunked", "X: y\nContent-Length: 5",
            "Transfer-Encoding: cow", "Transfer-Encoding: 'chunked'", "Content-Length: 5\0",
        ])
    func requestSmuggling(lines: String) {
        var parser = MessageParser(.request)
        let bytes = Array(
            "POST / HTTP/1.1\r\nHost: a\r\n\(lines)\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        var events = 0
        do throws(HTTPMessageError) {
            try parser.append(bytes)
            while try parser.next() != nil { events += 1 }
            Issue.record("accepted")
        } catch {
            #expect(events == 0)
            #expect(error.fault == .peer)
        }
    }

    @Test("parsing byte by byte takes linear time")
    func slowDrip() throws {
        // 60,000 bytes of one line, one by one. Quadratic work would take minutes.
        var parser = HeadParser(.response)
        var buffer = Array("HTTP/1.1 200 OK\r\nA: ".utf8)
        buffer.reserveCapacity(70_000)
        for _ in 0..<60_000 {
            buffer.append(UInt8(ascii: "a"))
            #expect(try parser.parse(buffer.span.bytes) == .needMore)
        }
    }
}
