import Glibc
import Testing

@_spi(Packages) @testable import HostResolver

@Suite struct NetworkSnapshotTests {
    private func link(_ index: UInt32, _ name: String, flags: UInt32) -> NetlinkMessage {
        var payload = [UInt8](repeating: 0, count: 4)
        payload.appendNative(index)
        payload.appendNative(flags)
        payload.appendNative(UInt32(0))
        payload.appendAttribute(RouteNetlink.linkName, Array(name.utf8) + [0])
        var size: [UInt8] = []
        size.appendNative(UInt32(1400))
        payload.appendAttribute(RouteNetlink.linkPacketSize, size)
        return NetlinkMessage(type: RouteNetlink.newLink, flags: 2, sequence: 18, payload: payload)
    }

    private func address(_ index: UInt32, _ text: String, prefix: UInt8, flags: UInt32) -> NetlinkMessage {
        var payload: [UInt8] = [2, prefix, 0, 0]
        payload.appendNative(index)
        payload.appendAttribute(RouteNetlink.interfaceAddress, IPAddress(text)!.octets)
        var extended: [UInt8] = []
        extended.appendNative(flags)
        payload.appendAttribute(RouteNetlink.addressFlags, extended)
        return NetlinkMessage(type: RouteNetlink.newAddress, flags: 2, sequence: 22, payload: payload)
    }

    private func defaultRoute(
        gateway: String, metric: UInt32, table: UInt8 = 254, length: UInt8 = 0, kind: UInt8 = 1
    ) -> NetlinkMessage {
        var payload: [UInt8] = [2, length, 0, 0, table, 0, 0, kind]
        payload.appendNative(UInt32(0))
        payload.appendAttribute(RouteNetlink.gateway, IPAddress(gateway)!.octets)
        var bytes: [UInt8] = []
        bytes.appendNative(metric)
        payload.appendAttribute(RouteNetlink.routeMetric, bytes)
        return NetlinkMessage(type: RouteNetlink.newRoute, flags: 2, sequence: 26, payload: payload)
    }

    private func neighbor(_ text: String, state: UInt16) -> NetlinkMessage {
        var payload: [UInt8] = [2, 0, 0, 0]
        payload.appendNative(UInt32(7))
        payload.appendNative(state)
        payload += [0, 1]
        payload.appendAttribute(RouteNetlink.neighborAddress, IPAddress(text)!.octets)
        return NetlinkMessage(type: RouteNetlink.newNeighbor, flags: 2, sequence: 30, payload: payload)
    }

    @Test func parsesLinksWithTheirAddresses() {
        var snapshot = NetworkSnapshot()
        snapshot.receive([
            link(7, "eth0", flags: 0x1_0043), link(1, "lo", flags: 0x1_0049), link(9, "eth1", flags: 0x1003),
        ])
        snapshot.receive([
            address(7, "192.0.2.7", prefix: 24, flags: 0x80), address(7, "192.0.2.8", prefix: 24, flags: 0x48),
            address(55, "192.0.2.9", prefix: 24, flags: 0),
        ])
        #expect(
            snapshot.interfaces == [
                NetworkInterface(name: "lo", index: 1, isLoopback: true, maximumPacketSize: 1400),
                NetworkInterface(
                    name: "eth0", index: 7, maximumPacketSize: 1400,
                    addresses: [
                        InterfaceAddress(IPAddress("192.0.2.7")!, prefixLength: 24),
                        InterfaceAddress(
                            IPAddress("192.0.2.8")!, prefixLength: 24, isTentative: true, isDuplicate: true),
                    ]),
                NetworkInterface(name: "eth1", index: 9, hasCarrier: false, maximumPacketSize: 1400),
            ])
    }

    /// A lease of 600 s with 30 s remaining. An address without a lifetime, or with one of the wrong size, has no
    /// lease.
    @Test func parsesLeases() {
        func lease(_ times: [UInt32]) -> AddressLease? {
            var message = address(7, "192.0.2.7", prefix: 24, flags: 0)
            var bytes: [UInt8] = []
            for time in times { bytes.appendNative(time) }
            message.payload.appendAttribute(RouteNetlink.addressTimes, bytes)
            return InterfaceAddress.read(message, upTime: .seconds(1000))?.1.lease
        }
        let old = lease([20, 30, 0, 43_000])
        #expect(old == AddressLease(total: .seconds(600), remaining: .seconds(30)))
        #expect(old?.isOverdue == true)
        #expect(lease([.max, 75, 0, 47_500])?.isOverdue == false)
        #expect(lease([.max, .max, 0, 0]) == nil)
        #expect(lease([20, 30]) == nil)
        // A renewal in the future is ignored.
        #expect(lease([20, 30, 0, .max])?.total == .seconds(30))
    }

    @Test func thePreferredDefaultRouteComesFirst() {
        var snapshot = NetworkSnapshot()
        snapshot.receive([
            defaultRoute(gateway: "192.0.2.1", metric: 200), defaultRoute(gateway: "192.0.2.2", metric: 100),
            defaultRoute(gateway: "192.0.2.3", metric: 100), defaultRoute(gateway: "192.0.2.4", metric: 0, table: 255),
            defaultRoute(gateway: "192.0.2.5", metric: 0, length: 8),
            defaultRoute(gateway: "192.0.2.6", metric: 0, kind: 7),
        ])
        #expect(snapshot.defaultRoutes.map { $0.gateway?.description } == ["192.0.2.2", "192.0.2.3", "192.0.2.1"])
    }

    @Test(
        arguments: [
            (0x01, Neighbor.State.resolving), (0x02, .reachable), (0x04, .stale), (0x10, .stale), (0x20, .failed),
            (0x80, .reachable), (0x40, nil), (0x00, nil),
        ] as [(UInt16, Neighbor.State?)])
    func parsesNeighbors(number: UInt16, state: Neighbor.State?) {
        var snapshot = NetworkSnapshot()
        snapshot.receive([neighbor("192.0.2.1", state: number)])
        let expected = state.map { Neighbor(IPAddress("192.0.2.1")!, interfaceIndex: 7, state: $0) }
        #expect(snapshot.neighbors == [expected].compactMap(\.self))
    }

    @Test func survivesTruncatedMessages() {
        for message in [
            link(7, "eth0", flags: 1), address(7, "192.0.2.7", prefix: 24, flags: 0),
            defaultRoute(gateway: "192.0.2.1", metric: 1), neighbor("192.0.2.1", state: 2),
        ] {
            for count in 0..<message.payload.count {
                var cut = message
                cut.payload = Array(message.payload.prefix(count))
                var snapshot = NetworkSnapshot(interfaces: [NetworkInterface(name: "eth0", index: 7)])
                snapshot.receive([cut])
            }
        }
    }

    @Test func theKernelReportsLoopback() throws {
        let network = try NetworkSnapshot.current()
        let loopback = try #require(network.interfaces.first { $0.isLoopback })
        #expect(loopback.name == "lo")
        #expect(loopback.isUp && loopback.hasCarrier)
        #expect(loopback.addresses.contains(InterfaceAddress(IPAddress("127.0.0.1")!, prefixLength: 8)))
    }
}
