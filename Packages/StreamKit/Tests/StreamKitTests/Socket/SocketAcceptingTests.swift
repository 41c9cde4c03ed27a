import EventLoops
import Foundation
import Glibc
import HostResolver
@_spi(Packages) import HostResolverTesting
import Testing

@testable import StreamKit
@testable import StreamSockets

@Suite(.timeLimit(.minutes(5)))
struct SocketAcceptingTests {
    // Parity: SK-148
    @Test func listensWithoutWaiting() async throws {
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        #expect(try listener.tryAccept() == nil)
        let client = try await Socket.connected(to: try #require(listener.localAddress))
        let server = try #require(try listener.tryAccept())
        #expect(fcntl(server.descriptor, F_GETFD) & FD_CLOEXEC != 0)
        #expect(fcntl(server.descriptor, F_GETFL) & O_NONBLOCK == 0)
        #expect(server.peerAddress == client.localAddress)
        #expect(try await error { _ = try await listener.accept(until: .now) } == .timedOut)
        let error = try await error { _ = try await onThread { try listener.accept(until: .now) } }
        #expect(error == .timedOut)
    }

    @Test func socketsPassedByAServiceManagerAreAdopted() throws {
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        let sockets = try Socket.listeners(passedAt: dup(listener.descriptor), count: 1, loop: .shared)
        #expect(sockets.map(\.localAddress) == [listener.localAddress])
        #expect(fcntl(try #require(sockets.first).descriptor, F_GETFD) & FD_CLOEXEC != 0)
        let unbound = try Socket(.ipv4, .stream)
        let error = #expect(throws: StreamError.self) {
            try Socket.listeners(passedAt: dup(unbound.descriptor), count: 1, loop: .shared)
        }
        #expect(error?.isPOSIX(EINVAL) == true)
    }

    @Test(
        arguments: [
            ("2", "77", 2), ("0", "77", 0), ("2", "78", nil), ("x", "77", -1), ("-1", "77", -1), ("99999", "77", -1),
            ("2", "", -1),
        ] as [(String, String, Int32?)])
    func variablesOfAServiceManager(_ count: String, _ process: String, _ expected: Int32?) {
        let found: Int32? =
            switch Result(catching: { () throws(StreamError) in
                try Socket.passedCount(count, toProcess: process, 77)
            }) {
            case .success(let count): count
            case .failure(let error): error.isPOSIX(EINVAL) ? -1 : -2
            }
        #expect(found == expected)
    }

    @Test func aBorrowedListenerNeverBlocks() async throws {
        let holder = try Socket(boundTo: .ip(.v4(.loopback), port: 0), .stream)
        let owner = holder.descriptor
        #expect(Glibc.listen(owner, 1) == 0)
        let listener = try Socket(descriptor: owner, ownership: .borrowed)
        #expect(fcntl(owner, F_GETFL) & O_NONBLOCK == 0)
        #expect(try listener.tryAccept() == nil)
        async let accepted = listener.accept()
        let port = try #require(listener.localAddress?.port)
        let client = try await Socket.connected(to: .ip(.v4(.loopback), port: port))
        #expect(try await accepted.peerAddress == client.localAddress)
    }

    @Test func connectionsComeAsASequence() async throws {
        let listener = try Socket(listeningAt: .ip(.v6(.loopback), port: 0))
        let address = try #require(listener.localAddress)
        let echo = Task {
            var count = 0
            for try await client in listener.accepted {
                count += 1
                let message = try await client.receive(upTo: 10)
                try await client.sendAll(message.bytes)
            }
            return count
        }
        for round in UInt8(0)..<5 {
            let client = try await Socket.connected(to: address)
            try await client.sendAll([round])
            #expect(try await client.receive(upTo: 10).bytes == [round])
        }
        echo.cancel()
        #expect(try await echo.value == 5)
        #expect(listener.isValid)
    }

    @Test func theSequenceEndsWithTheSocket() async throws {
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        let task = Task {
            var count = 0
            for try await _ in listener.accepted { count += 1 }
            return count
        }
        while !listener.isReceiving, !Task.isCancelled { await Task.yield() }
        listener.invalidate()
        #expect(try await task.value == 0)
    }

    // Parity: SK-142, SK-156
    @Test func bothFamiliesShareOnePort() async throws {
        let listeners = try Socket.listeners(onPort: 0, isLocal: true)
        let port = try #require(listeners.first?.localAddress?.port)
        #expect(port != 0)
        #expect(listeners.map(\.family) == [.ipv6, .ipv4])
        for listener in listeners {
            let address = try #require(listener.localAddress)
            #expect(address.port == port)
            let client = try await Socket.connected(to: address)
            let server = try await listener.accept()
            #expect(server.family == client.family)
        }
        let fault = try await error { _ = try Socket.listeners(onPort: port, isLocal: true) }
        #expect(fault.isPOSIX(EADDRINUSE))
    }

    // Parity: SK-148
    @Test func addressInUseErrorHasAdvice() async throws {
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        let address = try #require(listener.localAddress)
        let fault = try await error { _ = try Socket(listeningAt: address) }
        #expect(fault.isPOSIX(EADDRINUSE))
        #expect(fault.description.contains("\(address)") && fault.description.contains("ss -tulpn"))
        let notOurs = SocketAddress.ip(.v4(IPv4Address(192, 0, 2, 1)), port: 0)
        #expect(try await error { _ = try Socket(listeningAt: notOurs) }.isPOSIX(EADDRNOTAVAIL))
    }

    // Parity: SK-148
    @Test func addressCanBeReusedAtOnce() async {
        // In a process of its own: a process that another test starts has a copy of the listener until it executes its program.
        await #expect(processExitsWith: .success) {
            // An address that no other test uses, and a port that the system gives to no other process meanwhile.
            let port = UInt16.random(in: 20_000..<30_000)
            let address = SocketAddress.ip(.v4(IPv4Address(127, 77, 0, 1)), port: port)
            for _ in 0..<3 {
                let listener = try Socket(listeningAt: address)
                let client = try await Socket.connected(to: address)
                let server = try await listener.accept()
                // Closing first leaves the server's side in TIME_WAIT.
                server.invalidate()
                #expect(try await client.receive(upTo: 1).bytes == [])
                listener.invalidate()
            }
        }
    }

    @Test func plainBindingDoesNotReuseAnAddress() throws {
        let socket = try Socket(boundTo: .ip(.v4(.loopback), port: 0), .stream)
        #expect(try !socket.get(.reusesAddress))
        try socket.listen()
        #expect(try socket.tryAccept() == nil)
    }

    @Test(arguments: [
        (EAGAIN, AcceptFailure.noConnection), (ECONNABORTED, .connectionFailed), (EPROTO, .connectionFailed),
        (EPERM, .connectionFailed), (ENETUNREACH, .connectionFailed), (EMFILE, .scarcity), (ENFILE, .scarcity),
        (ENOMEM, .scarcity), (ENOBUFS, .scarcity), (EBADF, .fatal), (EINVAL, .fatal),
    ])
    func failuresOfAcceptMeanDifferentThings(_ number: CInt, _ meaning: AcceptFailure) {
        #expect(AcceptFailure(number) == meaning)
    }

    @Test func withoutDescriptorsConnectionsWait() async {
        await #expect(processExitsWith: .success) {
            let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
            let address = try #require(listener.localAddress)
            let clients = [try await Socket.connected(to: address), try await Socket.connected(to: address)]
            DescriptorLimit.startDispatch()
            var old = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &old)
            var none = rlimit(rlim_cur: 0, rlim_max: old.rlim_max)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
            let fault = Swift.Result { () throws(StreamError) in try listener.tryAccept() }
            guard case .failure(let scarcity) = fault else { throw CancellationError() }
            #expect(scarcity.isPOSIX(EMFILE))
            #expect(scarcity.description.contains("ulimit"))
            // The events report the shortage once, pause, and continue when descriptors are available. Nothing suspends
            // here: libdispatch creates descriptors when it starts a thread, and traps if it gets none.
            let events = Locked<[String]>([])
            try listener.setClient([.accept]) { _, event in
                switch event {
                case .accepted: events.withLock { $0.append("accepted") }
                case .failed(let error): events.withLock { $0.append(error.isPOSIX(EMFILE) ? "scarcity" : "failed") }
                default: events.withLock { $0.append("something else") }
                }
            }
            listener.schedule(on: .loop(.shared))
            while events.withLock({ $0.isEmpty }) { sched_yield() }
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &old)
            while events.withLock({ $0.count { $0 == "accepted" } }) < clients.count { sched_yield() }
            let all = events.withLock { $0 }
            #expect(all.first == "scarcity" && Set(all) == ["scarcity", "accepted"])
        }
    }
}
