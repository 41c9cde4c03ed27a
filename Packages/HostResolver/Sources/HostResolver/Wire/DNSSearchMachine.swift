internal import DNSWire
internal import EventLoops
internal import Glibc

/// The search for a short name: the candidates of the search list, one after another (resolv.conf(5), `search`).
struct DNSSearchMachine {
    /// The current name to look up; nil after the last one.
    private(set) var current: DNSName?

    private var rest: ArraySlice<DNSName>
    private let name: String
    private var failure: ResolverError?

    init(_ host: HostName, configuration: ResolverConfiguration) {
        rest = configuration.candidates(for: host)[...]
        name = host.description
        current = rest.popFirst()
    }

    /// Accepts the failure of the current name and advances; true if there is another name to try.
    mutating func failed(_ error: ResolverError) -> Bool {
        if Self.weight(error) > (failure.map(Self.weight) ?? -1) { failure = error }
        // A server that failed or gave a malformed answer for one zone may know another. A timeout would only happen again with the next
        // name.
        let goesOn = [.hostNotFound, .noData, .serverFailed, .malformedAnswer].contains(error.code)
        current = goesOn ? rest.popFirst() : nil
        return current != nil
    }

    /// The error of the whole search, with the original name.
    var result: ResolverError {
        (failure ?? ResolverError(.hostNotFound)).about(name)
    }

    /// The rank of an error: "no such record" for one candidate is more informative than "no such name" for another,
    /// and a server's failure more than both.
    private static func weight(_ error: ResolverError) -> Int {
        switch error.code {
        case .hostNotFound: 0
        case .noData: 1
        default: 2
        }
    }
}

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

    /// Queries each family. If the request allows it, delivers each family's addresses as soon as they arrive; otherwise the time for the
    /// second family begins then.
    private nonisolated(nonsending) func ask(_ name: DNSName) async -> [FamilyAnswer] {
        let families = [AddressFamilies.v6, .v4].filter { request.families.contains($0) }
        // Nil when the time is over.
        return await withTaskGroup(of: FamilyAnswer?.self) { group in
            for family in families {
                group.addTask { (family, await addresses(family, of: name)) }
            }
            var answers: [FamilyAnswer] = []
            while answers.count < families.count, let next = await group.next() {
                guard let answer = next else {
                    group.cancelAll()
                    continue
                }
                answers.append(answer)
                guard case .success = answer.result else { continue }
                if request.delivery == .asTheyCome {
                    delivery.receive(answer.result.map(Self.sorted), for: answer.family)
                } else if answers.count < families.count {
                    group.addTask {
                        try? await EventLoop.shared.sleep(for: resolver.secondFamilyTime)
                        return nil
                    }
                }
            }
            group.cancelAll()
            return answers
        }
    }

    private nonisolated(nonsending) func addresses(
        _ family: AddressFamilies, of name: DNSName
    ) async -> Result<[IPAddress], ResolverError> {
        do throws(ResolverError) {
            let answer = try await resolver.records(
                family == .v4 ? .a : .aaaa, of: name, until: request.deadline)
            var found = UniqueAddresses()
            found.append(answer.records.lazy.compactMap(\.data.address), upTo: UniqueAddresses.maximumPerFamily)
            return .success(found.all)
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
        guard addresses.count > 1 else { return addresses }
        return AddressSorting(policy: .system)
            .sorted(addresses.map { AddressSorting.Destination($0, source: SourceAddress.source(to: $0)) })
    }
}

/// A ``WireResolver``'s lookup of names.
struct NameSearch: Sendable {
    let resolver: WireResolver
    let subject: NameQuery
    let hosts: HostsFile
    let deadline: ContinuousClock.Instant

    /// Returns the names, the canonical name first.
    nonisolated(nonsending) func names() async -> Result<[String], ResolverError> {
        do throws(ResolverError) {
            switch subject {
            case .address(let address): return .success(try await names(of: address))
            case .host(let name): return .success(try await mainName(of: name))
            }
        } catch {
            return .failure(error.about(subject.description))
        }
    }

    private nonisolated(nonsending) func names(of address: IPAddress) async throws(ResolverError) -> [String] {
        let known = hosts.names(of: address)
        if !known.isEmpty { return known }
        let answer = try await resolver.records(.ptr, of: DNSName(reverse: address), until: deadline)
        let names = answer.records.compactMap { record -> String? in
            if case .ptr(let name) = record.data { HostEntry.validated(name.description) } else { nil }
        }
        guard !names.isEmpty else { throw ResolverError(.noData, servers: answer.servers) }
        return names
    }

    private nonisolated(nonsending) func mainName(of name: HostName) async throws(ResolverError) -> [String] {
        if let address = name.address { return try await names(of: address) }
        if let address = hosts.addresses(of: name.ascii).first, let main = hosts.names(of: address).first {
            return main == name.ascii ? [main] : [main, name.ascii]
        }
        var search = DNSSearchMachine(name, configuration: resolver.client.configuration)
        while let candidate = search.current {
            do throws(ResolverError) {
                let answer = try await anyAddress(of: candidate)
                let main = HostEntry.validated(answer.canonicalName.description) ?? name.ascii
                return main == name.ascii ? [main] : [main, name.ascii]
            } catch {
                if error.code == .cancelled || !search.failed(error) { break }
            }
        }
        throw search.result
    }

    /// Returns an answer with addresses of either family: both show the aliases of the name.
    private nonisolated(nonsending) func anyAddress(of name: DNSName) async throws(ResolverError) -> DNSAnswer {
        do throws(ResolverError) {
            return try await resolver.records(.a, of: name, until: deadline)
        } catch  where error.code == .noData {
            return try await resolver.records(.aaaa, of: name, until: deadline)
        }
    }
}

/// The kernel's choice of source address for a destination.
private enum SourceAddress {
    /// The source address that the kernel would use; nil if there is no route.
    ///
    /// Connects a datagram socket, which sends nothing, and reads the socket's own address. The port is arbitrary.
    static func source(to destination: IPAddress) -> IPAddress? {
        let address = SocketAddress.ip(destination, port: 9)
        let descriptor = socket(address.family, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard address.withSockAddr({ connect(descriptor, $0, $1) }) == 0 else { return nil }
        return SocketAddress.local(of: descriptor)?.ipAddress
    }
}
