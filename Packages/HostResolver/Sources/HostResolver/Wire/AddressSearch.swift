/// A ``WireResolver``'s lookup of addresses: the names of the search list in turn, both families of each at once.
struct AddressSearch: Sendable {
    let resolver: WireResolver
    let request: AddressRequest
    let delivery: AddressDelivery

    private typealias FamilyAnswer = (family: AddressFamilies, result: Result<[IPAddress], ResolverError>)

    /// Queries one name after another until one has addresses, and delivers these.
    nonisolated(nonsending) func run() async {
        var search = DNSSearchMachine(request.name, configuration: resolver.client.configuration)
        while let name = search.current {
            let answers = await ask(name)
            guard !Task.isCancelled else { return }
            let failures = answers.compactMap { answer in
                if case .failure(let error) = answer.result { error } else { nil }
            }
            // One family with addresses settles the name: no other name is tried for the family without.
            if failures.count < answers.count {
                deliver(answers)
                return
            }
            let failure = failures.reduce(nil as ResolverError?) { AddressDelivery.moreInformative($0, $1) }
            guard search.failed(failure ?? ResolverError(.noData)) else { break }
        }
        delivery.receive(.failure(search.result), for: request.families)
    }

    /// Queries each family. If the request allows it, delivers each family's addresses as soon as they arrive.
    private nonisolated(nonsending) func ask(_ name: DNSName) async -> [FamilyAnswer] {
        let families = [AddressFamilies.v6, .v4].filter { request.families.contains($0) }
        return await withTaskGroup(of: FamilyAnswer.self) { group in
            for family in families {
                group.addTask { (family, await addresses(family, of: name)) }
            }
            var answers: [FamilyAnswer] = []
            for await answer in group {
                answers.append(answer)
                if request.delivery == .asTheyCome, case .success = answer.result {
                    delivery.receive(answer.result.map(Self.sorted), for: answer.family)
                }
            }
            return answers
        }
    }

    private nonisolated(nonsending) func addresses(
        _ family: AddressFamilies, of name: DNSName
    ) async -> Result<[IPAddress], ResolverError> {
        do throws(ResolverError) {
            let answer = try await resolver.records(
                family == .v4 ? .a : .aaaa, of: name, until: request.deadline)
            return .success(answer.records.compactMap(\.data.address))
        } catch {
            return .failure(error)
        }
    }

    private func deliver(_ answers: [FamilyAnswer]) {
        if request.delivery == .asTheyCome {
            for case (let family, .failure(let error)) in answers { delivery.receive(.failure(error), for: family) }
            return
        }
        let all = answers.flatMap { (try? $0.result.get()) ?? [] }
        delivery.receive(.success(Self.sorted(all)), for: request.families)
    }

    private static func sorted(_ addresses: [IPAddress]) -> [IPAddress] {
        var unique: [IPAddress] = []
        for address in addresses where !unique.contains(address) { unique.append(address) }
        guard unique.count > 1 else { return unique }
        return AddressSorting(policy: .system)
            .sorted(unique.map { AddressSorting.Destination($0, source: SourceAddress.source(to: $0)) })
    }
}
