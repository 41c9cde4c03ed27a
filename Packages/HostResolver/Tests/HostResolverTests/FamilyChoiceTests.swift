import Glibc
import Testing

@testable import HostResolver

/// HR-021: families of which this machine has no address are omitted, but never all of them.
@Suite struct FamilyChoiceTests {
    // Parity: HR-021
    @Test(
        arguments: [
            (.all, .all, .all, []),
            (.all, .v4, .v4, .v6),
            (.all, .v6, .v6, .v4),
            (.all, [], .all, []),
            (.v4, .v6, .v4, []),
            (.v6, .v4, .v6, []),
            (.v6, .all, .v6, []),
        ] as [(AddressFamilies, AddressFamilies, AddressFamilies, AddressFamilies)])
    func omitsFamiliesWithoutAddresses(
        wanted: AddressFamilies, configured: AddressFamilies, first: AddressFamilies, fallback: AddressFamilies
    ) {
        let choice = FamilyChoice(wanted: wanted, configured: configured)
        #expect(choice.first == first)
        #expect(choice.fallback == fallback)
    }

    @Test(arguments: [(.v4, "a.example4"), (.v6, "a.example6"), ([], "a.example")] as [(AddressFamilies, String)])
    func looksUpTheMachinesFamiliesOnly(configured: AddressFamilies, call: String) async throws {
        let system = HeldSystem(configured: configured)
        let answer = [IPAddress("192.0.2.1")!]
        system.release(.success(answer))
        #expect(try await system.resolver.addresses(of: "a.example") == answer)
        #expect(system.calls == [call])
    }

    // Parity: HR-021
    @Test(arguments: [ResolverError.Code.noData, .hostNotFound])
    func findsAHostWithTheOmittedFamilyOnly(code: ResolverError.Code) async throws {
        let answer = [IPAddress("2001:db8::1")!]
        let system = HeldSystem(configured: .v4)
        system.release(.failure(ResolverError(code)), for: "a.example4")
        system.release(.success(answer))
        #expect(try await system.resolver.addresses(of: "a.example") == answer)
        #expect(system.calls == ["a.example4", "a.example6"])
    }

    @Test func aServerFailureDoesNotTryTheOmittedFamily() async throws {
        let system = HeldSystem(configured: .v4)
        system.release(.failure(ResolverError(.temporaryFailure)))
        await #expect(throws: ResolverError(.temporaryFailure, name: "a.example")) {
            try await system.resolver.addresses(of: "a.example")
        }
        #expect(system.calls == ["a.example4"])
    }

    @Test func anOmittedFamilyHasNoBatchOfItsOwn() async throws {
        let system = HeldSystem(configured: .v4)
        let answer = [IPAddress("192.0.2.1")!]
        system.release(.success(answer))
        var batches: [AddressBatch] = []
        for try await batch in system.resolver.addressBatches(of: try HostName("a.example")) { batches.append(batch) }
        #expect(batches == [AddressBatch(answer, families: .all)])
        #expect(system.calls == ["a.example4"])
    }

    /// A request for one family is the caller's own choice, whatever addresses the machine has.
    @Test func aSingleRequestedFamilyIsNeverOmitted() async throws {
        let system = HeldSystem(configured: .v4)
        let answer = [IPAddress("2001:db8::1")!]
        system.release(.success(answer))
        let request = AddressRequest(try HostName("a.example"), families: .v6)
        #expect(try await system.resolver.addresses(request) == answer)
        #expect(system.calls == ["a.example6"])
    }
}
