import ArgumentParser
import ServiceDiscovery

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
