import EventLoops
import Glibc
import HostResolver
@_spi(Packages) import HostResolverTesting
import Testing

@testable import ServiceDiscovery

/// Interfaces that do not exist, or that an engine does not use, are refused instead of searched without result.
@Suite struct InterfaceTests {
    private static let up = UInt32(IFF_UP) | UInt32(IFF_RUNNING)

    /// An Ethernet link, one that is down, a tunnel, and loopback.
    private static let machine = InterfaceList(interfaces: [
        interface("lo", 1, up | UInt32(IFF_LOOPBACK)), interface("eth0", 2, up | UInt32(IFF_MULTICAST)),
        interface("eth1", 3, UInt32(IFF_MULTICAST)),
        interface("tun0", 4, up | UInt32(IFF_MULTICAST) | UInt32(IFF_POINTOPOINT)),
    ])
    /// A container without a network.
    private static let alone = InterfaceList(interfaces: [interface("lo", 1, up | UInt32(IFF_LOOPBACK))])

    private static func interface(_ name: String, _ index: UInt32, _ flags: UInt32) -> InterfaceList.Interface {
        let address = MulticastLink.Address(address: .v4(IPv4Address(10, 0, UInt8(index), 1)), prefixLength: 24)
        return InterfaceList.Interface(name: name, index: index, flags: flags, addresses: [address])
    }

    // Parity: SD-041, SD-115
    @Test(
        arguments: [
            (nil, ["eth0"]), (["eth0"], ["eth0"]), (["eth1"], []), (["tun0", "lo"], ["lo", "tun0"]),
        ] as [(Set<String>?, [String])]) func usesLinks(names: Set<String>?, used: [String])
    {
        #expect(Self.machine.links(names: names).map(\.name) == used)
    }

    @Test func usesLoopbackAlone() {
        #expect(Self.alone.links(names: nil).map(\.name) == ["lo"])
    }

    @Test(
        arguments: [
            (nil, nil, true), ("eth0", nil, true), ("eth1", nil, true), ("eth2", nil, false), ("", nil, false),
            // Used only by an engine that is created for them.
            ("tun0", nil, false), ("lo", nil, false), ("tun0", ["tun0"], true), ("lo", ["lo", "eth0"], true),
            ("eth0", ["lo"], false), (nil, ["eth0", "eht1"], false), (nil, ["eth0", "eth1"], true),
        ] as [(String?, Set<String>?, Bool)]) func refusesUnusedInterfaces(
            _ name: String?, _ names: Set<String>?, isTaken: Bool
        )
    {
        do throws(ServiceDiscoveryError) {
            try Self.machine.check(name, engine: names)
            #expect(isTaken)
        } catch {
            #expect(!isTaken && error.code == .badArgument)
        }
    }

    @Test func acceptsLoopbackAsTheOnlyInterface() throws {
        try Self.alone.check("lo", engine: nil)
    }

    /// Refused by every operation that names an interface, and by an engine that does. No socket is opened.
    @Test func everyOperationRefusesUnknownInterfaces() throws {
        let type = try ServiceType("_http._tcp")
        let service = try ServiceInstance(name: "Web", type: type)
        let operations: [@Sendable (String?, DiscoveryEngine) throws -> Void] = [
            { name, engine in
                _ = try ServiceBrowser(type, domain: .local, interface: name, engine: engine).start()
            },
            { name, engine in
                _ = try ServiceTypeBrowser(interface: name, engine: engine).start()
            },
            { name, engine in
                _ = try ServiceDomainBrowser(.browsing, listedIn: .local, interface: name, engine: engine).start()
            },
            { name, engine in
                _ = try ServiceResolver(service, interface: name, engine: engine).start()
            },
            { name, engine in
                _ = try ServiceMonitor(service, interface: name, engine: engine).start()
            },
            { name, engine in
                var web = ServiceAdvertisement(name: "Web", type: type, port: 80)
                web.interface = name
                _ = try ServicePublisher(web, engine: engine)
            },
        ]
        for operation in operations {
            for (name, engine) in [("eht0", EmbeddedEngine()), (nil, EmbeddedEngine(interfaces: ["eht0"]))] {
                let error = #expect(throws: ServiceDiscoveryError.self) { try operation(name, .embedded(engine)) }
                #expect(error?.code == .badArgument && error?.name == "eht0")
            }
        }
    }

    /// An operation without descriptors fails, leaves none open, and a later one begins. It neither misses a family of addresses nor takes
    /// the machine for one without interfaces.
    @Test func withoutDescriptorsAnOperationFails() async {
        await #expect(processExitsWith: .success) {
            let type = try ServiceType("_http._tcp")
            let begin = {
                let engine = EmbeddedEngine(interfaces: ["lo"])
                try ServiceBrowser(type, interface: "lo", engine: .embedded(engine)).start().stop()
            }
            try begin()
            let need = try DescriptorLimit.need(of: begin) { ($0 as? ServiceDiscoveryError)?.isScarcity == true }
            #expect(need.failsWell && (need.count ?? 0) > 2, "\(need)")
            let index = try DescriptorLimit.need(of: { _ = try InterfaceName.index(of: "lo") }) {
                ($0 as? ServiceDiscoveryError)?.isScarcity == true
            }
            #expect(index.failsWell && index.count == 1)
            #expect(try InterfaceName.index(of: "eht0") == nil)
        }
    }

    /// A socket that cannot be waited for reports it, instead of being polled forever.
    @Test func aFailedWaitEndsReceiving() async throws {
        let loop = EventLoop(name: "stopped")
        loop.shutdown()
        // When its thread has ended, the loop executes work elsewhere.
        var isGone = false
        while !isGone {
            isGone = await withCheckedContinuation { continuation in
                loop.execute { continuation.resume(returning: !loop.isCurrent) }
            }
        }
        let socket = try MulticastSocket(family: AF_INET, loop: loop)
        defer { socket.close() }
        await #expect(throws: ServiceDiscoveryError.self) { try await socket.receive(limit: 100) { _ in } }
    }

    /// A socket whose errors do not end is not read forever.
    @Test func repeatedErrorsEndReceiving() async throws {
        // Not a socket, so that each attempt to receive fails.
        let descriptor = open("/dev/null", O_RDONLY)
        try #require(descriptor >= 0)
        let socket = MulticastSocket(family: AF_INET, at: WaitPoint(descriptor: descriptor, ownership: .owned))
        defer { socket.close() }
        let error = await #expect(throws: ServiceDiscoveryError.self) {
            try await socket.receive(limit: 100) { _ in }
        }
        #expect(error?.number == Int(ENOTSOCK))
    }

    /// Receivers drop packets from an address that is not on the link (RFC 6762 §11).
    @Test func packetsOnLoopbackComeFromItsAddress() async throws {
        let socket = try MulticastSocket(family: AF_INET, loop: .shared)
        defer { socket.close() }
        #expect(socket.join(1) == .joined && socket.interfaces == [1])
        let id = (0..<16).map { _ in UInt8.random(in: 0...255) }
        socket.send(Transmission(bytes: id, destination: .group, interface: 1))
        var source: IPAddress?
        try await socket.receive(limit: 9000) { datagram in
            guard datagram.bytes == id else { return }
            source = datagram.source
            socket.close()
        }
        #expect(source == .v4(.loopback))
    }
}
