import ArgumentParser
import Foundation
import ServiceDiscovery

/// What the verbs of service discovery have in common.
struct DiscoveryOptions: ParsableArguments {
    enum Engine: String, ExpressibleByArgument, CaseIterable {
        case auto
        case daemon
        case embedded
    }

    @Option(help: "Who does the work: the system's daemon, or multicast DNS in this process (embedded).")
    var engine = Engine.auto

    @Option(help: ArgumentHelp("The only interface to use, such as eth0 or lo; else all.", valueName: "NAME"))
    var interface: String?

    @Option(help: ArgumentHelp("Stop after so many seconds; else go on until Ctrl-C.", valueName: "SECONDS"))
    var timeout: Double?

    @Flag(help: "Print one JSON object a line.")
    var json = false

    /// The engine, ended in good order by Ctrl-C.
    func start() -> DiscoveryEngine {
        // The embedded engine refuses it.
        if let interface, engine != .embedded, if_nametoindex(interface) == 0 {
            Terminal.say("netkit: there is no interface \(interface) now; it is waited for.")
        }
        // Made for the interface: the shared one leaves loopback out where there are others.
        let embedded = interface.map { EmbeddedEngine(interfaces: [$0]) } ?? .shared
        for number in [SIGINT, SIGTERM] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            // Its own handler keeps it: it lives as long as the process.
            nonisolated(unsafe) let kept = source
            source.setEventHandler {
                _ = kept
                embedded.close()  // with a goodbye for what is published; a daemon notices the end by itself
                Foundation.exit(0)
            }
            source.resume()
        }
        return switch engine {
        case .auto: .automatic(or: embedded)
        case .daemon: .daemon
        case .embedded: .embedded(embedded)
        }
    }

    var deadline: ContinuousClock.Instant? {
        timeout.map { .now + .milliseconds(Int(min(max($0, 0), 1e9) * 1000)) }
    }

    /// Shows each element until the time is over.
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

    /// Prints one line in the form asked for.
    func say(_ line: (text: String, json: [String: Any])) {
        if json { return JSONOutput.show(line.json) }
        Terminal.write("\(line.text)\n", to: STDOUT_FILENO)
    }

    /// What every JSON object about a service begins with.
    static func object(_ event: String, _ service: ServiceInstance) -> [String: Any] {
        ["event": event, "name": service.name, "type": "\(service.type)", "domain": "\(service.domain)"]
    }

    /// Says what went wrong, and gives the exit code for it.
    func exit(_ error: ServiceDiscoveryError) -> ExitCode {
        if json { JSONOutput.show(["event": "failed", "error": JSONOutput.error(error)]) }
        Terminal.say("netkit: \(error.description)")
        return switch error.code {
        case .timedOut: ExitStatus.timedOut.exitCode
        case .invalidName, .invalidType, .invalidDomain, .invalidRecord, .badArgument: .validationFailure
        default: ExitStatus.other.exitCode
        }
    }

    func service(_ name: String, _ type: String, _ domain: String?) throws -> ServiceInstance {
        do throws(ServiceDiscoveryError) {
            let domain = try domain.map(ServiceDomain.init(_:)) ?? .local
            return try ServiceInstance(name: name, type: ServiceType(type), domain: domain)
        } catch {
            throw exit(error)
        }
    }
}

/// Whom the verbs that look in other domains than local ask there.
struct NameServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The DNS server to ask about domains other than local, instead of those of resolv.conf.",
            valueName: "ADDRESS[:PORT]"))
    var server: String?

    func validate() throws {
        if let server { _ = try ResolverConfiguration(askingOnly: server) }
    }

    /// The engine of the other options, asking that server.
    func start(_ options: DiscoveryOptions) throws -> DiscoveryEngine {
        guard let server else { return options.start() }
        if options.engine == .daemon {
            throw ValidationError("The daemon asks name servers of its own; leave out --server, or --engine daemon.")
        }
        return options.start().asking(try ResolverConfiguration(askingOnly: server))
    }
}
