/// Names and name servers.
enum NameRules {
    static func findings(_ facts: LadderFacts, _ target: DiagnosisTarget) -> [Finding] {
        guard let host = target.host, target.literal == nil else { return [] }
        let evidence = facts.nameServers.map { "\($0.key): \(describe($0.value))" }.sorted()
        switch facts.lookup {
        case nil: return []
        case .success(let addresses):
            return staleEntry(facts, host, addresses, evidence) + badServers(facts, evidence)
        case .failure(let error):
            return [cause(of: error, facts, host, ["\(error)"] + evidence)]
        }
    }

    /// Why a name was not found.
    private static func cause(
        of error: ResolverError, _ facts: LadderFacts, _ host: String, _ evidence: [String]
    ) -> Finding {
        if error.code == .invalidName {
            return Finding(.nameUnknown, .failure, .nameLookupFailed(host, "\(error)"), evidence: evidence)
        }
        let answers = Array(facts.nameServers.values)
        if let servers = facts.surroundings?.nameServers, servers.isEmpty {
            return Finding(.noNameServers, .failure, .noNameServers, evidence: evidence)
        }
        let names = facts.nameServers.keys.map { place($0) }.sorted().joined(separator: ", ")
        // Whoever answers counts for more than who does not.
        if answers.contains(.noSuchName) || (answers.isEmpty && error.code == .hostNotFound) {
            return Finding(.nameUnknown, .failure, .nameUnknown(host), evidence: evidence)
        }
        if answers.contains(.noAddress) || (answers.isEmpty && error.code == .noData) {
            return Finding(.nameWithoutAddress, .failure, .nameWithoutAddress(host), evidence: evidence)
        }
        if !answers.isEmpty, answers.allSatisfy({ $0 == .silent }) {
            return Finding(.nameServersSilent, .failure, .nameServersSilent(names), evidence: evidence)
        }
        if !answers.isEmpty, answers.allSatisfy({ if case .addresses = $0 { false } else { true } }) {
            return Finding(.nameServersFail, .failure, .nameServersFail(names), evidence: evidence)
        }
        return Finding(.nameLookupFailed, .failure, .nameLookupFailed(host, "\(error)"), evidence: evidence)
    }

    /// Servers that do not work, beside others that do.
    private static func badServers(_ facts: LadderFacts, _ evidence: [String]) -> [Finding] {
        facts.nameServers.sorted { "\($0.key)" < "\($1.key)" }.compactMap { server, answer in
            switch answer {
            case .silent, .failed:
                Finding(.nameServerBad, .warning, .nameServerBad(place(server), describe(answer)), evidence: evidence)
            case .addresses, .noSuchName, .noAddress: nil
            }
        }
    }

    /// The hosts file overrides the name servers, and what it says does not work.
    private static func staleEntry(
        _ facts: LadderFacts, _ host: String, _ addresses: [IPAddress], _ evidence: [String]
    ) -> [Finding] {
        guard let entry = facts.surroundings?.hostsEntry, !entry.isEmpty, Set(addresses).isSubset(of: entry),
            !facts.connections.isEmpty, facts.connected.isEmpty
        else { return [] }
        let served = facts.nameServers.values.flatMap {
            if case .addresses(let found) = $0 { found } else { [IPAddress]() }
        }
        guard !served.isEmpty, Set(served).isDisjoint(with: entry) else { return [] }
        return [
            Finding(
                .hostsEntryStale, .failure,
                .hostsEntryStale(host, list(entry), list(Array(Set(served)))), evidence: evidence)
        ]
    }

    private static func list(_ addresses: [IPAddress]) -> String {
        addresses.map(\.description).sorted().joined(separator: ", ")
    }

    /// Without the port that every name server has.
    private static func place(_ server: SocketAddress) -> String {
        if case .ip(let address, 53) = server { "\(address)" } else { "\(server)" }
    }

    private static func describe(_ answer: NameServerAnswer) -> String {
        switch answer {
        case .addresses(let found): list(found)
        case .noSuchName: "no such name"
        case .noAddress: "no address"
        case .silent: "no answer"
        case .failed(let reason): reason
        }
    }
}
