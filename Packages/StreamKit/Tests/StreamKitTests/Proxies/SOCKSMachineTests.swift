import Glibc
import HostResolver
import Testing

@testable import StreamKit
@testable import StreamProxies

@Suite("SOCKS, without I/O") struct SOCKSMachineTests {
    private static let greeting: Conversation.Line = .client([5, 1, 0])
    private static let reply4: [UInt8] = [5, 0, 0, 1, 192, 0, 2, 9, 0x04, 0x38]

    private func machine(
        _ host: String, _ port: UInt16 = 80, version: SOCKSProxy.Version = .v5, user: String? = nil,
        password: String? = nil
    ) throws(StreamError) -> any TunnelMachine {
        let proxy = SOCKSProxy(host: "proxy.test", version: version, user: user, password: password)
        return try proxy.machine(for: try TunnelTarget(host: host, port: port))
    }

    private func outcomes(_ machine: any TunnelMachine, _ lines: Conversation.Line...) -> Set<Conversation.Outcome> {
        Conversation(lines: lines).outcomes(machine)
    }

    // MARK: Version 5

    // Parity: SK-111
    @Test(
        "SK-111, RFC 1928 §4: names, IPv4 and IPv6 addresses",
        arguments: [
            ("www.example.org", [3, 15] + Array("www.example.org".utf8)),
            ("192.0.2.7", [1, 192, 0, 2, 7]),
            ("2001:db8::1", [4, 0x20, 1, 0x0d, 0xb8] + Array(repeating: 0, count: 11) + [1]),
        ] as [(String, [UInt8])])
    func requests(_ host: String, _ address: [UInt8]) throws {
        let outcomes = outcomes(
            try machine(host, 0x1F90), Self.greeting, .proxy([5, 0]), .client([5, 1, 0] + address + [0x1F, 0x90]),
            .proxy(Self.reply4))
        let target = try TunnelTarget(host: host, port: 0x1F90)
        #expect(outcomes == [.established("connected to \(target), from 192.0.2.9:1080", surplus: [])])
    }

    @Test("RFC 1929: user name and password")
    func authentication() throws {
        let lines: [Conversation.Line] = [
            .client([5, 2, 0, 2]), .proxy([5, 2]), .client([1, 2] + Array("me".utf8) + [4] + Array("s3cr".utf8)),
        ]
        let asks = try machine("192.0.2.7", user: "me", password: "s3cr")
        let request: Conversation.Line = .client([5, 1, 0, 1, 192, 0, 2, 7, 0, 80])
        let good = Conversation(lines: lines + [.proxy([1, 0]), request, .proxy(Self.reply4)]).outcomes(asks)
        #expect(good == [.established("connected to 192.0.2.7:80, from 192.0.2.9:1080", surplus: [])])
        let bad = Conversation(lines: lines + [.proxy([1, 7])]).outcomes(asks)
        #expect(bad == [.failed(StreamError(domain: .socks, code: 3 << 16 + 7, sentence: .closed))])
        for case .failed(let error) in bad {
            #expect("\(error)" == "SOCKS5 proxy.test:1080 rejected the user name or password.")
            #expect(error.socksFailure?.networkErrorCode == 122)
        }
        // A proxy may choose no login although it was offered.
        let without = outcomes(asks, lines[0], .proxy([5, 0]), request, .proxy(Self.reply4))
        #expect(without == good)
    }

    @Test("RFC 1929 §2: a missing password is sent as an empty one")
    func emptyPassword() throws {
        let outcomes = outcomes(
            try machine("192.0.2.7", user: "me"), .client([5, 2, 0, 2]), .proxy([5, 2]),
            .client([1, 2] + Array("me".utf8) + [0]), .proxy([1, 1]))
        #expect(outcomes == [.failed(StreamError(domain: .socks, code: 3 << 16 + 1, sentence: .closed))])
    }

    @Test("exactly the bytes of the bound address are read, for every kind")
    func boundAddresses() throws {
        let asks = try machine("192.0.2.7")
        let name = Array(repeating: UInt8(ascii: "a"), count: 255)
        let replies: [([UInt8], String)] = [
            ([5, 0, 0, 1, 0, 0, 0, 0, 0, 0], ""),
            ([5, 0, 0, 4] + Array(repeating: 0, count: 15) + [1, 0, 9], ", from [::1]:9"),
            ([5, 0, 0, 3, 0, 0, 9], ""),
            ([5, 0, 0, 3, 255] + name + [0, 9], ""),
        ]
        for (reply, from) in replies {
            let outcomes = outcomes(
                asks, Self.greeting, .proxy([5, 0]), .client([5, 1, 0, 1, 192, 0, 2, 7, 0, 80]),
                .proxy(reply + Array("220 hello".utf8)))
            #expect(
                outcomes == [.established("connected to 192.0.2.7:80\(from)", surplus: Array("220 hello".utf8))])
        }
    }

    // Parity: SK-114
    @Test("SK-114: every reply code is reported as soon as it arrives", arguments: 1...9)
    func refusals(_ code: UInt8) throws {
        let outcomes = outcomes(
            try machine("www.test"), Self.greeting, .proxy([5, 0]),
            .client([5, 1, 0, 3, 8] + Array("www.test".utf8) + [0, 80]), .proxy([5, code]))
        #expect(outcomes == [.failed(StreamError(domain: .socks, code: 5 << 16 + Int(code), sentence: .closed))])
        for case .failed(let error) in outcomes {
            #expect(error.socksFailure?.subdomain == .reply5 && error.socksFailure?.value == Int(code))
            #expect("\(error)".contains("SOCKS5 proxy.test:1080"))
            #expect("\(error)".contains("www.test:80") == (code != 7))
        }
    }

    // Parity: SK-048, SK-114
    @Test("SK-048, SK-114: invalid replies")
    func nonsense() throws {
        let asks = try machine("192.0.2.7")
        let request: Conversation.Line = .client([5, 1, 0, 1, 192, 0, 2, 7, 0, 80])
        func failure(_ lines: Conversation.Line...) -> SOCKSFailure? {
            let outcomes = Conversation(lines: [Self.greeting] + lines).outcomes(asks)
            #expect(outcomes.count == 1)
            guard case .failed(let error)? = outcomes.first else { return nil }
            return error.socksFailure
        }
        #expect(failure(.proxy([4])) == SOCKSFailure(.version, 4))
        #expect(failure(.proxy(Array("HTTP/1.0 400".utf8))) == SOCKSFailure(.version, 72))
        #expect(failure(.proxy([5, 255])) == .noAcceptableMethod)
        #expect(failure(.proxy([5, 1])) == SOCKSFailure(.method, 1))
        // Not offered: otherwise user name and password would go to any server that asks.
        #expect(failure(.proxy([5, 2])) == SOCKSFailure(.method, 2))
        #expect(failure(.proxy([5, 0]), request, .proxy([0])) == SOCKSFailure(.version, 0))
        #expect(failure(.proxy([5, 0]), request, .proxy([5, 0, 0, 9])) == .badResponseAddress)
        #expect(failure(.end) == .badState)
        #expect(failure(.proxy([5]), .end) == .badState)
        #expect(failure(.proxy([5, 0]), request, .end) == .badState)
        #expect(failure(.proxy([5, 0]), request, .proxy([5, 0, 0, 3, 200, 1]), .end) == .badState)
    }

    @Test("an HTTP server is recognized")
    func httpServer() throws {
        let outcomes = outcomes(try machine("192.0.2.7"), Self.greeting, .proxy(Array("HTTP/1.0 400".utf8)))
        for case .failed(let error) in outcomes {
            #expect("\(error)".contains("answered like an HTTP server"))
        }
    }

    // MARK: Version 4

    // Parity: SK-112
    @Test("SK-112: version 4, an address and a user id; 4a, a name")
    func version4() throws {
        let target: Conversation.Line = .client([4, 1, 0, 80, 192, 0, 2, 7] + Array("me".utf8) + [0])
        let done = Conversation(lines: [target, .proxy([0, 90, 4, 56, 192, 0, 2, 9])])
        #expect(
            done.outcomes(try machine("192.0.2.7", version: .v4, user: "me"))
                == [.established("connected to 192.0.2.7:80, from 192.0.2.9:1080", surplus: [])])
        let named: Conversation.Line = .client([4, 1, 0, 80, 0, 0, 0, 1, 0] + Array("www.test".utf8) + [0])
        #expect(
            outcomes(try machine("www.test", version: .v4), named, .proxy([0, 90, 0, 0, 0, 0, 0, 0]))
                == [.established("connected to www.test:80", surplus: [])])
        #expect(throws: StreamError(posix: EINVAL)) { try machine("::1", version: .v4) }
    }

    // Parity: SK-114
    @Test("SK-114: every reply of version 4", arguments: [(91, 110), (92, 111), (93, 112), (94, 113), (0, 113)])
    func refusals4(_ code: UInt8, _ networkCode: Int) throws {
        let asks = try machine("192.0.2.7", version: .v4)
        let outcomes = outcomes(asks, .client([4, 1, 0, 80, 192, 0, 2, 7, 0]), .proxy([0, code]))
        #expect(outcomes == [.failed(StreamError(domain: .socks, code: 2 << 16 + Int(code), sentence: .closed))])
        for case .failed(let error) in outcomes { #expect(error.socksFailure?.networkErrorCode == networkCode) }
    }

    @Test("version 4: wrong version, and an end in the middle")
    func nonsense4() throws {
        let asks = try machine("192.0.2.7", version: .v4)
        let request: Conversation.Line = .client([4, 1, 0, 80, 192, 0, 2, 7, 0])
        #expect(
            outcomes(asks, request, .proxy([5]))
                == [.failed(StreamError(SOCKSFailure(.version, 5), .closed))])
        #expect(outcomes(asks, request, .proxy([0, 90, 0]), .end) == [.failed(StreamError(.badState, .closed))])
    }

    // MARK: Bounds

    @Test("CVE-2023-38545: a name over 255 bytes is refused before anything is sent")
    func longNames() throws {
        let name = String(repeating: "a", count: 255)
        for version in [SOCKSProxy.Version.v4, .v5] {
            _ = try machine(name, version: version)
            for count in [256, 65_536] {
                #expect(throws: StreamError(posix: EINVAL)) {
                    try machine(String(repeating: "a", count: count), version: version)
                }
            }
        }
        let bytes = Array(repeating: UInt8(ascii: "a"), count: 255)
        let outcomes = outcomes(
            try machine(name), Self.greeting, .proxy([5, 0]), .client([5, 1, 0, 3, 255] + bytes + [0, 80]),
            .proxy([5, 4]))
        #expect(outcomes == [.failed(StreamError(.hostUnreachable, .closed))])
    }

    @Test("user names and passwords that the protocol cannot carry are refused, and not disclosed")
    func longCredentials() throws {
        let long = String(repeating: "x", count: 256)
        let cases: [(SOCKSProxy.Version, String?, String?)] = [
            (.v5, long, nil), (.v5, "me", long), (.v5, "", "x"), (.v4, "a\0b", nil),
            (.v4, String(repeating: "x", count: 513), nil),
            // Version 4 carries no password, and version 5 none without a user.
            (.v4, "me", "s3cr3t"), (.v4, nil, "s3cr3t"), (.v5, nil, "s3cr3t"), (.v5, nil, ""),
        ]
        for (version, user, password) in cases {
            #expect(throws: StreamError(posix: EINVAL)) {
                try machine("192.0.2.7", version: version, user: user, password: password)
            }
        }
        _ = try machine("192.0.2.7", version: .v4, user: String(repeating: "x", count: 512))
        _ = try machine("192.0.2.7", version: .v4, user: "me", password: "")
        let proxy = SOCKSProxy(host: "p", user: "me", password: "s3cr3t")
        #expect(
            !"\(proxy) \(String(reflecting: proxy)) \(Mirror(reflecting: proxy).children.map(\.value))".contains(
                "s3cr3t"))
        var dumped = ""
        dump(proxy, to: &dumped)
        #expect(!dumped.contains("s3cr3t"))
    }

    @Test(
        "targets that no proxy can connect to",
        arguments: ["", "a b", "a\0b", "a\r\nb", "a:b", "a/b", "user@host", "fe80::1%lo"])
    func badTargets(_ host: String) {
        #expect(throws: StreamError(posix: EINVAL)) { try TunnelTarget(host: host, port: 80) }
    }

    @Test("international names are sent in ASCII")
    func internationalName() throws {
        #expect(try TunnelTarget(host: "bücher.example", port: 80).host == "xn--bcher-kva.example")
    }
}

/// A scripted proxy in conversation with a machine: the bytes it must send, and the answers it gets.
struct Conversation: Sendable {
    enum Line: Sendable {
        /// The machine must send exactly these bytes.
        case client([UInt8])
        /// The proxy sends these bytes.
        case proxy([UInt8])
        /// The proxy closes the connection.
        case end
    }

    enum Outcome: Hashable {
        case established(String, surplus: [UInt8])
        case failed(StreamError)
        /// The machine did not follow the script.
        case mismatch(String)
    }

    var lines: [Line]

    /// The number of bytes that the proxy sends in all.
    var proxyByteCount: Int {
        lines.reduce(0) { if case .proxy(let bytes) = $1 { $0 + bytes.count } else { $0 } }
    }

    /// Runs the script. The proxy's bytes arrive in pieces that end at the given offsets, counted over all of its bytes.
    func run(_ machine: any TunnelMachine, splitAt splits: Set<Int> = []) -> Outcome {
        var machine = machine
        var lines = lines[...]
        var pending: [UInt8] = []
        var offset = 0
        do throws(StreamError) {
            while true {
                switch try machine.next() {
                case .send(let bytes):
                    guard case .client(let expected)? = lines.popFirst(), expected == bytes else {
                        return .mismatch("sent \(bytes)")
                    }
                case .work: return .mismatch("asked for work")
                case .receive(let limit):
                    guard limit > 0 else { return .mismatch("asked for nothing") }
                    if pending.isEmpty {
                        switch lines.popFirst() {
                        case .proxy(let bytes)?: pending = bytes
                        case .end?:
                            try machine.receiveEnd()
                            continue
                        default: return .mismatch("asked for \(limit) bytes")
                        }
                    }
                    var count = min(limit, pending.count)
                    if let split = splits.filter({ $0 > offset && $0 < offset + count }).min() {
                        count = split - offset
                    }
                    offset += count
                    let piece = Array(pending[..<count])
                    pending.removeFirst(count)
                    try machine.receive(piece)
                case .established(let summary, let surplus):
                    // Bytes of the proxy beyond those asked for are the target's, and remain to be read.
                    guard lines.isEmpty else { return .mismatch("ended before \(lines)") }
                    return .established(summary, surplus: surplus + pending)
                }
            }
        } catch {
            return .failed(error)
        }
    }

    /// Runs the script whole, at every single split, and byte by byte. Returns the outcomes that occurred.
    func outcomes(_ machine: any TunnelMachine) -> Set<Outcome> {
        let count = proxyByteCount
        var outcomes: Set = [run(machine), run(machine, splitAt: Set(0...count))]
        for split in 0..<count { outcomes.insert(run(machine, splitAt: [split])) }
        return outcomes
    }
}
