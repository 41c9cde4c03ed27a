import Foundation
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// Many requests of many callers, to a server that ends its connections in every way in which a server may.
///
/// Row 12k of `Scripts/bench` sends a million of them, also to nginx and to ``HTTPServer``. `NETKIT_REQUESTS` is the number of requests here, for
/// a run by hand.
@Suite(.timeLimit(.minutes(180))) struct HTTP2NoLossTests {
    private static let requestCount = ProcessInfo.processInfo.environment["NETKIT_REQUESTS"].flatMap { Int($0) } ?? 4000

    @Test(
        "64 callers of all kinds lose no request at a server that ends each connection, and none that is not idempotent is processed twice",
        arguments: [false, true])
    func noneLost(allIdempotent: Bool) async throws {
        let count = Self.requestCount
        let harsh = HarshServer(count: count, allIdempotent: allIdempotent)
        let server = HTTP2Peer(isRecorded: false, harsh.handler)
        let crowd = RequestCrowd(count: count, allIdempotent: allIdempotent) { try server.stream($0, $1, body: $2) }
        let failed = await crowd.run()
        let isLossless = failed.isEmpty
        #expect(isLossless, "\(failed.count) failed; \(failed.prefix(3).joined(separator: "\n"))")
        let (processed, endings) = (harsh.processed, harsh.endings)
        #expect((1...count).allSatisfy { processed[$0] > 0 })
        #expect((1...count).allSatisfy { crowd.isIdempotent($0) || processed[$0] == 1 })
        #expect(endings.allSatisfy { $0 > 0 }, "\(endings)")
    }
}
