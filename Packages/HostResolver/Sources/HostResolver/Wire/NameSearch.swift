/// A ``WireResolver``'s lookup of names.
struct NameSearch: Sendable {
    let resolver: WireResolver
    let subject: NameSubject
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
