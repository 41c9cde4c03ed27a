import Testing

@_spi(Packages) @testable import HostResolver

@Suite struct RouteTests {
    @Test func messagesRoundTrip() {
        let messages = [
            NetlinkMessage(type: 1, flags: 2, sequence: 3, payload: [1, 2, 3]),
            NetlinkMessage(type: 24, flags: 0, sequence: 9, payload: []),
        ]
        let bytes = messages.flatMap(\.bytes)
        #expect(bytes.count == 36)
        #expect(NetlinkMessage.messages(in: bytes) == messages)
        for length in 0..<bytes.count {
            #expect(NetlinkMessage.messages(in: Array(bytes.prefix(length))).count == (length >= 19 ? 1 : 0))
        }
    }

    @Test func attributesRoundTrip() {
        var payload: [UInt8] = [0, 0, 0, 0]
        payload.appendAttribute(5, [1])
        payload.appendAttribute(7 | 0x8000, [1, 2, 3, 4])
        payload.appendAttribute(9, [])
        let message = NetlinkMessage(type: 0, flags: 0, sequence: 0, payload: payload)
        #expect(message.attributes(after: 4) == [5: [1], 7: [1, 2, 3, 4], 9: []])
        #expect(message.attributes(after: 100).isEmpty)
    }

    @Test func survivesRandomMessages() {
        var random = SeededRandom(seed: 8)
        for _ in 0..<20_000 {
            var bytes = random.bytes(upTo: 100)
            // Plausible lengths; otherwise no message would pass the check of its length.
            if bytes.count > 16 { bytes.replaceSubrange(0..<4, with: [UInt8(bytes.count), 0, 0, 0]) }
            if bytes.count > 30 { bytes.replaceSubrange(4..<6, with: [24, 0]) }
            for message in NetlinkMessage.messages(in: bytes) {
                if let route = Route(message) { _ = ReachabilityFlags(route) }
            }
        }
    }

    @Test func parsesTheKernelsAnswer() throws {
        var payload: [UInt8] = [2, 32, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0]
        payload.appendAttribute(RouteNetlink.destination, [198, 51, 100, 1])
        payload.appendAttribute(RouteNetlink.outputInterface, [4, 0, 0, 0])
        payload.appendAttribute(RouteNetlink.gateway, [192, 0, 2, 1])
        payload.appendAttribute(RouteNetlink.preferredSource, [192, 0, 2, 2])
        let message = NetlinkMessage(type: RouteNetlink.newRoute, flags: 0, sequence: 1, payload: payload)
        let route = Route(
            kind: .unicast, gateway: IPAddress("192.0.2.1"), source: IPAddress("192.0.2.2"), interfaceIndex: 4,
            family: .v4)
        #expect(Route(message) == route)
        payload[8] = 16
        #expect(Route(NetlinkMessage(type: 24, flags: 0, sequence: 1, payload: payload))?.isDead == true)
        #expect(Route(NetlinkMessage(type: 24, flags: 0, sequence: 1, payload: [2, 32])) == nil)
    }

    /// A default route of either family makes the network in general reachable, if its link works.
    @Test func theNetworkInGeneral() throws {
        let links = [
            NetworkInterface(name: "eth0", index: 2, hasCarrier: false), NetworkInterface(name: "eth1", index: 3),
        ]
        func flags(_ routes: Route...) -> ReachabilityFlags {
            ReachabilityFlags(generalIn: NetworkSnapshot(interfaces: links, defaultRoutes: routes))
        }
        let unplugged = Route(kind: .unicast, gateway: IPAddress("192.0.2.1"), interfaceIndex: 2)
        #expect(flags() == [] && flags(unplugged) == [])
        #expect(flags(unplugged, Route(kind: .unicast, interfaceIndex: 3, family: .v6)) == .reachable)
        #expect(flags(Route(kind: .unicast, interfaceIndex: 3, isDead: true)) == [])
        // A route with several next hops names no interface.
        #expect(flags(Route(kind: .unicast)) == .reachable)
        // The kernel itself would reach these addresses on this machine.
        let general = try ReachabilityFlags(of: [IPAddress("0.0.0.0")!])
        #expect(general == .reachable || general == [])
        #expect(try ReachabilityFlags(of: [IPAddress("::")!]) == general)
        #expect(try ReachabilityFlags(of: [IPAddress("::ffff:0.0.0.0")!]) == general)
    }

    // Parity: HR-016
    @Test(
        arguments: [
            (nil, "unreachable"), (Route(kind: .local), "reachable, local address, direct"),
            (Route(kind: .unicast), "reachable, direct"), (Route(kind: .unicast, gateway: .v4(.any)), "reachable"),
            (Route(kind: .refused), "unreachable"), (Route(kind: .unicast, isDead: true), "unreachable"),
            (Route(kind: .broadcast), "reachable, direct"),
        ] as [(Route?, String)])
    func makesFlagsFromRoutes(route: Route?, flags: String) {
        #expect(ReachabilityFlags(route).description == flags)
    }

    // Parity: HR-016
    @Test func flagsHaveApplesNumbers() {
        #expect(ReachabilityFlags.reachable.rawValue == 2)
        #expect(ReachabilityFlags.isLocalAddress.rawValue == 0x10000)
        #expect(ReachabilityFlags.isDirect.rawValue == 0x20000)
        #expect("\(ReachabilityFlags(Route(kind: .local)))" == "reachable, local address, direct")
        #expect("\(ReachabilityFlags())" == "unreachable")
    }

    /// An IPv6 socket that accepts IPv4 connections reports mapped addresses.
    @Test(arguments: ["127.0.0.1", "127.8.8.8", "::ffff:127.0.0.1"])
    func theKernelKnowsThisMachine(address: String) throws {
        let route = try #require(try Route.to(IPAddress(address)!))
        #expect(route.kind == .local && route.interface == "lo")
        #expect(try ReachabilityFlags(of: [IPAddress(address)!]) == [.reachable, .isLocalAddress, .isDirect])
    }

    @Test func anUnknownInterfaceHasNoRoute() throws {
        #expect(try Route.to(IPAddress("fe80::1%nosuchif")!) == nil)
        #expect(try ReachabilityFlags(of: [IPAddress("fe80::1%nosuchif")!]) == [])
        #expect(try ReachabilityFlags(of: []) == [])
    }
}
