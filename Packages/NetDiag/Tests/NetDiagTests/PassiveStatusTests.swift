import Testing

@_spi(Packages) @testable import NetDiag

@Suite struct PassiveStatusTests {
    private let host = World.host
    private let way = Route(kind: .unicast, gateway: World.gateway, interfaceIndex: 2)

    private func network(_ change: (inout NetworkSnapshot) -> Void = { _ in }) -> NetworkSnapshot {
        var network = World().environment.network
        change(&network)
        return network
    }

    // Parity: ND-008
    @Test func theNumbersAreCFNetworks() {
        #expect(NetworkStatus.up.rawValue == -66559)
        #expect(NetworkStatus.indeterminate.rawValue == -66558)
        #expect(NetworkStatus.down.rawValue == -66557)
    }

    // Parity: ND-010
    @Test func upNeedsLinkAddressAndRoute() {
        #expect(PassiveStatus(network(), to: [], routes: [:]).status == .up)
        #expect(PassiveStatus(network(), to: [host], routes: [host: way]).status == .up)
        let six = network {
            $0.interfaces[1].addresses = [InterfaceAddress(IPAddress("2001:db8::2")!, prefixLength: 64)]
        }
        #expect(PassiveStatus(six, to: [World.host6], routes: [World.host6: way]).status == .up)
    }

    // Parity: ND-010
    @Test func downIsNoLink() {
        #expect(PassiveStatus(network { $0.interfaces.removeLast() }, to: [], routes: [:]).status == .down)
        #expect(PassiveStatus(network { $0.interfaces[1].hasCarrier = false }, to: [], routes: [:]).status == .down)
        #expect(PassiveStatus(network { $0.interfaces[1].isUp = false }, to: [host], routes: [:]).status == .down)
    }

    // Parity: ND-010
    @Test func indeterminateIsEverythingBetween() {
        let unaddressed = network { $0.interfaces[1].addresses = [] }
        #expect(PassiveStatus(unaddressed, to: [], routes: [:]).status == .indeterminate)
        let own = network {
            $0.interfaces[1].addresses = [InterfaceAddress(IPAddress("169.254.1.1")!, prefixLength: 16)]
        }
        #expect(PassiveStatus(own, to: [], routes: [:]).status == .indeterminate)
        #expect(PassiveStatus(network(), to: [host], routes: [:]).status == .indeterminate)
        #expect(PassiveStatus(network { $0.defaultRoutes = [] }, to: [], routes: [:]).status == .indeterminate)
        let refused = Route(kind: .refused)
        #expect(PassiveStatus(network(), to: [host], routes: [host: refused]).status == .indeterminate)
        // An IPv4-only machine, and an IPv6 address as target.
        #expect(PassiveStatus(network(), to: [World.host6], routes: [:]).status == .indeterminate)
    }

    // Parity: ND-007
    @Test func thisMachineIsAlwaysUp() {
        let bare = NetworkSnapshot(interfaces: [World.loopback])
        let loopback = IPAddress("127.0.0.1")!
        #expect(PassiveStatus(bare, to: [loopback], routes: [:]).status == .up)
        #expect(PassiveStatus(bare, to: [host], routes: [host: Route(kind: .local)]).status == .up)
        #expect(PassiveStatus.current(to: [loopback]).status == .up)
    }
}
