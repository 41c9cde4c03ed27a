import Dispatch
import EventLoops
import Foundation
import Glibc
import HostResolver
import RunLoopDelivery
import StreamKit
import StreamKitTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SocketEventTests {
    /// The events delivered to a client, in order.
    struct EventRecorder: AsyncSequence {
        private let events: AsyncStream<SocketEvent>
        let record: @Sendable (Socket, SocketEvent) -> Void

        init() {
            let (events, continuation) = AsyncStream<SocketEvent>.makeStream()
            self.events = events
            record = { continuation.yield($1) }
        }

        func makeAsyncIterator() -> AsyncStream<SocketEvent>.Iterator { events.makeAsyncIterator() }
    }

    /// The kinds of targets for events.
    enum TargetKind: CaseIterable {
        case queue
        case loop
        case runLoop
    }

    /// Runs `body` with a target of that kind and checks that the client is called there.
    private func onTarget(_ kind: TargetKind, _ body: (any DeliveryTarget) async throws -> Void) async throws {
        switch kind {
        case .queue: try await body(.queue(DispatchQueue(label: "socket events")))
        case .loop: try await body(.loop(.shared))
        case .runLoop:
            let loop = RunLoopThread()
            try await body(await loop.target())
            loop.stop()
        }
    }

    // Parity: SK-144
    @Test(arguments: TargetKind.allCases)
    func connectionsAreAcceptedAndConnected(_ kind: TargetKind) async throws {
        try await onTarget(kind) { target in
            let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
            let (accepted, connected) = (EventRecorder(), EventRecorder())
            try listener.setClient([.accept], accepted.record)
            listener.schedule(on: target)
            let client = try Socket()
            client.schedule(on: target)
            try client.setClient([.connect, .data], connected.record)
            try client.beginConnecting(to: try #require(listener.localAddress))
            var events = connected.makeAsyncIterator()
            guard case .connected = await events.next() else { throw Unexpected() }
            var arrivals = accepted.makeAsyncIterator()
            guard case .accepted(let server) = await arrivals.next() else { throw Unexpected() }
            #expect(server.peerAddress == client.localAddress)
            try await server.sendAll([1, 2])
            guard case .data(let message) = await events.next() else { throw Unexpected() }
            #expect(message.bytes == [1, 2])
            server.invalidate()
            guard case .data(let end) = await events.next() else { throw Unexpected() }
            #expect(end.bytes == [])
            listener.invalidate()
            client.invalidate()
        }
    }

    /// CFSocket reported *success* for a refused connection if it was scheduled before connecting.
    @Test(arguments: TargetKind.allCases)
    func refusedConnectionIsReported(_ kind: TargetKind) async throws {
        try await onTarget(kind) { target in
            for _ in 0..<40 {
                let dead = try RefusedPort()
                let socket = try Socket()
                let recorder = EventRecorder()
                try socket.setClient([.connect, .write, .read], recorder.record)
                socket.schedule(on: target)
                try socket.beginConnecting(to: dead.address)
                var events = recorder.makeAsyncIterator()
                guard case .connectFailed(let error) = await events.next() else { throw Unexpected() }
                #expect(error.isPOSIX(ECONNREFUSED))
                socket.invalidate()
            }
        }
    }

    @Test func unconnectedSocketHasNoEvents() async throws {
        let hole = try await BlackHole()
        let socket = try Socket()
        let count = Counter()
        try socket.setClient([.connect, .write, .data]) { _, _ in count.add() }
        let queue = DispatchQueue(label: "nowhere")
        socket.schedule(on: .queue(queue))
        try socket.beginConnecting(to: hole.address)
        // The loop has seen the socket when a later connection on it has been served.
        let (left, right) = try Socket.pair()
        async let received = left.receive(upTo: 1)
        try await right.sendAll([1])
        _ = try await received
        queue.sync {}
        #expect(count.value == 0)
        socket.invalidate()
    }

    // Parity: SK-145
    @Test func readableComesUntilAllIsReadAndOnceAtTheEnd() async throws {
        let (left, right) = try Socket.pair()
        let recorder = EventRecorder()
        let endings = Counter()
        try left.setClient([.read]) { socket, event in
            // One byte at a time: the rest makes further events.
            if let message = try? socket.tryReceive(upTo: 1), message.bytes.isEmpty { endings.add() }
            recorder.record(socket, event)
        }
        let queue = DispatchQueue(label: "read")
        left.schedule(on: .queue(queue))
        try await right.sendAll([1, 2, 3])
        var events = recorder.makeAsyncIterator()
        for _ in 0..<3 {
            guard case .readable = await events.next() else { throw Unexpected() }
        }
        right.invalidate()
        guard case .readable = await events.next() else { throw Unexpected() }
        queue.sync {}
        queue.sync {}
        #expect(endings.value == 1)
        left.invalidate()
    }

    // Parity: SK-146
    @Test func writableComesOnceUntilEnabled() async throws {
        let (left, right) = try Socket.pair()
        #expect(left.reenabledKinds == [.read, .accept, .data])
        let recorder = EventRecorder()
        let count = Counter()
        try left.setClient([.write]) { socket, event in
            count.add()
            recorder.record(socket, event)
        }
        let queue = DispatchQueue(label: "write")
        left.schedule(on: .queue(queue))
        var events = recorder.makeAsyncIterator()
        guard case .writable = await events.next() else { throw Unexpected() }
        queue.sync {}
        queue.sync {}
        #expect(count.value == 1)
        left.enable(.write)
        guard case .writable = await events.next() else { throw Unexpected() }
        // The socket is full: once enabled, the event waits for room.
        let chunk = [UInt8](repeating: 0, count: 65_536)
        while try left.trySend(chunk) != nil {}
        left.enable(.write)
        queue.sync {}
        #expect(count.value == 2)
        let drained = Task { while try await right.receive(upTo: 65_536).bytes.count > 0 {} }
        guard case .writable = await events.next() else { throw Unexpected() }
        left.invalidate()
        try await drained.value
    }

    // Parity: SK-147
    @Test func disabledKindWaitsInTheKernel() async throws {
        let (left, right) = try Socket.pair(.datagram)
        let recorder = EventRecorder()
        let count = Counter()
        try left.setClient([.data]) { socket, event in
            count.add()
            recorder.record(socket, event)
        }
        let queue = DispatchQueue(label: "disabled")
        left.schedule(on: .queue(queue))
        left.disable(.data)
        try await right.sendAll([1])
        queue.sync {}
        #expect(count.value == 0)
        left.enable([.data, .accept])
        var events = recorder.makeAsyncIterator()
        guard case .data(let message) = await events.next() else { throw Unexpected() }
        #expect(message.bytes == [1])
        // Without re-enabling, one event is delivered.
        left.reenabledKinds = []
        try await right.sendAll([2])
        try await right.sendAll([3])
        guard case .data(let second) = await events.next() else { throw Unexpected() }
        #expect(second.bytes == [2])
        queue.sync {}
        #expect(count.value == 2)
        left.enable(.data)
        guard case .data(let third) = await events.next() else { throw Unexpected() }
        #expect(third.bytes == [3])
        left.invalidate()
    }

    // Parity: SK-144
    @Test func datagramsHaveTheirSender() async throws {
        let receiver = try Socket(boundTo: .ip(.v6(.loopback), port: 0))
        let sender = try Socket(boundTo: .ip(.v6(.loopback), port: 0))
        let recorder = EventRecorder()
        try receiver.setClient([.data], recorder.record)
        receiver.schedule(on: .loop(.shared))
        let address = try #require(receiver.localAddress)
        for index in UInt8(0)..<50 { try await sender.sendAll([index], to: address) }
        var events = recorder.makeAsyncIterator()
        for index in UInt8(0)..<50 {
            guard case .data(let message) = await events.next() else { throw Unexpected() }
            #expect(message.bytes == [index] && message.sender == sender.localAddress)
        }
        receiver.invalidate()
    }

    // Parity: SK-146
    @Test(arguments: [true, false])
    func failureIsReportedOrLeft(_ leavesErrors: Bool) async throws {
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        let client = try await Socket.connected(to: try #require(listener.localAddress))
        let server = try await listener.accept()
        client.leavesErrors = leavesErrors
        let recorder = EventRecorder()
        let count = Counter()
        try client.setClient([.read]) { socket, event in
            count.add()
            recorder.record(socket, event)
        }
        let queue = DispatchQueue(label: "failure")
        client.schedule(on: .queue(queue))
        try server.set(.linger, to: .zero)
        server.invalidate()
        var events = recorder.makeAsyncIterator()
        switch await events.next() {
        case .failed(let error):
            #expect(!leavesErrors && error.isPOSIX(ECONNRESET))
        case .readable:
            #expect(leavesErrors)
            #expect(try await error { _ = try client.tryReceive(upTo: 1) }.isPOSIX(ECONNRESET))
        default: throw Unexpected()
        }
        queue.sync {}
        queue.sync {}
        #expect(count.value == 1)
        client.invalidate()
    }

    @Test(arguments: [SocketEventKinds.data, .read, [.data, .write], [.read, .write]])
    func dataComesBeforeTheFailure(_ kinds: SocketEventKinds) async throws {
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        let client = try await Socket.connected(to: try #require(listener.localAddress))
        let server = try await listener.accept()
        try await server.sendAll([1, 2, 3])
        try server.set(.linger, to: .zero)
        server.invalidate()
        let recorder = EventRecorder()
        let received = Locked<[UInt8]>([])
        try client.setClient(kinds) { socket, event in
            switch event {
            case .readable:
                let message = try? socket.tryReceive(upTo: 1)
                received.withLock { $0 += message?.bytes ?? [] }
            case .data(let message): received.withLock { $0 += message.bytes }
            default: recorder.record(socket, event)
            }
        }
        client.schedule(on: .queue(DispatchQueue(label: "reset")))
        for await event in recorder {
            if case .writable = event { continue }
            guard case .failed(let error) = event else { throw Unexpected() }
            #expect(error.isPOSIX(ECONNRESET))
            break
        }
        #expect(received.withLock { $0 } == [1, 2, 3])
        client.invalidate()
    }

    @Test func hangUpIsReportedToWriters() async throws {
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        let client = try await Socket.connected(to: try #require(listener.localAddress))
        let server = try await listener.accept()
        let recorder = EventRecorder()
        try server.set(.linger, to: .zero)
        server.invalidate()
        try client.setClient([.write]) { socket, event in
            if case .writable = event { socket.enable(.write) } else { recorder.record(socket, event) }
        }
        client.schedule(on: .loop(.shared))
        var events = recorder.makeAsyncIterator()
        guard case .failed(let error) = await events.next() else { throw Unexpected() }
        #expect(error.isPOSIX(ECONNRESET))
        client.invalidate()
    }

    @Test func datagramSocketContinuesAfterAFailure() async throws {
        // A loopback address that no other test uses, so that the port stays free meanwhile.
        let dead = try Socket(boundTo: .ip(.v4(IPv4Address(127, 77, 0, 2)), port: 0))
        let address = try #require(dead.localAddress)
        let socket = try await Socket.connected(to: address, .datagram)
        let own = try #require(socket.localAddress)
        dead.invalidate()
        let recorder = EventRecorder()
        try socket.setClient([.data], recorder.record)
        socket.schedule(on: .loop(.shared))
        try await socket.sendAll([1])
        var events = recorder.makeAsyncIterator()
        guard case .failed(let error) = await events.next() else { throw Unexpected() }
        #expect(error.isPOSIX(ECONNREFUSED))
        let alive = try Socket(boundTo: address)
        try await alive.sendAll([2], to: own)
        guard case .data(let message) = await events.next() else { throw Unexpected() }
        #expect(message.bytes == [2])
        socket.invalidate()
    }

    @Test func callMayWaitBesideEvents() async throws {
        let (left, right) = try Socket.pair()
        let recorder = EventRecorder()
        try left.setClient([.data], recorder.record)
        left.schedule(on: .loop(.shared))
        let waiting = Task { try await left.receive(upTo: 10) }
        while !left.isReceiving, !Task.isCancelled { await Task.yield() }
        try await right.sendAll([1])
        #expect(try await waiting.value.bytes == [1])
        // When the call has ended, the events resume.
        try await right.sendAll([2])
        var events = recorder.makeAsyncIterator()
        guard case .data(let message) = await events.next() else { throw Unexpected() }
        #expect(message.bytes == [2])
        left.invalidate()
    }

    @Test(arguments: [TargetKind.queue, .runLoop])
    func noEventAfterInvalidate(_ kind: TargetKind) async throws {
        try await onTarget(kind) { target in
            for _ in 0..<20 {
                let (left, right) = try Socket.pair()
                let isOver = Counter()
                let recorder = EventRecorder()
                try left.setClient([.data]) { socket, event in
                    if isOver.value > 0 { Issue.record("event after invalidate") }
                    socket.invalidate()
                    isOver.add()
                    recorder.record(socket, event)
                }
                left.schedule(on: target)
                try await right.sendAll([1])
                var events = recorder.makeAsyncIterator()
                _ = await events.next()
                // The descriptor is closed once no thread is inside; the one that found the event may still be.
                #expect(try await right.receive(upTo: 1).bytes.isEmpty)
                #expect(try await error { try await right.sendAll([2]) }.isPOSIX(EPIPE))
                #expect(isOver.value == 1)
            }
        }
    }

    // Parity: SK-143
    @Test func unschedulingEndsEvents() async throws {
        let (left, right) = try Socket.pair()
        let count = Counter()
        let recorder = EventRecorder()
        try left.setClient([.data]) { socket, event in
            count.add()
            recorder.record(socket, event)
        }
        let queue = DispatchQueue(label: "first")
        let second = DispatchQueue(label: "second")
        left.schedule(on: .queue(queue))
        left.schedule(on: .queue(queue))
        left.unschedule(from: .queue(second))
        left.unschedule(from: .queue(queue))
        try await right.sendAll([1])
        queue.sync {}
        #expect(count.value == 0)
        left.schedule(on: .queue(second))
        var events = recorder.makeAsyncIterator()
        guard case .data = await events.next() else { throw Unexpected() }
        left.invalidate()
    }

    @Test func scheduledSocketLivesUntilInvalidated() async throws {
        let recorder = EventRecorder()
        weak var dropped: Socket?
        let right: Socket
        do {
            let (left, other) = try Socket.pair()
            right = other
            dropped = left
            try left.setClient([.data]) { socket, event in
                recorder.record(socket, event)
                socket.invalidate()
            }
            left.schedule(on: .queue(DispatchQueue(label: "kept")))
        }
        #expect(dropped != nil)
        try await right.sendAll([1])
        var events = recorder.makeAsyncIterator()
        guard case .data = await events.next() else { throw Unexpected() }
        #expect(try await right.receive(upTo: 1).bytes == [])
        while dropped != nil, !Task.isCancelled { await Task.yield() }
    }

    // Parity: SK-153
    @Test func capturesAreReleased() throws {
        final class Captured {}
        weak var captured: Captured?
        let (left, right) = try Socket.pair()
        try {
            let value = Captured()
            captured = value
            nonisolated(unsafe) let kept = value  // never used by the client; only its lifetime matters
            try left.setClient([.data]) { _, _ in withExtendedLifetime(kept) {} }
        }()
        #expect(captured != nil)
        try left.setClient([], nil)
        #expect(captured == nil)
        withExtendedLifetime(right) {}
    }

    // Parity: SK-144
    @Test func onlyOneKindOfArrivalEvent() async throws {
        let socket = try Socket()
        for kinds: SocketEventKinds in [[.read, .data], [.read, .accept], [.accept, .data, .write]] {
            #expect(try await error { try socket.setClient(kinds) { _, _ in } }.isPOSIX(EINVAL))
        }
    }

    struct Unexpected: Error {}
}

/// A counter for any thread.
final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .sequentiallyConsistent) }
    func add() { count.wrappingAdd(1, ordering: .sequentiallyConsistent) }
}

/// A thread that runs its run loop until stopped.
final class RunLoopThread: Sendable {
    private let isStopped = Atomic<Bool>(false)
    private let started: AsyncStream<RunLoopTarget>
    private let keeper = Locked<(any DeliverySignal)?>(nil)

    init() {
        let (started, continuation) = AsyncStream<RunLoopTarget>.makeStream()
        self.started = started
        Thread { [self] in
            let target: RunLoopTarget = .currentRunLoop
            let keeper = target.makeSignal {}
            self.keeper.withLock { $0 = keeper }
            continuation.yield(target)
            while !isStopped.load(ordering: .acquiring) {
                _ = RunLoop.current.run(mode: .default, before: .distantFuture)
            }
        }.start()
    }

    func target() async -> any DeliveryTarget {
        for await target in started { return target }
        fatalError("the thread has ended")
    }

    func stop() {
        isStopped.store(true, ordering: .releasing)
        keeper.withLock { $0.take() }?.cancel()
    }
}
