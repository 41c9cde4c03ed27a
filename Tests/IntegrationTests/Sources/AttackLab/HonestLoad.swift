internal import Foundation
internal import NetKit
internal import Synchronization

/// Requests that are independent of the attack, one after the other on the same loop.
final class HonestLoad: Sendable {
    /// The time limit of one request in the lab; in the small version of a row, a limit that only ends a hang.
    private static let limits = (lab: Duration.seconds(5), small: Duration.seconds(60))
    /// The pause between two requests, which keeps the load on the machine low.
    private static let rest = Duration.milliseconds(10)

    private let url: URL
    private let tls: TLSConfiguration?
    private let limit: Duration
    private let pool = HTTPConnectionPool()
    private let isOver = Atomic<Bool>(false)
    private let results = Locked<(count: Int, failure: String?)>((0, nil))

    /// - Parameter isSmall: whether the row is the small version, in which nothing depends on the speed of the machine.
    init(_ url: URL, tls: TLSConfiguration?, isSmall: Bool) {
        self.url = url
        self.tls = tls
        limit = isSmall ? Self.limits.small : Self.limits.lab
    }

    /// The number of successful requests, and the first error.
    var outcome: (count: Int, failure: String?) { results.withLock { $0 } }

    /// Makes one request.
    func request() async throws(StreamError) {
        let stream = try ReadStream(httpURL: url)
        if let tls { try stream.set(.tls, to: tls) }
        try stream.set(.http(\.keepsConnection), to: true)
        try stream.set(.http(\.pool), to: pool)
        try stream.set(.http(\.totalTimeout), to: limit)
        defer { stream.close() }
        try stream.open()
        let body = try await stream.readAll(limit: 1 << 20)
        guard body.count == HostileProcess.honestBodySize else { throw .closed }
    }

    /// Makes requests until ``stop()`` is called.
    func run() async {
        while !isOver.load(ordering: .acquiring) {
            do throws(StreamError) {
                try await request()
                results.withLock { $0.count += 1 }
            } catch {
                results.withLock { $0.failure = $0.failure ?? "\(error)" }
            }
            // Not by the system's timers, which need descriptors.
            try? await EventLoop.shared.sleep(for: Self.rest)
        }
    }

    func stop() {
        isOver.store(true, ordering: .releasing)
    }
}
