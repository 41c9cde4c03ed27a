import ArgumentParser
import DNSWire
import Foundation
import ServiceDiscovery
import Synchronization

/// The options that the service discovery verbs share.
struct DiscoveryOptions: ParsableArguments {
    enum Engine: String, ExpressibleByArgument, CaseIterable {
        case auto
        case daemon
        case embedded
    }

    @Option(help: "The discovery engine: the system's daemon, or multicast DNS in this process (embedded).")
    var engine = Engine.auto

    @Option(help: ArgumentHelp("Use only this interface, such as eth0 or lo. Default: all.", valueName: "NAME"))
    var interface: String?

    @Option(help: ArgumentHelp("Stop after SECONDS; otherwise run until Ctrl-C.", valueName: "SECONDS"))
    var timeout: Double?

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func validate() throws {
        try TimeLimit.check(timeout)
    }

    /// Whether a signal ends the program. The searches that it ends fail, which is no failure of the verb.
    private static let isEnding = Atomic(false)

    /// Starts the engine; Ctrl-C and SIGTERM shut it down.
    func start() -> DiscoveryEngine {
        // The embedded engine rejects an unknown interface itself.
        if let interface, engine != .embedded, if_nametoindex(interface) == 0 {
            Terminal.say("netkit: interface \(interface) does not exist; waiting for it.")
        }
        // An engine of its own: the shared one ignores loopback if there are other interfaces.
        let embedded = interface.map { EmbeddedEngine(interfaces: [$0]) } ?? .shared
        for number in [SIGINT, SIGTERM] {
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            // The handler retains the source for the life of the process.
            nonisolated(unsafe) let kept = source
            source.setEventHandler {
                _ = kept
                Self.isEnding.store(true, ordering: .releasing)
                embedded.stop()  // withdraws what is published; a daemon notices the end of the process itself
                Foundation.exit(0)
            }
            source.resume()
        }
        return switch engine {
        case .auto: .automatic(fallback: embedded)
        case .daemon: .daemon
        case .embedded: .embedded(embedded)
        }
    }

    var deadline: ContinuousClock.Instant? {
        timeout.map { .now + .seconds($0) }
    }

    /// Prints each element of a feed until the deadline.
    func show<Element>(
        _ feed: DiscoveryFeed<Element>, until deadline: ContinuousClock.Instant?,
        _ line: (Element) -> (text: String, json: [String: Any])
    ) async throws {
        do throws(ServiceDiscoveryError) {
            while let element = try await feed.next(until: deadline) { say(line(element)) }
        } catch {
            if error.code != .timedOut { throw exit(error) }
        }
    }

    /// Prints one line, as text or as JSON.
    func say(_ line: (text: String, json: [String: Any])) {
        if json { return JSONOutput.show(line.json) }
        Terminal.write("\(line.text)\n", to: STDOUT_FILENO)
    }

    /// The members that all JSON objects about a service have.
    static func object(_ event: String, _ service: ServiceInstance) -> [String: Any] {
        [
            "event": event, "service": "\(service)", "name": service.name, "type": "\(service.type)",
            "domain": "\(service.domain)",
        ]
    }

    /// Prints an error, and returns its exit code.
    func exit(_ error: ServiceDiscoveryError) -> ExitCode {
        if error.code == .cancelled, Self.isEnding.load(ordering: .acquiring) { Foundation.exit(0) }
        if json { JSONOutput.show(["event": "failed", "error": JSONOutput.error(error)]) }
        Terminal.say("netkit: \(error.description)")
        return switch error.code {
        case .timedOut: ExitStatus.timedOut.exitCode
        case .invalidName, .invalidType, .invalidDomain, .invalidRecord, .badArgument: .validationFailure
        default: ExitStatus.other.exitCode
        }
    }

    /// The service that arguments name: by name, type and domain, or by a full name as `browse` prints it.
    func service(_ name: String, _ type: String?, _ domain: String?) throws -> ServiceInstance {
        guard let type else {
            guard let service = DNSName(name).flatMap(ServiceInstance.init(fullName:)) else {
                throw ValidationError(
                    "'\(Terminal.shown(name))' is not the full name of a service, such as Office._ipp._tcp.local; add its type."
                )
            }
            return service
        }
        do throws(ServiceDiscoveryError) {
            let domain = try domain.map(ServiceDomain.init(_:)) ?? .local
            return try ServiceInstance(name: name, type: ServiceType(type), domain: domain)
        } catch {
            throw exit(error)
        }
    }
}

/// The option for the name server of the verbs that work in other domains than `local`.
struct NameServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The DNS server for domains other than local, instead of those in resolv.conf.",
            valueName: "ADDRESS[:PORT]"))
    var server: String?

    func validate() throws {
        if let server { _ = try ResolverConfiguration(askingOnly: server) }
    }

    /// Starts the engine of the other options with that server.
    func start(_ options: DiscoveryOptions) throws -> DiscoveryEngine {
        guard let server else { return options.start() }
        if options.engine == .daemon {
            throw ValidationError("--server cannot be combined with --engine daemon, which has its own name servers.")
        }
        return options.start().usingNameServers(of: try ResolverConfiguration(askingOnly: server))
    }
}
