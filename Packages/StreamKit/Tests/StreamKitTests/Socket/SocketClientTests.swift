import EventLoops
import Testing

@testable import StreamKit
@testable import StreamSockets

/// What happens between taking something from the kernel and calling the client.
struct SocketClientTests {
    /// A target that calls nothing by itself.
    private struct StillTarget: DeliveryTarget {
        private final class Signal: DeliverySignal {
            func signal() {}
            func cancel() {}
        }

        func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal { Signal() }
        func isSame(as other: any DeliveryTarget) -> Bool { other is StillTarget }
    }

    enum Meanwhile: CaseIterable {
        case removesTheClient, unschedules, replacesTheClient
    }

    /// The bytes are gone from the kernel: without the call they would be lost.
    @Test(arguments: Meanwhile.allCases)
    func whatWasTakenIsDeliveredThoughTheClientGoesMeanwhile(_ meanwhile: Meanwhile) async throws {
        let (left, right) = try Socket.pair()
        defer { [left, right].forEach { $0.invalidate() } }
        let received = Locked<[[UInt8]]>([])
        try left.setClient([.data]) { _, event in
            if case .data(let message) = event { received.withLock { $0.append(message.bytes) } }
        }
        left.schedule(on: StillTarget())
        try await right.sendAll([1, 2])
        left.eventClient.deliver(left, on: StillTarget()) { kind in
            defer {
                switch meanwhile {
                case .removesTheClient: try? left.setClient([], nil)
                case .unschedules: left.unschedule(from: StillTarget())
                case .replacesTheClient: try? left.setClient([.data]) { _, _ in Issue.record("it is another's event") }
                }
            }
            return left.takeEvent(of: kind)
        }
        #expect(received.withLock { $0 } == [[1, 2]])
    }

    /// After the client has gone, nothing is taken for it.
    @Test func nothingIsTakenForAClientThatHasGone() async throws {
        let (left, right) = try Socket.pair()
        defer { [left, right].forEach { $0.invalidate() } }
        try left.setClient([.data]) { _, _ in Issue.record("it is not scheduled") }
        left.schedule(on: StillTarget())
        try await right.sendAll([1, 2])
        left.unschedule(from: StillTarget())
        left.eventClient.deliver(left, on: StillTarget()) { kind in
            Issue.record("\(kind) is taken")
            return left.takeEvent(of: kind)
        }
        #expect(try await left.receive(upTo: 10).bytes == [1, 2])
    }
}
