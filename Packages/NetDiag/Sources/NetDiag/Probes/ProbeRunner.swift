/// Carries probes out. Sends nothing to anybody but the target, its name servers and the way to it, and changes nothing.
struct ProbeRunner: Sendable {
    let target: DiagnosisTarget
    let options: NetDiagnostic.Options

    func run(_ probe: Probe) async -> ProbeResult {
        switch probe {
        case .surroundings: surroundings()
        case .route(let address): .route(address, (try? Route.to(address)) ?? nil)
        case .lookup(let name): .lookup(await lookup(name))
        case .nameServer(let server, let name): .nameServer(server, await ask(server, name))
        case .connect(let address): .connect(address, await connect(address))
        case .neighbors: .neighbors((try? NetworkSnapshot.current().neighbors) ?? [])
        case .talk(let address): .talk(address, await Talk(target: target, options: options).run(at: address))
        }
    }

    private func surroundings() -> ProbeResult {
        do throws(ResolverError) {
            return .surroundings(
                Surroundings(
                    network: try NetworkSnapshot.current(),
                    nameServers: options.nameServers ?? ResolverConfiguration.system.servers,
                    hostsEntry: target.host.map { HostsFile.system.addresses(of: $0) } ?? []))
        } catch {
            return .surroundingsUnknown(error)
        }
    }

    private func lookup(_ name: String) async -> Result<[IPAddress], ResolverError> {
        do throws(ResolverError) {
            return .success(try await options.resolver.addresses(of: name, until: .now + options.lookupLimit))
        } catch {
            return .failure(error)
        }
    }

    /// Asks one name server for both kinds of addresses; exactly this name, without search domains.
    private func ask(_ server: SocketAddress, _ name: String) async -> NameServerAnswer {
        var configuration = ResolverConfiguration(servers: [server])
        configuration.timeout = options.nameServerLimit / 2
        configuration.attempts = 2
        let resolver = WireResolver(configuration: configuration, hosts: HostsFile(parsing: ""))
        async let six = records(.aaaa, of: name, by: resolver)
        let four = await records(.a, of: name, by: resolver)
        return NameServerAnswer(four, await six)
    }

    private func records(
        _ type: DNSRecordType, of name: String, by resolver: WireResolver
    ) async -> Result<[IPAddress], ResolverError> {
        do throws(ResolverError) {
            let answer = try await resolver.records(type, of: name, until: .now + options.nameServerLimit)
            return .success(
                answer.records.compactMap { record in
                    switch record.data {
                    case .a(let address): .v4(address)
                    case .aaaa(let address): .v6(address)
                    default: nil
                    }
                })
        } catch {
            return .failure(error)
        }
    }

    /// Nil once connected; the connection is closed again.
    private func connect(_ address: SocketAddress) async -> StreamError? {
        let pair = StreamPair(address: address)
        defer { pair.close() }
        do throws(StreamError) {
            try pair.set(.openLimit, to: options.connectionLimit)
            try pair.open()
            try await pair.output.opened()
            return nil
        } catch {
            return error
        }
    }
}

extension NameServerAnswer {
    /// What the answers for both address families together say.
    init(_ four: Result<[IPAddress], ResolverError>, _ six: Result<[IPAddress], ResolverError>) {
        var found: [IPAddress] = []
        var failures: [ResolverError] = []
        for result in [four, six] {
            switch result {
            case .success(let addresses): found += addresses
            case .failure(let error): failures.append(error)
            }
        }
        if !found.isEmpty {
            self = .addresses(found)
        } else if failures.contains(where: { $0.code == .hostNotFound }) {
            self = .noSuchName
        } else if failures.isEmpty || failures.contains(where: { $0.code == .noData }) {
            self = .noAddress
        } else if failures.allSatisfy({ $0.code == .timedOut || NameServerAnswer.timedOut($0) }) {
            self = .silent
        } else {
            self = .failed(failures[0].servers.first?.result.rawValue ?? failures[0].description)
        }
    }

    private static func timedOut(_ error: ResolverError) -> Bool {
        !error.servers.isEmpty && error.servers.allSatisfy { $0.result == .timedOut }
    }
}
