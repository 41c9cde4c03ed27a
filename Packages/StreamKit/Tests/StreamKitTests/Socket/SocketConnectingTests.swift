import Glibc
import HostResolver
import StreamKit
import StreamKitTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SocketConnectingTests {
    // Parity: SK-142, SK-149
    @Test(arguments: Loopback.allCases)
    func connectsWaitingOrNot(_ kind: Loopback) async throws {
        let listener = try Socket(listeningAt: try kind.address())
        let address = try #require(listener.localAddress)
        defer { address.removeFile() }
        let first = try await onThread { try Socket.connected(to: address) }
        let second = try await Socket.connected(to: address)
        let third = try Socket(second.family)
        try third.beginConnecting(to: address)
        while try !third.tryFinishConnecting(), !Task.isCancelled { await Task.yield() }
        for client in [first, second, third] {
            let server = try await listener.accept()
            try await client.sendAll([9])
            #expect(try await server.receive(upTo: 5).bytes == [9])
            #expect(fcntl(client.descriptor, F_GETFL) & O_NONBLOCK == 0)
        }
    }

    // Parity: SK-149
    @Test func aRefusedConnectionIsNeverASuccess() async throws {
        for _ in 0..<40 {
            let dead = try RefusedPort()
            let socket = try Socket()
            #expect(try await error { try await socket.connect(to: dead.address) }.isPOSIX(ECONNREFUSED))
            let background = try Socket()
            try background.beginConnecting(to: dead.address)
            let outcome = try await error {
                while try !background.tryFinishConnecting(), !Task.isCancelled { await Task.yield() }
            }
            #expect(outcome.isPOSIX(ECONNREFUSED))
            #expect(outcome.description.contains("refused"))
        }
    }

    @Test func failedSocketCanConnectAgain() async throws {
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        let address = try #require(listener.localAddress)
        let (socket, dead) = (try Socket(), try RefusedPort())
        #expect(try await error { try await socket.connect(to: dead.address) }.isPOSIX(ECONNREFUSED))
        try await socket.connect(to: address)
        #expect(socket.peerAddress == address)
        #expect(try await error { try await socket.connect(to: address) }.isPOSIX(EISCONN))
    }

    // Parity: SK-149, SK-154
    @Test func noAnswerEndsAtTheDeadline() async throws {
        let hole = try await BlackHole()
        let socket = try Socket()
        let late = try await error { try await socket.connect(to: hole.address, until: .now) }
        #expect(late == .timedOut)
        #expect(late.description.contains("did not answer"))
        let blocked = try await error { try await onThread { try socket.connect(to: hole.address, until: .now) } }
        #expect(blocked == .timedOut)
        // The attempts leave no trace: the same socket connects elsewhere.
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        try await socket.connect(to: try #require(listener.localAddress))
    }

    @Test func noAnswerCanBeCancelled() async throws {
        let hole = try await BlackHole()
        let socket = try Socket()
        let task = Task { try await socket.connect(to: hole.address) }
        while !socket.isSending, !Task.isCancelled { await Task.yield() }
        task.cancel()
        #expect(try await error { try await task.value } == .cancelled)
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        try await socket.connect(to: try #require(listener.localAddress))
    }

    @Test func noAnswerCanBeInvalidated() async throws {
        let hole = try await BlackHole()
        let socket = try Socket()
        async let blocked: Void = onThread { try socket.connect(to: hole.address) }
        while !socket.isSending, !Task.isCancelled { await Task.yield() }
        socket.invalidate()
        do {
            try await blocked
            Issue.record("connected without a listener")
        } catch {
            #expect(error as? StreamError == .closed)
        }
    }

    @Test func oneAttemptAtATime() async throws {
        let hole = try await BlackHole()
        let socket = try Socket()
        try socket.beginConnecting(to: hole.address)
        #expect(try !socket.tryFinishConnecting())
        #expect(try await error { try socket.beginConnecting(to: hole.address) }.isPOSIX(EALREADY))
    }

    @Test func aBorrowedDescriptorIsNotReconfiguredToConnect() async throws {
        let owner = try Socket()
        let borrowed = try Socket(descriptor: owner.descriptor, ownership: .borrowed)
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        let address = try #require(listener.localAddress)
        #expect(try await error { try await borrowed.connect(to: address) }.isPOSIX(EOPNOTSUPP))
        _ = fcntl(owner.descriptor, F_SETFL, O_NONBLOCK)
        try await borrowed.connect(to: address)
        #expect(borrowed.peerAddress == address)
        #expect(fcntl(owner.descriptor, F_GETFL) & O_NONBLOCK != 0)
    }

    @Test func aUnixSocketWithoutListenerIsRefusedAtOnce() async throws {
        let address = try Loopback.unixAbstract.address()
        let socket = try Socket(.unix)
        #expect(try await error { try socket.beginConnecting(to: address) }.isPOSIX(ECONNREFUSED))
        #expect(try await error { _ = try socket.tryFinishConnecting() }.isPOSIX(ENOTCONN))
    }
}
