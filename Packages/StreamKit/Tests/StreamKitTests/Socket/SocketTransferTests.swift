import Glibc
import HostResolver
import StreamKit
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SocketTransferTests {
    // Parity: SK-140, SK-150
    @Test(arguments: [Loopback.ipv4, .ipv6, .unixPath, .unixAbstract])
    func datagramsComeWithTheirSender(_ kind: Loopback) async throws {
        let left = try Socket(boundTo: try kind.address())
        let right = try Socket(boundTo: try kind.address())
        let (here, there) = (try #require(left.localAddress), try #require(right.localAddress))
        defer { [here, there].forEach { $0.removeFile() } }
        #expect(try await left.send([1, 2, 3], to: there) == 3)
        let first = try await right.receive(upTo: 100)
        #expect(first.bytes == [1, 2, 3] && first.sender == here && !first.isTruncated)
        // An empty datagram is valid.
        #expect(try left.trySend([], to: there) == 0)
        #expect(try await right.receive(upTo: 100).bytes == [])
        try await right.connect(to: here)
        try await right.sendAll([4])
        var buffer = [UInt8](repeating: 0, count: 10)
        let reception = try await left.receive(into: &buffer)
        #expect(reception.count == 1 && buffer[0] == 4 && reception.sender == there)
    }

    @Test func truncatedDatagramHasItsLength() async throws {
        let (left, right) = try Socket.pair(.datagram)
        try await left.sendAll([UInt8](repeating: 7, count: 100))
        try await left.sendAll([8])
        let cut = try await right.receive(upTo: 10)
        #expect(cut.bytes.count == 10 && cut.isTruncated && cut.fullLength == 100)
        #expect(try await right.receive(upTo: 10).bytes == [8])
    }

    @Test func truncatedPacketHasItsLength() async throws {
        let (left, right) = try Socket.pair(.sequencedPacket)
        try await left.sendAll([1, 2, 3])
        var small = [UInt8](repeating: 0, count: 2)
        let reception = try await right.receive(into: &small)
        #expect(reception.count == 2 && reception.fullLength == 3)
        left.invalidate()
        #expect(try await right.receive(upTo: 5).bytes == [])
    }

    @Test func invalidDatagramsHaveMessages() async throws {
        let socket = try Socket(.ipv4, .datagram)
        let tooLong = [UInt8](repeating: 0, count: 70_000)
        let target = SocketAddress.ip(.v4(.loopback), port: 9)
        let long = try await error { try await socket.sendAll(tooLong, to: target) }
        #expect(long.isPOSIX(EMSGSIZE) && long.description.contains("70000"))
        let nowhere = try await error { try await socket.sendAll([1]) }
        #expect(nowhere.isPOSIX(EDESTADDRREQ) || nowhere.isPOSIX(ENOTCONN))
        let broadcast = SocketAddress.ip(.v4(.broadcast), port: 9)
        #expect(
            try await error { try await socket.sendAll([1], to: broadcast) }.description.contains("allowsBroadcast"))
    }

    // Parity: SK-150
    @Test func everythingIsSentThroughASmallBuffer() async throws {
        let (left, right) = try Socket.pair()
        try left.set(.sendBufferSize, to: 4096)
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        async let received = onThread {
            var all: [UInt8] = []
            while true {
                let message = try right.receive(upTo: 65_536)
                if message.bytes.isEmpty { return all }
                all += message.bytes
            }
        }
        try await left.sendAll(bytes)
        left.invalidate()
        #expect(try await received == bytes)
    }

    @Test func blockingSendingAlsoSendsEverything() async throws {
        let (left, right) = try Socket.pair()
        let bytes = [UInt8](repeating: 3, count: 3_000_000)
        async let sent: Void = onThread {
            try left.sendAll(bytes)
            left.invalidate()
        }
        var count = 0
        while true {
            let message = try await right.receive(upTo: 100_000)
            if message.bytes.isEmpty { break }
            count += message.bytes.count
        }
        try await sent
        #expect(count == bytes.count)
    }

    @Test func aFullSocketAcceptsNoMore() async throws {
        let (left, right) = try Socket.pair()
        let chunk = [UInt8](repeating: 0, count: 65_536)
        while try left.trySend(chunk) != nil {}
        #expect(try await error { _ = try await left.send(chunk, until: .now) } == .timedOut)
        let blocked = try await error { _ = try await onThread { try left.send(chunk, until: .now) } }
        #expect(blocked == .timedOut)
        right.invalidate()
        // A closed peer is an error, never a signal.
        #expect(try await error { _ = try await left.send(chunk) }.isPOSIX(EPIPE))
    }

    @Test func aCancelledReceiveTakesNothing() async throws {
        let (left, right) = try Socket.pair()
        let task = Task { try await left.receive(upTo: 10) }
        while !left.isReceiving, !Task.isCancelled { await Task.yield() }
        task.cancel()
        #expect(try await error { _ = try await task.value } == .cancelled)
        try await right.sendAll([1])
        #expect(try await left.receive(upTo: 10).bytes == [1])
    }

    @Test func anEmptyBufferIsRefused() async throws {
        let (left, right) = try Socket.pair()
        var nothing: [UInt8] = []
        #expect(try await error { _ = try left.tryReceive(into: &nothing) }.isPOSIX(EINVAL))
        withExtendedLifetime(right) {}
    }
}
