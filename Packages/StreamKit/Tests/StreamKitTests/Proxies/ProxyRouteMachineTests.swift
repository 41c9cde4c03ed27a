import Glibc
import HostResolver
import Testing

@testable import StreamKit
@testable import StreamProxies

@Suite("choosing a route, without I/O") struct ProxyRouteMachineTests {
    private static let lost = StreamError(posix: ECONNREFUSED)
    private static let refused = StreamError(.connectionRefused, .closed)

    private func machine(
        _ routes: ProxyRoute..., host: String = "www.test", addresses: [String] = []
    ) -> ProxyRouteMachine {
        ProxyRouteMachine(routes, host: host, port: 80, addresses: addresses.compactMap(IPAddress.init))
    }

    private func socks(_ host: String, here: Bool = false, version: SOCKSProxy.Version = .v5) -> SOCKSProxy {
        SOCKSProxy(host: host, version: version, resolvesNamesHere: here)
    }

    /// The next action in a few words, with the request to the last proxy.
    private func next(_ machine: inout ProxyRouteMachine) -> String {
        switch machine.next() {
        case .lookUp(let name, let families): return "look up \(name) \(families == .all ? "all" : "v4")"
        case .failed(let error): return "failed \(error.domain.rawValue) \(error.code)"
        case .take(let plan):
            guard var last = plan.machines.last else { return "go direct" }
            guard case .success(.send(let bytes)?) = Result(catching: { try Self.request(&last) }) else { return "?" }
            let target =
                switch (bytes[0], bytes[3]) {
                case (5, 3): String(decoding: bytes[5..<5 + Int(bytes[4])], as: UTF8.self)
                case (5, _): bytes[4..<8].map(String.init).joined(separator: ".")
                case (_, _) where bytes[4..<8] == [0, 0, 0, 1]: String(decoding: bytes[9...].dropLast(), as: UTF8.self)
                default: bytes[4..<8].map(String.init).joined(separator: ".")
                }
            return "go \(plan.route), ask for \(target)"
        }
    }

    private static func request(_ machine: inout any TunnelMachine) throws -> TunnelAction? {
        let first = try machine.next()
        guard first == .send([5, 1, 0]) else { return first }
        _ = try machine.next()
        try machine.receive([5, 0])
        return try machine.next()
    }

    // Parity: SK-124
    @Test("SK-124: an unreachable proxy is skipped, and the next one is tried; the last failure is reported")
    func passesBy() {
        var machine = machine(ProxyRoute(socks("a")), ProxyRoute(socks("b")), .direct)
        #expect(machine.remainingRoutes == 3)
        #expect(next(&machine) == "go SOCKS5 a:1080, ask for www.test")
        machine.failed(Self.lost, at: nil, nil)
        #expect(next(&machine) == "go SOCKS5 b:1080, ask for www.test")
        machine.failed(StreamError(.badState, .closed), at: 0, nil)
        #expect(machine.remainingRoutes == 1)
        #expect(next(&machine) == "go direct")
        machine.failed(Self.lost, at: nil, nil)
        #expect(next(&machine) == "failed 1 \(ECONNREFUSED)")
        machine.failed(Self.refused, at: nil, nil)
        #expect(next(&machine) == "failed 1 \(ECONNREFUSED)")
    }

    @Test("a proxy's decision is final", arguments: [TunnelRefusal.request, .address])
    func decisions(_ refusal: TunnelRefusal) {
        var machine = machine(ProxyRoute(socks("a")), .direct)
        _ = next(&machine)
        machine.failed(Self.refused, at: 0, refusal)
        #expect(next(&machine) == "failed 5 \(5 << 16 + 5)")
    }

    @Test("a proxy that refuses only the connection gets further ones, up to a limit")
    func repeats() {
        var machine = machine(ProxyRoute(socks("a")), .direct)
        for _ in 0...ProxyRouteMachine.maximumRepeats {
            #expect(next(&machine) == "go SOCKS5 a:1080, ask for www.test")
            machine.failed(Self.refused, at: 0, .connection)
        }
        #expect(next(&machine) == "failed 5 \(5 << 16 + 5)")
    }

    @Test("curl#17222: with names looked up here, one proxy is asked for each address")
    func addresses() {
        var machine = machine(ProxyRoute(socks("a", here: true)), .direct)
        #expect(next(&machine) == "look up www.test all")
        machine.found([IPAddress("192.0.2.1")!, IPAddress("192.0.2.2")!])
        #expect(next(&machine) == "go SOCKS5 a:1080, ask for 192.0.2.1")
        machine.failed(Self.refused, at: 0, .address)
        #expect(next(&machine) == "go SOCKS5 a:1080, ask for 192.0.2.2")
        machine.failed(Self.refused, at: 0, .address)
        #expect(next(&machine) == "failed 5 \(5 << 16 + 5)")
    }

    @Test("at most eight addresses of one host")
    func maximumAddresses() {
        var machine = machine(ProxyRoute(socks("a", here: true)))
        _ = next(&machine)
        machine.found((1...20).map { .v4(IPv4Address(192, 0, 2, $0)) })
        var tries = 0
        while next(&machine).hasPrefix("go") {
            tries += 1
            machine.failed(Self.refused, at: 0, .address)
        }
        #expect(tries == ProxyRouteMachine.maximumAddresses)
    }

    // Parity: SK-112
    @Test("SK-112: version 4 looks up IPv4 addresses; a host without one is asked for by name (4a)")
    func version4() {
        var machine = machine(ProxyRoute(socks("a", here: true, version: .v4)))
        #expect(next(&machine) == "look up www.test v4")
        machine.found([IPAddress("::1")!, IPAddress("192.0.2.1")!])
        #expect(next(&machine) == "go SOCKS4 a:1080, ask for 192.0.2.1")
        var without = self.machine(ProxyRoute(socks("a", here: true, version: .v4)))
        _ = next(&without)
        without.lookupFailed(Self.lost, hasNoData: true)
        #expect(next(&without) == "go SOCKS4 a:1080, ask for www.test")
    }

    @Test("a failed lookup is final: no proxy gets the name")
    func lookupFails() {
        for hasNoData in [false, true] {
            var machine = machine(ProxyRoute(socks("a", here: true)), ProxyRoute(socks("b")))
            _ = next(&machine)
            machine.lookupFailed(Self.lost, hasNoData: hasNoData)
            #expect(next(&machine) == "failed 1 \(ECONNREFUSED)")
        }
    }

    @Test("a general failure of a proxy concerns the address")
    func generalFailure() {
        #expect(SOCKSFailure.generalFailure.refusal == .address)
    }

    @Test("known addresses and literal addresses are not looked up")
    func knownAddresses() {
        var known = machine(ProxyRoute(socks("a", here: true)), addresses: ["192.0.2.1"])
        #expect(next(&known) == "go SOCKS5 a:1080, ask for 192.0.2.1")
        var named = machine(ProxyRoute(socks("a")), addresses: ["192.0.2.1"])
        #expect(next(&named) == "go SOCKS5 a:1080, ask for www.test")
        var address = machine(ProxyRoute(socks("a", here: true)), host: "192.0.2.9")
        #expect(next(&address) == "go SOCKS5 a:1080, ask for 192.0.2.9")
    }

    @Test("chains: the lookup of a proxy behind a proxy follows the first one's setting; a refused hop is skipped")
    func chains() {
        var machine = machine(ProxyRoute(socks("a", here: true), socks("b.test")), .direct)
        #expect(next(&machine) == "look up b.test all")
        machine.found([IPAddress("192.0.2.1")!])
        guard case .take(let plan) = machine.next() else {
            Issue.record("no route")
            return
        }
        #expect(plan.machines.count == 2)
        var again = machine
        machine.failed(Self.refused, at: 0, .address)
        #expect(next(&machine) == "go direct")
        again.failed(Self.refused, at: 0, .request)
        #expect(next(&again).hasPrefix("failed"))
    }

    @Test("an impossible target is refused at once, and no other route is tried")
    func unaskable() {
        var long = machine(ProxyRoute(socks("a")), .direct, host: String(repeating: "a", count: 256))
        #expect(next(&long) == "failed 1 \(EINVAL)")
        var zone = machine(ProxyRoute(socks("a")), .direct, host: "fe80::1%lo")
        #expect(next(&zone) == "failed 1 \(EINVAL)")
    }

    @Test("routes are equal if all their properties are")
    func equality() {
        let proxy = SOCKSProxy(host: "a", user: "me", password: "x")
        var other = proxy
        other.password = "y"
        #expect(ProxyRoute(proxy) == ProxyRoute(proxy) && ProxyRoute(proxy) != ProxyRoute(other))
        #expect(ProxyRoute(proxy) != ProxyRoute(proxy, proxy) && ProxyRoute() == .direct)
        #expect("\(ProxyRoute(proxy, SOCKSProxy(host: "::1", version: .v4)))" == "SOCKS5 a:1080, SOCKS4 [::1]:1080")
    }
}
