import StreamKit
import StreamKitTesting
import Testing

@Suite(.serialized) struct ByteStreamContractTests {
    @Test(
        "SK-023…SK-039, SK-070…SK-084: the contract holds", .timeLimit(.minutes(3)),
        arguments: PipeKind.allCases, ByteStreamRule.allCases)
    func contractHolds(_ kind: PipeKind, _ rule: ByteStreamRule) async throws {
        // A borrowed descriptor outlives its streams, so releasing them ends nothing.
        if kind.isBorrowed, rule == .droppingCloses { return }
        try await ByteStreamContract { try await kind.make() }.check(rule)
    }
}
