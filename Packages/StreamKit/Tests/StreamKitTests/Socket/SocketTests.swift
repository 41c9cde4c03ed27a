import Foundation
import Glibc
import HostResolver
import StreamKit
import StreamKitTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SocketTests {
    // Parity: SK-140
    @Test(arguments: [
        (SocketFamily.ipv4, SocketType.stream), (.ipv4, .datagram), (.ipv6, .stream), (.ipv6, .datagram),
        (.unix, .stream), (.unix, .datagram), (.unix, .sequencedPacket),
    ])
    func hasFamilyAndType(_ family: SocketFamily, _ type: SocketType) throws {
        let socket = try Socket(family, type)
        #expect(socket.isValid)
        let descriptor = socket.descriptor
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK == 0)
        let again = try Socket(descriptor: descriptor, ownership: .borrowed)
        #expect(again.family == family && again.type == type)
        #expect(!again.closesOnInvalidate && socket.closesOnInvalidate)
    }

    // Parity: SK-140
    @Test func unsupportedFamilyHasAMessage() async throws {
        let error = try await error { _ = try Socket(SocketFamily(rawValue: 200)) }
        #expect(error.isPOSIX(EAFNOSUPPORT))
        #expect(error.description.contains("family 200"))
    }

    @Test func otherDescriptorsAreNotAdopted() async throws {
        let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let error = try await error { _ = try Socket(descriptor: file, ownership: .owned) }
        #expect(error.isPOSIX(ENOTSOCK))
        #expect(fcntl(file, F_GETFD) >= 0)
    }

    @Test func aBorrowedDescriptorIsLeftAsItWas() async throws {
        var pair: [CInt] = [-1, -1]
        #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0)
        defer { pair.forEach { close($0) } }
        let flags = pair.map { [fcntl($0, F_GETFL), fcntl($0, F_GETFD)] }
        let socket = try Socket(descriptor: pair[0], ownership: .borrowed)
        try await socket.sendAll([1, 2, 3])
        #expect(try socket.tryReceive(upTo: 10) == nil)
        socket.invalidate()
        #expect(pair.map { [fcntl($0, F_GETFL), fcntl($0, F_GETFD)] } == flags)
        var bytes = [UInt8](repeating: 0, count: 8)
        #expect(read(pair[1], &bytes, 8) == 3)
        #expect(write(pair[0], bytes, 1) == 1)
    }

    // Parity: SK-141
    @Test func twoSocketsMayUseOneDescriptor() async throws {
        let (left, right) = try Socket.pair(.datagram)
        let twin = try Socket(descriptor: left.descriptor, ownership: .borrowed)
        let first = Task { try await left.receive(upTo: 1).bytes }
        while !left.isReceiving, !Task.isCancelled { await Task.yield() }
        let second = Task { try await twin.receive(upTo: 1).bytes }
        while !twin.isReceiving, !Task.isCancelled { await Task.yield() }
        try await right.sendAll([1])
        try await right.sendAll([2])
        #expect(try await Set([first.value, second.value]) == [[1], [2]])
        twin.invalidate()
        #expect(left.isValid)
        try await left.sendAll([3])
        #expect(try await right.receive(upTo: 1).bytes == [3])
    }

    // Parity: SK-152
    @Test func invalidatingEndsEverything() async throws {
        let (left, right) = try Socket.pair()
        left.invalidate()
        left.invalidate()
        #expect(!left.isValid)
        #expect(left.descriptor == -1 && left.localAddress == nil && left.peerAddress == nil)
        #expect(try await error { _ = try left.tryReceive(upTo: 1) } == .closed)
        #expect(try await error { _ = try await left.send([1]) } == .closed)
        #expect(try await error { _ = try left.get(.sendBufferSize) } == .closed)
        #expect(try await right.receive(upTo: 1).bytes == [])
    }

    // Parity: SK-152
    @Test func closeOnInvalidateCanBeSwitchedOff() throws {
        let (left, right) = try Socket.pair()
        let descriptor = left.descriptor
        left.closesOnInvalidate = false
        left.invalidate()
        #expect(write(descriptor, [UInt8(5)], 1) == 1)
        #expect(try right.tryReceive(upTo: 1)?.bytes == [5])
        close(descriptor)
    }

    @Test(arguments: [true, false])
    func invalidatingWakesABlockedThread(_ closes: Bool) async throws {
        let (left, right) = try Socket.pair()
        left.closesOnInvalidate = closes
        let descriptor = left.descriptor
        async let blocked = onThread { try left.receive(upTo: 1) }
        while !left.isReceiving, !Task.isCancelled { await Task.yield() }
        left.invalidate()
        let outcome: StreamError?
        do {
            _ = try await blocked
            outcome = nil
        } catch {
            outcome = error as? StreamError
        }
        #expect(outcome == .closed)
        if !closes { close(descriptor) }
        withExtendedLifetime(right) {}
    }

    @Test func invalidatingWakesATaskThatAccepts() async throws {
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        let task = Task { try await listener.accept() }
        while !listener.isReceiving, !Task.isCancelled { await Task.yield() }
        listener.invalidate()
        #expect(try await error { _ = try await task.value } == .closed)
    }

    @Test func secondReceiverIsBusy() async throws {
        let (left, right) = try Socket.pair()
        let first = Task { try await left.receive(upTo: 1) }
        while !left.isReceiving, !Task.isCancelled { await Task.yield() }
        #expect(try await error { _ = try await left.receive(upTo: 1) } == .busy)
        try await right.sendAll([1])
        #expect(try await first.value.bytes == [1])
    }

    // Parity: SK-151
    @Test(arguments: Loopback.allCases)
    func knowsItsAddresses(_ kind: Loopback) async throws {
        let address = try kind.address()
        let listener = try Socket(listeningAt: address)
        defer { address.removeFile() }
        let own = try #require(listener.localAddress)
        #expect(own.family == address.family)
        #expect(listener.peerAddress == nil)
        let client = try await Socket.connected(to: own)
        let server = try await listener.accept()
        #expect(client.peerAddress == own)
        #expect(server.localAddress == own)
        #expect(server.peerAddress == client.localAddress)
        let clientAddress = client.localAddress
        client.invalidate()
        #expect(server.peerAddress == clientAddress)
    }

    // Parity: SK-156
    @Test func aConnectedSocketBecomesStreams() async throws {
        let (left, right) = try Socket.pair()
        // Watched by the loop before, so that the conversion must end that.
        let waiting = Task { try await left.receive(upTo: 1) }
        while !left.isReceiving, !Task.isCancelled { await Task.yield() }
        #expect(try await error { _ = try left.makeStreams() } == .busy)
        try await right.sendAll([1])
        _ = try await waiting.value
        let pair = try left.makeStreams()
        #expect(!left.isValid)
        try pair.open()
        async let input = pair.input.read(upTo: 10)
        try await right.sendAll([2, 3])
        #expect(try await input == [2, 3])
        try await pair.output.writeAll([4])
        #expect(try await right.receive(upTo: 10).bytes == [4])
        pair.close()
        #expect(try await right.receive(upTo: 10).bytes == [])
    }

    @Test func aListenerDoesNotBecomeStreams() async throws {
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        #expect(try await error { _ = try listener.makeStreams() }.isPOSIX(EINVAL))
        #expect(listener.isValid)
    }

    // Parity: SK-152
    @Test func nothingLeaks() async {
        await #expect(processExitsWith: .success) {
            let warmUp = try Socket.pair()
            _ = try? await warmUp.0.receive(upTo: 1, until: .now)
            let before = OpenSockets()
            for round in 0..<20 {
                let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
                let address = try #require(listener.localAddress)
                let client = try await Socket.connected(to: address)
                let server = try await listener.accept()
                let dead = try RefusedPort()
                _ = try? await Socket.connected(to: dead.address)
                let task = Task { try await server.receive(upTo: 1) }
                if round.isMultiple(of: 2) { task.cancel() } else { server.invalidate() }
                _ = try? await task.value
                if round.isMultiple(of: 3) { client.invalidate() }
                _ = try? await listener.accept(until: .now)
                try server.isValid ? server.makeStreams().close() : ()
            }
            #expect(await before.remain())
        }
    }
}

extension Socket {
    /// True while a call is inside the receiving half. A call of the test's own that finds the half busy would also tell,
    /// but the call that it waits for could then be refused because of it.
    var isReceiving: Bool { waitPoint.isInside(.reader) }

    /// True while a call is inside the sending half, such as one that connects.
    var isSending: Bool { waitPoint.isInside(.writer) }
}
