import StreamKit
import Testing

@testable import NetDiag

@Suite(.timeLimit(.minutes(5))) struct ProbeSocketTests {
    /// The peer does not answer the first two packets, as a host does that limits the rate of its answers.
    @Test func aPacketWithoutAnAnswerIsSentAgain() async throws {
        let peer = try Socket(boundTo: .ip(.v4(.loopback), port: 0))
        defer { peer.invalidate() }
        let port = try #require(peer.localAddress?.port)
        let mark = [UInt8](repeating: 7, count: ProbeSocket.markSize)
        let probe = try ProbeSocket(to: .v4(.loopback), .datagram(port: port), size: 1500, mark: mark)
        async let reaction = probe.run(until: .now + .seconds(60), resendingEvery: .milliseconds(1))
        var packet = try await peer.receive(upTo: 2000)
        for _ in 0..<2 { packet = try await peer.receive(upTo: 2000) }
        #expect(packet.bytes.count == 1500 - 28 && packet.bytes.starts(with: mark))
        try await peer.sendAll([1], to: packet.sender)
        #expect(try await reaction == .answered)
    }

    @Test func aPacketIsSentOnceWithoutAnInterval() async throws {
        let peer = try Socket(boundTo: .ip(.v4(.loopback), port: 0))
        defer { peer.invalidate() }
        let port = try #require(peer.localAddress?.port)
        let probe = try ProbeSocket(
            to: .v4(.loopback), .datagram(port: port), mark: [UInt8](repeating: 7, count: ProbeSocket.markSize))
        #expect(try await probe.run(until: .now) == nil)
        _ = try await peer.receive(upTo: 2000)
        #expect(try peer.tryReceive(upTo: 2000) == nil)
    }
}
