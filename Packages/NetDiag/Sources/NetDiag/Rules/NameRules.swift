/// Findings about names and name servers.
enum NameRules {
    static func findings(_ facts: LadderFacts, _ target: DiagnosisTarget) -> [Finding] {
        guard let name = target.firstHost, target.firstLiteral == nil else { return [] }
        let host = PublicText.of(name)
        let evidence = evidence(facts)
        switch facts.lookup {
        case nil: return []
        case .success(let addresses):
            let broken =
                blocked(facts, host, addresses, evidence) ?? staleEntry(facts, host, addresses, evidence)
                ?? wrongAddress(facts, host, addresses, evidence) ?? invented(facts, target, host, addresses, evidence)
            return [broken].compactMap(\.self) + badServers(facts, evidence)
                + inventingServers(facts, addresses, evidence)
        case .failure(let error):
            return [cause(of: error, facts, host, [PublicText.of("\(error)")] + evidence)]
        }
    }

    private static func evidence(_ facts: LadderFacts) -> [String] {
        facts.nameServers.keys.sorted { "\($0)" < "\($1)" }.map { server in
            let udp = facts.nameServers[server].map { describe($0) } ?? "not queried"
            let tcp = facts.nameServersByTCP[server].map { "; over TCP: \(describe($0))" } ?? ""
            return "name server \(displayName(server)): \(udp)\(tcp)"
        }
    }

    // MARK: No address

    /// Why the lookup of a name failed.
    private static func cause(
        of error: ResolverError, _ facts: LadderFacts, _ host: String, _ evidence: [String]
    ) -> Finding {
        func finding(_ code: FindingCode, _ sentence: Sentence) -> Finding {
            Finding(code, .failure, sentence, evidence: evidence)
        }
        if error.code == .invalidName {
            return finding(.nameUnknown, .nameLookupFailed(host, PublicText.of("\(error)")))
        }
        let answers = Array(facts.nameServers.values)
        let byTCP = Array(facts.nameServersByTCP.values)
        if facts.environment?.nameServers.isEmpty == true { return finding(.noNameServers, .noNameServers) }
        // A server's answer counts more than the silence of others.
        if answers.contains(.noSuchName) || (answers.isEmpty && error.code == .hostNotFound) {
            return finding(.nameUnknown, .nameUnknown(host))
        }
        if answers.contains(.noAddress) || (answers.isEmpty && error.code == .noData) {
            return finding(.nameWithoutAddress, .nameWithoutAddress(host))
        }
        let reasons = facts.nameServers.map { "\(displayName($0.key)) (\(describe($0.value)))" }.sorted()
            .joined(separator: ", ")
        let names = facts.nameServers.keys.map { displayName($0) }.sorted().joined(separator: ", ")
        if answers.isEmpty || answers.contains(where: isAddresses) {
            return finding(.nameLookupFailed, .nameLookupFailed(host, PublicText.of("\(error)")))
        }
        if answers.contains(.truncated)
            || (answers.contains(.silent) && facts.nonexistentNameAnswers.values.contains(where: hasAnswered))
        {
            return finding(.nameServersOnlyUDP, .nameServersOnlyUDP(names))
        }
        if byTCP.contains(where: hasAnswered) { return finding(.nameServersOnlyTCP, .nameServersOnlyTCP(names)) }
        if answers.allSatisfy({ $0 == .silent }) { return finding(.nameServersSilent, .nameServersSilent(names)) }
        if answers.contains(.refused), answers.allSatisfy({ $0 == .refused || $0 == .silent }) {
            return finding(.nameServersRefuse, .nameServersRefuse(reasons))
        }
        if facts.environment?.isFallbackServer == true { return finding(.noNameServers, .noNameServers) }
        return finding(.nameServersFail, .nameServersFail(reasons))
    }

    // MARK: The wrong address

    /// The name was blocked: it resolves to an unusable address.
    private static func blocked(
        _ facts: LadderFacts, _ host: String, _ addresses: [IPAddress], _ evidence: [String]
    ) -> Finding? {
        guard let first = addresses.first, facts.connected.isEmpty, host.contains("."),
            addresses.allSatisfy({ $0.isAny || $0.isLoopback }), !host.lowercased().hasSuffix("localhost")
        else { return nil }
        let isFromFile = facts.environment?.hostsEntry.contains(first) == true
        let source = isFromFile ? "hosts file: \(first)" : "name servers: \(first)"
        return Finding(.nameBlocked, .failure, .nameBlocked(host, "\(first)"), evidence: [source] + evidence)
    }

    /// The hosts file overrides the name servers with addresses that do not work.
    private static func staleEntry(
        _ facts: LadderFacts, _ host: String, _ addresses: [IPAddress], _ evidence: [String]
    ) -> Finding? {
        guard let entry = facts.environment?.hostsEntry, !entry.isEmpty, Set(addresses).isSubset(of: entry) else {
            return nil
        }
        let isBroken = !facts.connections.isEmpty && facts.connected.isEmpty
        let works = facts.alternatives.contains { $0.value.isSuccess }
        guard isBroken || works else { return nil }
        let served = servedAddresses(facts)
        guard !served.isEmpty, Set(served).isDisjoint(with: entry) else { return nil }
        return Finding(
            .hostsEntryStale, .failure, .hostsEntryStale(host, list(entry), list(served)), evidence: evidence)
    }

    /// The resolved addresses do not work, and an address from a name server does.
    private static func wrongAddress(
        _ facts: LadderFacts, _ host: String, _ addresses: [IPAddress], _ evidence: [String]
    ) -> Finding? {
        let right = facts.alternatives.filter(\.value.isSuccess).keys.compactMap(\.ipAddress)
        guard !right.isEmpty else { return nil }
        return Finding(
            .nameServerLies, .failure, .nameServerLies(host, list(addresses), list(right)), evidence: evidence)
    }

    /// The addresses are the same as for names that do not exist, and no certificate proves that they are right.
    private static func invented(
        _ facts: LadderFacts, _ target: DiagnosisTarget, _ host: String, _ addresses: [IPAddress], _ evidence: [String]
    ) -> Finding? {
        let invented = Set(facts.nonexistentNameAnswers.values.flatMap(answeredAddresses))
        guard !addresses.isEmpty, Set(addresses).isSubset(of: invented),
            facts.environment?.hostsEntry.isEmpty != false,
            // Developers let all names of a domain resolve to their own machine.
            !addresses.allSatisfy(\.isLoopback)
        else { return nil }
        // A verified certificate proves the name.
        if target.isSecure, let outcome = facts.service?.1, outcome.isSuccess { return nil }
        return Finding(.nameInvented, .failure, .nameInvented(host, list(addresses)), evidence: evidence)
    }

    // MARK: Remarks

    /// Name servers that do not work, beside others that do.
    private static func badServers(_ facts: LadderFacts, _ evidence: [String]) -> [Finding] {
        facts.nameServers.sorted { "\($0.key)" < "\($1.key)" }.compactMap { server, answer in
            switch answer {
            case .silent, .refused, .truncated, .failed:
                let byTCP = facts.nameServersByTCP[server].map { hasAnswered($0) ? "; TCP works" : "" } ?? ""
                return Finding(
                    .nameServerBad, .warning, .nameServerBad(displayName(server), describe(answer) + byTCP),
                    evidence: evidence)
            case .addresses, .noSuchName, .noAddress: return nil
            }
        }
    }

    private static func inventingServers(_ facts: LadderFacts, _ addresses: [IPAddress], _ evidence: [String])
        -> [Finding]
    {
        facts.nonexistentNameAnswers.sorted { "\($0.key)" < "\($1.key)" }.compactMap { server, answer in
            let found = answeredAddresses(answer)
            guard !found.isEmpty, !found.allSatisfy(\.isLoopback), !Set(addresses).isSubset(of: found) else {
                return nil
            }
            return Finding(
                .nameServerInvents, .note, .nameServerInvents(displayName(server), list(found)), evidence: evidence)
        }
    }

    // MARK: Answers

    private static func servedAddresses(_ facts: LadderFacts) -> [IPAddress] {
        (Array(facts.nameServers.values) + Array(facts.nameServersByTCP.values)).flatMap(answeredAddresses)
    }

    private static func answeredAddresses(_ answer: NameServerAnswer) -> [IPAddress] {
        if case .addresses(let found) = answer { found } else { [] }
    }

    private static func isAddresses(_ answer: NameServerAnswer) -> Bool { !answeredAddresses(answer).isEmpty }

    /// Whether the server itself answered.
    private static func hasAnswered(_ answer: NameServerAnswer) -> Bool {
        switch answer {
        case .addresses, .noSuchName, .noAddress, .refused: true
        case .silent, .truncated, .failed: false
        }
    }

    private static func list(_ addresses: [IPAddress]) -> String {
        Set(addresses.map(\.description)).sorted().joined(separator: ", ")
    }

    /// The address of a name server, without the default port 53.
    private static func displayName(_ server: SocketAddress) -> String {
        if case .ip(let address, 53) = server { "\(address)" } else { "\(server)" }
    }

    private static func describe(_ answer: NameServerAnswer) -> String {
        switch answer {
        case .addresses(let found): list(found)
        case .noSuchName: "no such name"
        case .noAddress: "no address"
        case .silent: "no answer"
        case .refused: "REFUSED"
        case .truncated: "truncated answer, and TCP failed"
        case .failed(let reason): PublicText.of(reason)
        }
    }
}
