import Foundation
import Listings
import NetKit
import Peers
import Testing

private typealias Listings3 = CFNetworkGuide.Chapter3

/// Chapter 3 and the tutorial: messages and streams of HTTP, against nginx and Apache.
struct HTTPListingTests {
    // Parity: HM-002
    @Test func messagesFrom1To3() throws {
        let url = try #require(URL(string: "http://www.example.org"))
        let bytes = try Listings3.listing1(url, body: "body")
        let text = "GET / HTTP/1.1\r\nX-My-Favorite-Field: Dreams\r\n\r\nbody"
        #expect(String(decoding: bytes, as: UTF8.self) == text)
        var request: HTTPRequest? = try HTTPRequest(method: .get, url: url)
        let copy = request
        Listings3.listing2(&request)
        #expect(request == nil && copy?.requestLine == "GET / HTTP/1.1")

        let arriving = Array("POST /a?b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc".utf8)
        for split in 0...arriving.count {
            var message = AnyHTTPMessage(emptyRequest: true)
            let first = try Listings3.listing3(&message, arriving[..<split])
            #expect((first == nil) == (split < arriving.count - 3))
            let whole = try #require(try Listings3.listing3(&message, arriving[split...]))
            #expect(whole.method == .post && whole.target.description == "/a?b")
            #expect(message.body == Array("abc".utf8))
        }
        var bad = AnyHTTPMessage(emptyRequest: true)
        #expect(throws: HTTPMessageError.self) { try Listings3.listing3(&bad, Array("GET\r\n\r\n".utf8)[...]) }
    }

    // Parity: HM-012 (Apache, nginx)
    @Test func requests4And5() async throws {
        let apache = Apache(listeners: [.plain])
        try apache.start()
        defer { apache.stop() }
        let echo = try #require(URL(string: apache.url(.plain, "/cgi/echo")))
        let stream = try Listings3.listing4(echo, body: Array("posted".utf8))
        #expect(try await stream.response().status == .ok)
        let said = String(decoding: try await stream.readAll(limit: 10_000), as: UTF8.self)
        #expect(said.hasPrefix("POST /cgi/echo ") && said.hasSuffix("\nposted"))

        let nginx = Nginx(listeners: [.plain])
        try nginx.start()
        defer { nginx.stop() }
        let request = try HTTPRequest(method: .get, url: try #require(URL(string: nginx.url(.plain, "/chain"))))
        let first = ReadStream(request: request)
        try first.open()
        #expect(try await first.response().status.code == 301)
        #expect(first.error == nil)
        let again = try Listings3.listing5(first, request)
        #expect(try await again.readAll(limit: 100) == Array("hello\n".utf8))
    }

    // Parity: HM-067 (Apache)
    @Test func tutorial() async throws {
        let apache = Apache(listeners: [.tls])
        try apache.start()
        defer { apache.stop() }
        let url = try #require(URL(string: apache.url(.tls, "/cgi/echo")))
        var tls = TLSConfiguration()
        tls.trust = .only(file: try CertificateAuthority.shared().root)
        for (port, trusts) in [(0, true), (1, false)] {
            let got = Locked<[PostTutorial.Answer]>([])
            let configuration = tls
            try await onThread {
                try PostTutorial.postRequest(
                    url, configure: { if trusts { try $0.set(.tls, to: configuration) } },
                    done: { payload, answer in
                        #expect(payload == Array(#"{"test-data-key" : "test-data-value"}"#.utf8))
                        got.withLock { $0.append(answer) }
                    })
                while RunLoop.current.run(mode: .default, before: .distantFuture) {}
            }
            let answers = got.withLock { $0 }
            #expect(answers.count == 1, "\(port)")
            if trusts {
                let response = try #require(answers.first?.response)
                let body = String(decoding: response.body, as: UTF8.self)
                #expect(response.status == .ok && body.hasSuffix(#"{"test-data-key" : "test-data-value"}"#))
                #expect(body.contains("CONTENT_TYPE: charset=utf-8\n") && body.contains("HTTP_HOST: localhost"))
            } else {
                #expect(answers.first?.error?.domain == .ssl)
            }
        }
    }
}
