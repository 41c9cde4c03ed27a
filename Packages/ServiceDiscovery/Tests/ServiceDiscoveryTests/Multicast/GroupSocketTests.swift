import EventLoops
import Glibc
import Testing

@testable import ServiceDiscovery

/// Sockets that join the group on more interfaces than one of them can.
struct GroupSocketTests {
    /// A socket with a limit, which cannot join on the interface 13.
    private final class ScriptedSocket: GroupSocket {
        private struct State {
            var interfaces: Set<UInt32> = []
            var isOpen = true
        }
        private let limit: Int
        private let state = Locked(State())

        init(limit: Int) { self.limit = limit }

        var interfaces: Set<UInt32> { state.withLock { $0.interfaces } }
        var isOpen: Bool { state.withLock { $0.isOpen } }
        func join(_ interface: UInt32) -> GroupJoining {
            state.withLock { state in
                if interface == 13 { return .refused }
                guard state.interfaces.count < limit else { return .full }
                state.interfaces.insert(interface)
                return .joined
            }
        }
        func leave(_ interface: UInt32) { state.withLock { _ = $0.interfaces.remove(interface) } }
        func close() { state.withLock { $0.isOpen = false } }
    }

    private func join(_ sockets: inout GroupSockets<ScriptedSocket>, _ interfaces: some Sequence<UInt32>) throws -> Int
    {
        var opened = 0
        try sockets.join(Array(interfaces)) { () throws(ServiceDiscoveryError) in
            opened += 1
            return ScriptedSocket(limit: 20)
        }
        return opened
    }

    @Test func furtherSocketsJoinWhatOneCannot() throws {
        var sockets = GroupSockets(ScriptedSocket(limit: 20))
        #expect(try join(&sockets, 1...15) == 0 && sockets.all.count == 1)
        // All but the one that refuses; in their order, whatever the process.
        #expect(try join(&sockets, 1...64) == 3)
        #expect(sockets.all.map(\.interfaces.count) == [20, 20, 20, 3])
        #expect(sockets.first.interfaces == Set(1...21).subtracting([13]))
        // Each interface is one socket's only, so that each packet arrives once.
        let all = sockets.all.flatMap(\.interfaces)
        #expect(all.count == 63 && Set(all) == Set(1...64).subtracting([13]))
        // Room that becomes free is used, and nothing moves.
        let third = sockets.further[1].interfaces
        #expect(try join(&sockets, Array(6...12) + Array(14...64) + Array(70...74)) == 0)
        #expect(sockets.first.interfaces == Set(6...21).subtracting([13]).union(70...74))
        #expect(sockets.further[1].interfaces == third)
        #expect(try join(&sockets, []) == 0 && sockets.all.allSatisfy(\.interfaces.isEmpty))
    }

    /// A failure leaves what was joined, so that it can be repeated.
    @Test func failuresAreReported() throws {
        var sockets = GroupSockets(ScriptedSocket(limit: 2))
        let scarcity = ServiceDiscoveryError(errno: EMFILE)
        #expect(throws: scarcity) {
            try sockets.join([1, 2, 3]) { () throws(ServiceDiscoveryError) in throw scarcity }
        }
        #expect(sockets.all.map(\.interfaces) == [[1, 2]])
        let useless = ScriptedSocket(limit: 0)
        #expect(throws: ServiceDiscoveryError(errno: ENOBUFS)) { try sockets.join([1, 2, 3]) { useless } }
        #expect(sockets.all.count == 1 && !useless.isOpen)
        #expect(try join(&sockets, 1...3) == 1)
    }

    /// An interface that is gone does not make a socket look full.
    @Test func anInterfaceThatIsGoneIsRefused() throws {
        let socket = try MulticastSocket(family: AF_INET, loop: .shared)
        defer { socket.close() }
        #expect(socket.join(1) == .joined && socket.join(1) == .joined)
        #expect(socket.join(.max >> 1) == .refused && socket.interfaces == [1])
        socket.leave(1)
        #expect(socket.interfaces.isEmpty)
    }
}
