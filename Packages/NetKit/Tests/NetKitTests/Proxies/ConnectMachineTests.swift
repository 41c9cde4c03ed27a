import Glibc
import HTTPAuth
import HTTPMessage
import StreamKit
import Testing

@testable import NetKit

@Suite("CONNECT, without I/O") struct ConnectMachineTests {
    private static let request =
        "CONNECT www.test:443 HTTP/1.1\r\nHost: www.test:443\r\nUser-Agent: NetKit/0.1\r\n\r\n"

    private enum Outcome: Hashable {
        case established(String, surplus: String)
        case failed(StreamError, TunnelRefusal?)
        case waits
    }

    private func machine(_ change: (inout HTTPProxy) -> Void = { _ in }) throws -> ConnectMachine {
        var proxy = HTTPProxy(host: "proxy.test", port: 3128)
        change(&proxy)
        return try ConnectMachine(proxy, try TunnelTarget(host: "www.test", port: 443))
    }

    /// Sends the request, is told `answer` in pieces, and then that the connection has ended.
    private func run(
        _ machine: ConnectMachine, _ answer: String, splitAt splits: Set<Int>, ends: Bool
    ) -> (Outcome, HTTPResponse?) {
        var machine = machine
        var rest = Array(answer.utf8)[...]
        func outcome(_ error: StreamError) -> (Outcome, HTTPResponse?) {
            (.failed(error, machine.refusal), machine.properties[.httpProxyResponse])
        }
        do throws(StreamError) {
            guard case .send = try machine.next() else { return (.waits, nil) }
            while true {
                switch try machine.next() {
                case .receive(let limit):
                    if rest.isEmpty {
                        guard ends else { return (.waits, machine.properties[.httpProxyResponse]) }
                        try machine.receiveEnd()
                        continue
                    }
                    let end = splits.filter { $0 > rest.startIndex }.min() ?? rest.endIndex
                    let piece = rest[..<min(end, rest.endIndex)].prefix(limit)
                    rest = rest[piece.endIndex...]
                    try machine.receive(Array(piece))
                case .established(let summary, let surplus):
                    let all = surplus + rest
                    return (
                        .established(summary, surplus: String(decoding: all, as: UTF8.self)),
                        machine.properties[.httpProxyResponse]
                    )
                case .send, .work: return (.waits, nil)
                }
            }
        } catch {
            return outcome(error)
        }
    }

    /// The outcomes whole, at every split, and byte by byte.
    private func outcomes(
        _ machine: ConnectMachine, _ answer: String, ends: Bool = true
    ) -> (outcomes: Set<Outcome>, responses: Set<HTTPResponse?>) {
        var outcomes: Set<Outcome> = []
        var responses: Set<HTTPResponse?> = []
        let count = answer.utf8.count
        for splits in [Set(0...count), []] + (0...count).map({ Set([$0]) }) {
            let (outcome, response) = run(machine, answer, splitAt: splits, ends: ends)
            outcomes.insert(outcome)
            responses.insert(response)
        }
        return (outcomes, responses)
    }

    private static func error(_ number: HTTPErrorNumber.ProxyError) -> StreamError {
        StreamError(domain: .http, code: number.rawValue, sentence: Sentence("", ""))
    }

    @Test("SK-116: the request; fields for the proxy alone")
    func requests() throws {
        var plain = try machine()
        #expect(try plain.next() == .send(Array(Self.request.utf8)))
        var rich = try machine { proxy in
            try? proxy.fields.set("me/1", for: .userAgent)
            try? proxy.fields.append("Basic eDp5", for: .proxyAuthorization)
            try? proxy.fields.append("evil.test", for: .host)
        }
        let expected =
            "CONNECT www.test:443 HTTP/1.1\r\nHost: www.test:443\r\nUser-Agent: me/1\r\nProxy-Authorization: Basic eDp5\r\n\r\n"
        #expect(try rich.next() == .send(Array(expected.utf8)))
        let proxy = HTTPProxy(host: "p", port: 1)
        var address = try ConnectMachine(proxy, try TunnelTarget(host: "2001:db8::1", port: 22))
        guard case .send(let bytes) = try address.next() else { throw StreamError.closed }
        #expect(
            String(decoding: bytes, as: UTF8.self).hasPrefix(
                "CONNECT [2001:db8::1]:22 HTTP/1.1\r\nHost: [2001:db8::1]:22\r\n"))
    }

    @Test(
        "RFC 9110 §9.3.6: any 2xx is a tunnel, whatever its fields say of a body; what follows is the target's",
        arguments: [
            "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n",
            "HTTP/1.1 204 X\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        ])
    func established(_ head: String) throws {
        for first in ["", "220 hello\r\n", "HTTP/1.1 500 not the proxy's\r\n\r\n"] {
            let (outcomes, responses) = outcomes(try machine(), head + first, ends: false)
            #expect(outcomes.count == 1 && responses.count == 1)
            guard case .established(let summary, let surplus)? = outcomes.first else {
                Issue.record("\(outcomes)")
                return
            }
            #expect(summary.hasPrefix("tunnel to www.test:443: 20") && surplus == first)
            #expect(responses.first??.status.code == 200 || responses.first??.status.code == 204)
        }
    }

    @Test("refusals: status, fields and body are kept", arguments: [400, 403, 407, 500, 502, 503, 504, 302, 404])
    func refused(_ status: Int) throws {
        let head = "HTTP/1.1 \(status) No\r\nProxy-Authenticate: Basic realm=\"x\"\r\n"
        for answer in [
            head + "Content-Length: 4\r\n\r\nwhy?", head + "Transfer-Encoding: chunked\r\n\r\n4\r\nwhy?\r\n0\r\n\r\n",
            head + "\r\nwhy?",
        ] {
            let (outcomes, responses) = outcomes(try machine(), answer)
            let number: HTTPErrorNumber.ProxyError = status == 407 ? .badCredentials : .tunnelConnectionFailure
            let refusal: TunnelRefusal = (502...504).contains(status) ? .address : .request
            #expect(outcomes == [.failed(Self.error(number), refusal)])
            let response = try #require(responses.count == 1 ? responses.first ?? nil : nil)
            #expect(response.status.code == status && response.body == Array("why?".utf8))
            #expect(response.fields[.proxyAuthenticate] == "Basic realm=\"x\"")
            for case .failed(let error, _) in outcomes {
                #expect("\(error)".contains("proxy.test:3128") && "\(error)".contains("www.test:443"))
                #expect((error.underlying as? HTTPProxyRefusal)?.response == response)
            }
        }
    }

    @Test("a refusal's body that is cut short is kept as far as it came")
    func cutShort() throws {
        let (outcomes, responses) = outcomes(try machine(), "HTTP/1.1 403 No\r\nContent-Length: 40\r\n\r\nwhy")
        #expect(outcomes == [.failed(Self.error(.tunnelConnectionFailure), .request)])
        #expect(responses.first??.body == Array("why".utf8))
    }

    @Test("a refusal's body without an end is not waited for, or kept, beyond the limit")
    func endless() throws {
        let body = String(repeating: "x", count: HTTPProxy.refusalBodyLimit + 5000)
        let (outcome, response) = run(
            try machine(), "HTTP/1.1 403 No\r\n\r\n" + body, splitAt: [], ends: false)
        #expect(outcome == .failed(Self.error(.tunnelConnectionFailure), .request))
        #expect(response?.body?.count == HTTPProxy.refusalBodyLimit)
    }

    @Test(
        "what is not an answer is no decision",
        arguments: [
            ("SSH-2.0-OpenSSH\r\n", 311), ("\u{16}\u{3}\u{1}\u{2}", 311), ("HTTP/1.1 101 Switching\r\n\r\n", 311),
            ("HTTP/1.1 20", 310), ("", 310), ("HTTP/1.1 403 No\r\nContent-Length: x\r\n\r\n", 311),
            ("HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 311),
            (String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 17), 311),
        ])
    func nonsense(_ answer: String, _ code: Int) throws {
        let (outcomes, _) = outcomes(try machine(), answer)
        #expect(outcomes == [.failed(StreamError(domain: .http, code: code, sentence: Sentence("", "")), nil)])
    }

    @Test("a head without an end is bounded by the limits")
    func longHead() throws {
        let answer = "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 1 << 20)
        let (outcome, _) = run(try machine(), answer, splitAt: [], ends: false)
        #expect(outcome == .failed(Self.error(.unexpectedResponseToConnect), nil))
    }

    @Test("no description has the credentials")
    func secrets() throws {
        let server = ProxyServer(.http, host: "p", port: 1, user: "me", password: "s3cr3t")
        let proxy = try #require(try server.httpProxy())
        #expect(proxy.account?.user == "me" && proxy.account?.password == Secret("s3cr3t"))
        var dumped = "\(proxy) \(String(reflecting: proxy))"
        dump(proxy, to: &dumped)
        #expect(!dumped.contains("s3cr3t") && !dumped.contains("bWU6"))
        var colon = ProxyServer(.http, host: "p", port: 1, user: "a:b")
        #expect(try colon.httpProxy()?.account?.user == "a:b")
        colon.sendsLoginUnasked = true
        #expect(throws: StreamError(posix: EINVAL)) { try colon.httpProxy() }
    }
}
