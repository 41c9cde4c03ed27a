import FoundationEssentials
import Glibc
import HTTPAuth
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

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

    /// Passes `answer` to the machine in pieces after the request, and then the end of the connection.
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

    // Parity: SK-116
    @Test("SK-116: the request; fields for the proxy only")
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
            #expect(responses.first??.status.code == (head.contains("204") ? 204 : 200))
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

    @Test("the received part of an incomplete refusal's body is kept")
    func cutShort() throws {
        let (outcomes, responses) = outcomes(try machine(), "HTTP/1.1 403 No\r\nContent-Length: 40\r\n\r\nwhy")
        #expect(outcomes == [.failed(Self.error(.tunnelConnectionFailure), .request)])
        #expect(responses.first??.body == Array("why".utf8))
    }

    @Test("an endless body of a refusal is neither read nor kept beyond the limit")
    func endless() throws {
        let body = String(repeating: "x", count: HTTPProxy.maximumRefusalBodyLength + 5000)
        let (outcome, response) = run(
            try machine(), "HTTP/1.1 403 No\r\n\r\n" + body, splitAt: [], ends: false)
        #expect(outcome == .failed(Self.error(.tunnelConnectionFailure), .request))
        #expect(response?.body.count == HTTPProxy.maximumRefusalBodyLength)
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

    @Test("interim responses are skipped up to the limit, whose error names it", arguments: [0, 1])
    func interim(_ surplus: Int) throws {
        let interim = "HTTP/1.1 103 Early Hints\r\n\r\n"
        let answer = String(repeating: interim, count: HTTPLimits.interimResponses + surplus)
        let (outcomes, _) = outcomes(try machine(), answer + "HTTP/1.1 200 OK\r\n\r\n", ends: false)
        #expect(outcomes.count == 1)
        switch outcomes.first {
        case .established: #expect(surplus == 0)
        case .failed(let error, let refusal):
            #expect(error.sentence.key == "proxy.interim" && refusal == nil && surplus == 1)
        case .waits, nil: Issue.record("no outcome")
        }
    }

    @Test("a head without an end is bounded by the limits")
    func longHead() throws {
        let answer = "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 1 << 20)
        let (outcome, _) = run(try machine(), answer, splitAt: [], ends: false)
        #expect(outcome == .failed(Self.error(.unexpectedResponseToConnect), nil))
    }

    @Test("no description contains the credentials")
    func secrets() throws {
        let server = ProxyServer(.http, host: "p", port: 1, user: "me", password: "s3cr3t")
        let proxy = try #require(try server.httpProxy())
        #expect(proxy.account?.user == "me" && proxy.account?.password == Secret("s3cr3t"))
        var dumped = "\(proxy) \(String(reflecting: proxy))"
        dump(proxy, to: &dumped)
        #expect(!dumped.contains("s3cr3t") && !dumped.contains("bWU6"))
        for user in ["a:b", "a:\u{301}b"] {
            var colon = ProxyServer(.http, host: "p", port: 1, user: user)
            #expect(try colon.httpProxy()?.account?.user == user)
            colon.sendsLoginUnasked = true
            #expect(throws: StreamError(posix: EINVAL)) { try colon.httpProxy() }
        }
    }
}

@Suite("CONNECT with a login, without I/O") struct ConnectLoginTests {
    private static let place = ProtectionSpace(.proxy, scheme: "http", host: "proxy.test", port: 3128)

    private func challenge(_ text: String) throws -> HTTPResponse {
        var response = try HTTPResponse(status: .proxyAuthenticationRequired)
        try response.fields.set(text, for: .proxyAuthenticate)
        return response
    }

    private func known(_ text: String) throws -> KnownAuthentication {
        var policy = AuthenticationPolicy()
        policy.methods = [.digest, .basic]
        let challenge = try challenge(text)
        let authentication = try #require(HTTPAuthentication(response: challenge, from: Self.place, policy: policy))
        let credential = Credential(user: "joe", password: "secret", for: authentication.space)
        return KnownAuthentication(authentication, of: challenge, policy, credential, isStored: false, saves: false)
    }

    private func machine(_ known: KnownAuthentication) throws -> ConnectMachine {
        var proxy = HTTPProxy(host: "proxy.test", port: 3128)
        try proxy.fields.set("Basic of the URL", for: .proxyAuthorization)
        proxy.login = known.login
        return try ConnectMachine(proxy, try TunnelTarget(host: "www.test", port: 443))
    }

    /// The bytes to send, after the preceding work.
    private func sent(_ machine: inout ConnectMachine) async throws -> String {
        guard case .work(let work) = try machine.next() else { return "" }
        await withCheckedContinuation { continuation in work.begin { continuation.resume() } }
        guard case .send(let bytes) = try machine.next() else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func answer(_ fields: String, body: String = "") -> [UInt8] {
        let length = "Content-Length: \(body.utf8.count)\r\n"
        return Array("HTTP/1.1 407 Proxy Authentication Required\r\n\(fields)\(length)\r\n\(body)".utf8)
    }

    @Test("the login's field replaces the URL's; a fresh nonce is used on the same connection")
    func anotherLeg() async throws {
        let known = try known("Digest realm=\"r\", qop=\"auth\", nonce=\"one\"")
        var machine = try machine(known)
        let first = try await sent(&machine)
        #expect(first.hasPrefix("CONNECT www.test:443 HTTP/1.1\r\n"))
        #expect(
            first.contains("nonce=\"one\"") && first.contains("uri=\"www.test:443\"") && !first.contains("of the URL"))
        let stale = "Proxy-Authenticate: Digest realm=\"r\", qop=\"auth\", nonce=\"two\", stale=true\r\n"
        try machine.receive(answer(stale, body: "wait"))
        #expect(try await sent(&machine).contains("nonce=\"two\""))
        try machine.receive(Array("HTTP/1.1 200 Connection established\r\n\r\nhello".utf8))
        #expect(try machine.next() == .established("tunnel to www.test:443: 200", surplus: Array("hello".utf8)))
        #expect(known.takeUnsaved()?.credential.user == "joe")
    }

    @Test("a further leg on a closed connection, or a wrong password, is a refusal with its verdict")
    func refused() async throws {
        let stale = "Proxy-Authenticate: Digest realm=\"r\", qop=\"auth\", nonce=\"two\", stale=true\r\n"
        let wrong = "Proxy-Authenticate: Digest realm=\"r\", qop=\"auth\", nonce=\"two\"\r\n"
        for (fields, verdict) in [
            ("Connection: close\r\n" + stale, AuthenticationVerdict.apply), (wrong, .refused),
        ] {
            let known = try known("Digest realm=\"r\", qop=\"auth\", nonce=\"one\"")
            var machine = try machine(known)
            _ = try await sent(&machine)
            try machine.receive(answer(fields, body: "why"))
            do throws(StreamError) {
                _ = try machine.next()
                Issue.record("no refusal")
            } catch {
                let refusal = try #require(error.underlying as? HTTPProxyRefusal)
                #expect(refusal.verdict == verdict && refusal.response.body == Array("why".utf8))
                #expect(machine.refusal == .request && refusal.source.space == Self.place)
            }
            #expect(known.takeUnsaved() == nil)
        }
    }

    @Test("a login that cannot be applied fails the tunnel before anything is sent") func cannotApply() async throws {
        let challenge = try challenge("Basic realm=\"r\"")
        let authentication = try #require(HTTPAuthentication(response: challenge, from: Self.place))
        let known = KnownAuthentication(
            authentication, of: challenge, AuthenticationPolicy(), nil, isStored: true, saves: false)
        var machine = try machine(known)
        do {
            _ = try await sent(&machine)
            Issue.record("sent")
        } catch {
            let failure = try #require((error as? StreamError)?.underlying as? ProxyLoginFailure)
            #expect(failure.error.code == .missingUserName && machine.refusal == .request)
        }
    }
}
