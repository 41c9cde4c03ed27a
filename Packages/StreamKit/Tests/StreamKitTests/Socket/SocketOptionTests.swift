import Foundation
import Glibc
import HostResolver
import StreamKit
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SocketOptionTests {
    @Test func switchesCanBeSetAndRead() throws {
        let tcp = try Socket(.ipv6)
        let options: [SocketOption<Bool>] = [
            .reusesAddress, .reusesPort, .keepsAlive, .sendsAtOnce, .allowsBroadcast, .isIPv6Only,
        ]
        for option in options {
            for value in [true, false] {
                try tcp.set(option, to: value)
                #expect(try tcp.get(option) == value, "\(option.name)")
            }
        }
    }

    @Test func keepAliveHasItsTimes() throws {
        let socket = try Socket()
        try socket.set(.keepAliveIdle, to: .seconds(61))
        try socket.set(.keepAliveInterval, to: .milliseconds(1500))
        try socket.set(.keepAliveCount, to: 4)
        #expect(try socket.get(.keepAliveIdle) == .seconds(61))
        #expect(try socket.get(.keepAliveInterval) == .seconds(2))
        #expect(try socket.get(.keepAliveCount) == 4)
    }

    @Test func buffersAreDoubledByTheKernel() throws {
        let socket = try Socket()
        try socket.set(.sendBufferSize, to: 20_000)
        try socket.set(.receiveBufferSize, to: 30_000)
        #expect(try socket.get(.sendBufferSize) == 40_000)
        #expect(try socket.get(.receiveBufferSize) == 60_000)
    }

    @Test(arguments: [SocketFamily.ipv4, .ipv6])
    func headerFieldsOfBothFamilies(_ family: SocketFamily) throws {
        let socket = try Socket(family, .datagram)
        for type in NetworkServiceType.allCases {
            try socket.set(.serviceType, to: type)
            #expect(try socket.get(.serviceType) == type)
        }
        try socket.set(.hopLimit, to: 5)
        try socket.set(.multicastHopLimit, to: 7)
        #expect(try socket.get(.hopLimit) == 5)
        #expect(try socket.get(.multicastHopLimit) == 7)
        #expect(try socket.get(.multicastLoops))
        try socket.set(.multicastLoops, to: false)
        #expect(try !socket.get(.multicastLoops))
    }

    @Test func theServiceTypeIsTheUpperSixBits() throws {
        let socket = try Socket()
        try socket.set(.serviceType, to: .voice)
        #expect(try socket.get(SocketOption<Int>(CInt(IPPROTO_IP), IP_TOS, named: "IP_TOS")) == 46 << 2)
    }

    @Test func lingeringWithZeroResetsTheConnection() async throws {
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        let client = try await Socket.connected(to: try #require(listener.localAddress))
        let server = try await listener.accept()
        #expect(try client.get(.linger) == nil)
        try client.set(.linger, to: .zero)
        #expect(try client.get(.linger) == .zero)
        client.invalidate()
        #expect(try await error { _ = try await server.receive(upTo: 1) }.isPOSIX(ECONNRESET))
    }

    @Test func aSocketCanBeBoundToAnInterface() async throws {
        let socket = try Socket(.ipv4, .datagram)
        #expect(try socket.get(.interface) == nil)
        try socket.set(.interface, to: "lo")
        #expect(try socket.get(.interface) == "lo")
        let fault = try await error { try socket.set(.interface, to: "none0") }
        #expect(fault.isPOSIX(ENODEV))
        #expect(fault.description.contains("SO_BINDTODEVICE"))
    }

    @Test func multicastIsReceivedWhileJoined() async throws {
        let group = try #require(IPAddress("239.255.77.77"))
        let receiver = try Socket(boundTo: .ip(.v4(.any), port: 0))
        let port = try #require(receiver.localAddress?.port)
        try receiver.joinGroup(group, interface: "lo")
        #expect(try await error { try receiver.joinGroup(group, interface: "lo") }.isPOSIX(EADDRINUSE))
        let sender = try Socket(.ipv4, .datagram)
        try sender.set(.multicastInterface, to: "lo")
        try await sender.sendAll([1, 2], to: .ip(group, port: port))
        #expect(try await receiver.receive(upTo: 10).bytes == [1, 2])
        try receiver.leaveGroup(group, interface: "lo")
        #expect(try await error { try receiver.leaveGroup(group, interface: "lo") }.isPOSIX(EADDRNOTAVAIL))
        #expect(try await error { try receiver.joinGroup(group, interface: "none0") }.isPOSIX(ENODEV))
        #expect(try await error { try receiver.joinGroup(.v4(.loopback)) }.isPOSIX(EINVAL))
    }

    /// The loopback interface has no route for IPv6 multicast, so the test reads the kernel's table.
    @Test func multicastGroupsOfIPv6() async throws {
        func isJoined() throws -> Bool {
            try String(contentsOfFile: "/proc/net/igmp6", encoding: .utf8).contains("ff150000000000000000000000007777")
        }
        let group = try #require(IPAddress("ff15::7777"))
        let socket = try Socket(.ipv6, .datagram)
        try socket.joinGroup(group, interface: "lo")
        #expect(try isJoined())
        try socket.leaveGroup(group, interface: "lo")
        #expect(try !isJoined())
        try socket.set(.multicastInterface, to: "lo")
        #expect(try socket.get(.multicastInterface) == "lo")
        try socket.set(.multicastInterface, to: nil)
        #expect(try socket.get(.multicastInterface) == nil)
        #expect(try await error { try socket.set(.multicastInterface, to: "none0") }.isPOSIX(ENODEV))
    }

    @Test func anOptionOfAnotherKindOfSocketIsRefused() async throws {
        let socket = try Socket(.unix)
        let fault = try await error { try socket.set(.sendsAtOnce, to: true) }
        #expect(fault.isPOSIX(EOPNOTSUPP) || fault.isPOSIX(ENOPROTOOPT))
        #expect(fault.description.contains("TCP_NODELAY"))
    }

    @Test func optionsCanBeAdded() throws {
        let socket = try Socket()
        let option = SocketOption<Bool>(SOL_SOCKET, SO_OOBINLINE, named: "SO_OOBINLINE")
        try socket.set(option, to: true)
        #expect(try socket.get(option))
    }
}
