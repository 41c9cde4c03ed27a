import EventLoops
import HostResolver
import StreamKitTesting
import Testing

@testable import StreamKit
@_spi(Packages) @testable import StreamProxies

@Suite("tunnels over any transport") struct TunnelTransportTests {
    private static let request: [UInt8] = [5, 1, 0, 1, 192, 0, 2, 7, 0, 80]
    private static let reply: [UInt8] = [5, 0, 0, 1, 192, 0, 2, 9, 0x04, 0x38]

    private func tunnel(over wire: TestWire) throws -> TunnelTransport {
        let machine = try SOCKSProxy(host: "p").machine(for: try TunnelTarget(host: "192.0.2.7", port: 80))
        return TunnelTransport(machine, over: wire)
    }

    /// Opens the tunnel to a proxy that answers correctly, while bytes move.
    private func open(_ tunnel: TunnelTransport, _ proxy: TestWire, _ answers: [[UInt8]]) throws -> Bool {
        var answers = answers[...]
        var expected = [3, 10][...]
        var received = 0
        for _ in 0..<200 {
            if case .opened = try tunnel.tryOpen() { return true }
            var buffer = [UInt8](repeating: 0, count: 64)
            var span = buffer.mutableSpan
            var bytes = span.mutableBytes
            if case .moved(let count) = try proxy.tryRead(into: &bytes) { received += count }
            if let next = expected.first, received >= next {
                received -= next
                expected.removeFirst()
                if let answer = answers.popFirst() {
                    #expect(try proxy.tryWrite(answer.span.bytes) == .moved(answer.count))
                }
            }
        }
        return false
    }

    private func readAll(_ transport: any StreamTransport) throws -> [UInt8] {
        var all: [UInt8] = []
        var isStuck = false
        while true {
            var buffer = [UInt8](repeating: 0, count: 3)
            var span = buffer.mutableSpan
            var bytes = span.mutableBytes
            guard case .moved(let count) = try transport.tryRead(into: &bytes) else {
                if isStuck { return all }
                isStuck = true
                continue
            }
            isStuck = false
            all += buffer[..<count]
        }
    }

    @Test(
        "the target's first bytes are left, at every split of the wire", arguments: [1, 2, 7, 1000],
        [false, true])
    func opens(_ most: Int, _ stutters: Bool) throws {
        let (near, far) = TestWire.pair()
        near.set {
            $0.most = most
            $0.stutters = stutters
        }
        let tunnel = try tunnel(over: near)
        #expect(try open(tunnel, far, [[5, 0], Self.reply + Array("220 hello".utf8)]))
        #expect(near.transcript == [5, 1, 0] + Self.request)
        #expect(tunnel.summary == "connected to 192.0.2.7:80, from 192.0.2.9:1080")
        #expect(tunnel.properties[.socksBoundAddress]?.description == "192.0.2.9:1080")
        #expect(!tunnel.isEngine)
        #expect(try readAll(tunnel) == Array("220 hello".utf8))
    }

    @Test("a failure is final")
    func fails() throws {
        let (near, far) = TestWire.pair()
        let tunnel = try tunnel(over: near)
        #expect(throws: StreamError(.noAcceptableMethod, .closed)) { try open(tunnel, far, [[5, 255]]) }
        #expect(throws: StreamError(.noAcceptableMethod, .closed)) { try tunnel.tryOpen() }
    }

    @Test("the lower transport's failure and end are reported")
    func lowerFails() throws {
        let (near, far) = TestWire.pair()
        near.set { $0.readFailsAfter = 1 }
        let broken = try tunnel(over: near)
        #expect(throws: TestWire.failure) { try open(broken, far, [[5, 0]]) }
        let (other, end) = TestWire.pair()
        other.set { $0.readEndsAfter = 2 }
        let ended = try tunnel(over: other)
        #expect(throws: StreamError(.badState, .closed)) { try open(ended, end, [[5, 0], Self.reply]) }
    }

    /// A machine that reads everything at once, as HTTP must.
    private struct Greedy: TunnelMachine {
        var bytes: [UInt8] = []
        var refusal: TunnelRefusal? { nil }

        mutating func next() throws(StreamError) -> TunnelAction {
            bytes.isEmpty ? .receive(upTo: 1 << 20) : .established("in", surplus: Array(bytes.dropFirst(3)))
        }

        mutating func receive(_ bytes: [UInt8]) throws(StreamError) { self.bytes += bytes }

        mutating func receiveEnd() throws(StreamError) { throw .closed }
    }

    @Test("a machine's surplus is read first")
    func surplus() throws {
        let (near, far) = TestWire.pair()
        let tunnel = TunnelTransport(Greedy(), over: near)
        #expect(try tunnel.tryOpen() == .wouldBlock(.readable))
        let first = Array("ok.220 hel".utf8)
        #expect(try far.tryWrite(first.span.bytes) == .moved(first.count))
        #expect(try tunnel.tryOpen() == .opened)
        #expect(tunnel.isEngine)
        #expect(try tunnel.peek() == .moved(7))
        #expect(try far.tryWrite(Array("lo".utf8).span.bytes) == .moved(2))
        #expect(try readAll(tunnel) == Array("220 hello".utf8))
        #expect(!tunnel.isEngine)
        #expect(try tunnel.peek() == .wouldBlock(.readable))
    }

    /// A machine whose tunnel frames the target's bytes.
    private struct Framing: TunnelMachine {
        var refusal: TunnelRefusal? { nil }

        func next() throws(StreamError) -> TunnelAction { .established("in", surplus: [1]) }

        func receive(_ bytes: [UInt8]) throws(StreamError) {}

        func receiveEnd() throws(StreamError) { throw .closed }

        func layer(over lower: any StreamTransport) -> (any StreamTransport)? { Frame(lower) }
    }

    private final class Frame: StreamTransport {
        let lower: any StreamTransport

        init(_ lower: any StreamTransport) { self.lower = lower }

        var waitPoint: WaitPoint { lower.waitPoint }

        func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { .ended }

        func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }

        func peek() throws(StreamError) -> Attempt { .ended }

        func writability() throws(StreamError) -> Attempt { .ended }
    }

    @Test("a machine's layer carries the target's bytes, and the surplus with them") func layer() throws {
        let (near, _) = TestWire.pair()
        let tunnel = TunnelTransport(Framing(), over: near)
        #expect(try tunnel.tryOpen() == .opened)
        guard let frame = tunnel.engine as? Frame else { throw StreamError.closed }
        #expect(frame.lower === near)
    }

    @Test("one read of the conversation is bounded, whatever the machine asks for")
    func largeRead() throws {
        let (near, far) = TestWire.pair()
        let tunnel = TunnelTransport(Greedy(), over: near)
        let bytes = [UInt8](repeating: 7, count: TunnelTransport.maximumRead + 1)
        #expect(try far.tryWrite(bytes.span.bytes) == .moved(bytes.count))
        #expect(try tunnel.tryOpen() == .opened)
        // The machine keeps three of them.
        #expect(try tunnel.peek() == .moved(TunnelTransport.maximumRead - 3))
        #expect(try readAll(tunnel).count == bytes.count - 3)
    }

    /// A machine that needs work done before it sends anything.
    private struct Thoughtful: TunnelMachine {
        let work: TunnelWork
        let outcome: @Sendable () -> String?
        var binding: [UInt8]?
        var hasAsked = false
        var refusal: TunnelRefusal? { nil }

        mutating func begin(over tls: TLSInformation?, boundBy binding: [UInt8]?) {
            self.binding = binding
        }

        mutating func next() throws(StreamError) -> TunnelAction {
            if let text = outcome() { return .established(text) }
            #expect(!hasAsked)
            hasAsked = true
            return .work(work)
        }

        mutating func receive(_ bytes: [UInt8]) throws(StreamError) {}

        mutating func receiveEnd() throws(StreamError) { throw .closed }
    }

    @Test("opening waits for work, which may end at once or later", arguments: [false, true])
    func works(_ isLater: Bool) throws {
        let (near, far) = TestWire.pair()
        let outcome = Locked<String?>(nil)
        let finish = Locked<(@Sendable () -> Void)?>(nil)
        let begun = Locked(0)
        let work = TunnelWork { done in
            begun.withLock { $0 += 1 }
            if isLater { return finish.withLock { $0 = done } }
            outcome.withLock { $0 = "at once" }
            done()
        }
        let tunnel = TunnelTransport(Thoughtful(work: work, outcome: { outcome.withLock { $0 } }), over: near)
        if isLater {
            #expect(try tunnel.tryOpen() == .wouldBlock(.readable))
            #expect(tunnel.waitPoint !== near.waitPoint)
            // Bytes from the proxy meanwhile neither wake the waiter nor start the work twice.
            #expect(try far.tryWrite(Array("?".utf8).span.bytes) == .moved(1))
            #expect(try tunnel.tryOpen() == .wouldBlock(.readable))
            outcome.withLock { $0 = "later" }
            finish.withLock { $0 }?()
        }
        #expect(try tunnel.tryOpen() == .opened)
        #expect(tunnel.summary == (isLater ? "later" : "at once"))
        #expect(tunnel.waitPoint === near.waitPoint)
        #expect(begun.withLock { $0 } == 1)
    }
}

extension TunnelTransport {
    /// Whether the target's bytes pass through the tunnel, and not through the layer below at once.
    fileprivate var isEngine: Bool { engine === self }
}
