import EventLoops
import Foundation
import Glibc
import HostResolver
import StreamKit
import Testing

/// Streams on a descriptor that is already open.
@Suite(.timeLimit(.minutes(5))) struct AdoptedDescriptorTests {
    /// The state of a descriptor, observed from the other end of its socket pair.
    private struct Ends {
        let own: Int32
        let peer: Int32

        init() throws {
            var pair: [Int32] = [-1, -1]
            let result = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair)
            try #require(result == 0)
            (own, peer) = (pair[0], pair[1])
        }

        /// The available bytes of a descriptor, up to 8.
        func receive(_ descriptor: Int32) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: 8)
            let count = recv(descriptor, &bytes, bytes.count, 0)
            return Array(bytes.prefix(max(0, count)))
        }

        /// True if the peer sees the end: the other end was closed or shut down.
        var hasEnded: Bool {
            var byte: UInt8 = 0
            return recv(peer, &byte, 1, Int32(MSG_DONTWAIT) | Int32(MSG_PEEK)) == 0
        }

        /// Waits for the end: a process that another test has just started has the descriptor until it executes its program.
        func ended() async -> Bool {
            while !hasEnded, !Task.isCancelled { await Task.yield() }
            return hasEnded
        }
    }

    // Parity: SK-013
    @Test("SK-013: open completes at once; the socket is not closed, shut down or changed")
    func borrowed() async throws {
        let ends = try Ends()
        defer {
            Glibc.close(ends.own)
            Glibc.close(ends.peer)
        }
        let flags = fcntl(ends.own, F_GETFL)
        let pair = StreamPair(descriptor: ends.own, ownership: .borrowed)
        try pair.open()
        #expect(pair.input.status == .open && pair.output.status == .open)
        #expect(pair[.nativeDescriptor] == ends.own && pair[.closesDescriptor] == false)
        try await pair.output.writeAll([1, 2, 3])
        #expect(ends.receive(ends.peer) == [1, 2, 3])
        #expect(send(ends.peer, [9, 8] as [UInt8], 2, 0) == 2)
        #expect(try await pair.input.read(upTo: 1) == [9])
        pair.close()
        #expect(!ends.hasEnded)
        #expect(fcntl(ends.own, F_GETFL) == flags)
        // Bytes that the streams did not read are still available, and the other direction is open.
        #expect(ends.receive(ends.own) == [8])
        #expect(send(ends.own, [7] as [UInt8], 1, 0) == 1)
        #expect(ends.receive(ends.peer) == [7])
    }

    // Parity: SK-057
    @Test("SK-057: the ownership of a descriptor can be set later", arguments: [true, false])
    func ownershipByProperty(closes: Bool) async throws {
        let ends = try Ends()
        defer { Glibc.close(ends.peer) }
        let pair = StreamPair(descriptor: ends.own, ownership: closes ? .borrowed : .owned)
        try pair.open()
        try await pair.output.opened()
        try pair.set(.closesDescriptor, to: closes)
        pair.close()
        if closes {
            #expect(await ends.ended())
        } else {
            #expect(!ends.hasEnded)
            Glibc.close(ends.own)
        }
    }

    @Test("an owned descriptor is closed with the second half or the last reference", arguments: [true, false])
    func owned(isDropped: Bool) async throws {
        let ends = try Ends()
        defer { Glibc.close(ends.peer) }
        func use() async throws {
            let pair = StreamPair(descriptor: ends.own, ownership: .owned)
            try pair.open()
            try await pair.output.writeAll([1])
            if isDropped { return }
            pair.input.close()
            #expect(!ends.hasEnded)
            pair.output.close()
        }
        try await use()
        #expect(ends.receive(ends.peer) == [1])
        #expect(await ends.ended())
    }
}
