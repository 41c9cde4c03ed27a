import EventLoops
import Glibc
import Testing

@testable import StreamKit

/// Socket events deliver everything they take from the kernel, and take only what they will deliver.
@Suite(.timeLimit(.minutes(5))) struct SocketDeliveryTests {
    enum Ending: CaseIterable { case unscheduled, clientRemoved, disabled, invalidated }

    /// A client that ends delivery in the middle of a turn with further events.
    @Test(arguments: Ending.allCases)
    func noEventFollowsTheEndAndNothingIsLost(_ ending: Ending) throws {
        let (near, far) = try Socket.pair(.datagram)
        let target = SteppedTarget()
        let delivered = Locked<[[UInt8]]>([])
        try near.setClient([.data]) { socket, event in
            if case .data(let message) = event { delivered.withLock { $0.append(message.bytes) } }
            switch ending {
            case .unscheduled: socket.unschedule(from: target)
            case .clientRemoved: try? socket.setClient([], nil)
            case .disabled: socket.disable(.data)
            case .invalidated: socket.invalidate()
            }
        }
        near.schedule(on: target)
        for number in 1...3 { #expect(try far.trySend([UInt8(number)].span.bytes) == 1) }
        near.enable(.data)  // looks, so that the test does not depend on the loop
        while target.turn() {}
        #expect(delivered.withLock { $0 } == [[1]])
        if ending != .invalidated {
            #expect(try near.tryReceive(upTo: 10)?.bytes == [2])
            #expect(try near.tryReceive(upTo: 10)?.bytes == [3])
        }
        near.invalidate()
        far.invalidate()
    }

    /// A socket whose loop has ended cannot be watched: its client is notified once, and the target stays idle.
    @Test func unwatchableSocketReportsOnce() async throws {
        let loop = try await EventLoop.ended()
        let (near, far) = try Socket.pair(.datagram, loop: loop)
        let target = SteppedTarget()
        let delivered = Locked<[StreamError]>([])
        func turns() -> Int {
            var count = 0
            while count < 100, target.turn() { count += 1 }
            return count
        }
        for clients in 1...2 {
            try near.setClient([.data]) { _, event in
                if case .failed(let error) = event { delivered.withLock { $0.append(error) } }
            }
            near.schedule(on: target)
            #expect(turns() < 100)
            near.enable(.data)
            #expect(turns() < 100)
            #expect(delivered.withLock { $0.count } == clients)
        }
        #expect(delivered.withLock { $0 }.allSatisfy { $0.isPOSIX(ESHUTDOWN) })
        for socket in [near, far] { socket.invalidate() }
    }
}
