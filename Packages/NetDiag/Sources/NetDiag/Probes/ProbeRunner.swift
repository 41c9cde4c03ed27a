internal import DNSWire
internal import Glibc

/// Runs probes. It contacts only the target, its proxy, the name servers and the routers on the path, and changes nothing.
struct ProbeRunner: Sendable {
    let target: DiagnosisTarget
    let options: NetDiagnostic.Options
    let randomLabel: String

    func run(_ scheduled: LadderMachine.ScheduledProbe) async -> ProbeResult {
        let deadline = scheduled.deadline
        switch scheduled.probe {
        case .environment: return environment()
        case .route(let address): return .route((try? Route.to(address)) ?? nil)
        case .lookup(let name): return .lookup(await lookup(name, deadline))
        case .nameServer(let server, let name, let transport):
            return .name(await ask(server, name, transport, deadline))
        case .nonexistentName(let server, let name): return .name(await ask(server, name, .udp, deadline))
        case .connect(let address): return .connect(await connect(address, deadline))
        case .neighbors: return .neighbors((try? NetworkSnapshot.current().neighbors) ?? [])
        case .ping(let address): return .ping(await PathProbes.ping(address, until: deadline))
        case .path(let address): return .path(await PathProbes.path(to: address, until: deadline))
        case .packetSizes(let address, let full):
            return .packetSizes(await PathProbes.packetSizes(to: address, full: full, until: deadline))
        case .service(let address), .alternative(let address):
            return .service(await serviceProbe(deadline).run(at: address))
        case .inspection(let address): return .inspection(await serviceProbe(deadline).inspection(at: address))
        case .plainPage(let address):
            return .service(await serviceProbe(deadline).plainPage(at: address, randomLabel: randomLabel))
        }
    }

    private func serviceProbe(_ deadline: ContinuousClock.Instant) -> ServiceProbe {
        ServiceProbe(target: target, options: options, deadline: deadline)
    }

    private func environment() -> ProbeResult {
        do throws(ResolverError) {
            let system = ResolverConfiguration.system
            return .environment(
                Environment(
                    network: try NetworkSnapshot.current(),
                    nameServers: options.nameServers ?? system.servers,
                    isFallbackServer: options.nameServers == nil && system.isFallback,
                    hostsEntry: target.firstHost.map { HostsFile.system.addresses(of: $0) } ?? [],
                    expiredLeases: DHCPLease.expired()))
        } catch {
            return .environmentUnknown
        }
    }

    private func lookup(
        _ name: String, _ deadline: ContinuousClock.Instant
    ) async -> Result<[IPAddress], ResolverError> {
        do throws(ResolverError) {
            return .success(try await options.resolver.addresses(of: name, until: deadline))
        } catch {
            return .failure(error)
        }
    }

    /// Queries one name server for the A and AAAA records of exactly this name, without search domains and hosts file.
    private func ask(
        _ server: SocketAddress, _ name: String, _ transport: NameTransport, _ deadline: ContinuousClock.Instant
    ) async -> NameServerAnswer {
        var configuration = ResolverConfiguration(servers: [server])
        configuration.timeout = options.nameServerTimeout / 2
        configuration.attempts = 2
        configuration.usesTCPOnly = transport == .tcp
        let resolver = WireResolver(configuration: configuration, hosts: HostsFile(parsing: ""))
        async let six = records(.aaaa, of: name, by: resolver, deadline)
        let four = await records(.a, of: name, by: resolver, deadline)
        return NameServerAnswer(four, await six)
    }

    private func records(
        _ type: DNSRecordType, of name: String, by resolver: WireResolver, _ deadline: ContinuousClock.Instant
    ) async -> Result<[IPAddress], ResolverError> {
        do throws(ResolverError) {
            let answer = try await resolver.records(type, of: name, until: deadline)
            // Other programs may reject such an answer, so it is a fault of the server.
            if answer.isTruncated { return .failure(ResolverError(.temporaryFailure, servers: answer.servers)) }
            return .success(answer.records.compactMap(\.data.address))
        } catch {
            return .failure(error)
        }
    }

    /// Opens a connection and closes it. Returns the error, or nil if the connection was established.
    private func connect(_ address: SocketAddress, _ deadline: ContinuousClock.Instant) async -> StreamError? {
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { return StreamError(posix: ETIMEDOUT) }
        let pair = StreamPair(address: address)
        defer { pair.close() }
        do throws(StreamError) {
            try pair.set(.openTimeout, to: left)
            try pair.open()
            try await pair.output.opened()
            return nil
        } catch {
            return error
        }
    }
}

extension NameServerAnswer {
    /// Combines the answers for both address families. An address from either family is a success. Otherwise the first
    /// of these failures that applies is used: the more specific ones come first.
    init(_ four: Result<[IPAddress], ResolverError>, _ six: Result<[IPAddress], ResolverError>) {
        var found: [IPAddress] = []
        var failures: [ResolverError] = []
        for result in [four, six] {
            switch result {
            case .success(let addresses): found += addresses
            case .failure(let error): failures.append(error)
            }
        }
        let outcomes = Set(failures.compactMap(\.servers.last?.result))
        if !found.isEmpty {
            self = .addresses(found)
        } else if failures.contains(where: { $0.code == .hostNotFound }) {
            self = .noSuchName
        } else if outcomes.contains(.connectionFailed) {
            // TCP is used only after a truncated answer over UDP, or if the probe asks for it.
            self = .truncated
        } else if failures.allSatisfy({ $0.code == .noData }) {
            self = .noAddress
        } else if failures.allSatisfy({ [.timedOut, .noData].contains($0.code) || NameServerAnswer.timedOut($0) }) {
            self = .silent
        } else if outcomes.contains(.refused) {
            self = .refused
        } else {
            self = .failed(failures[0].servers.first?.result.rawValue ?? failures[0].description)
        }
    }

    private static func timedOut(_ error: ResolverError) -> Bool {
        !error.servers.isEmpty && error.servers.allSatisfy { $0.result == .timedOut }
    }
}
