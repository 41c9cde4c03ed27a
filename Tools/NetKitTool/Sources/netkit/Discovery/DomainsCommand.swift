import ArgumentParser
import ServiceDiscovery

/// `netkit domains`: where services can be looked for or published.
struct DomainsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "domains", abstract: "Shows the domains in which services can be looked for, or published.",
        discussion: """
            Examples:
              netkit domains --timeout 3
              netkit domains --registration --domain example.org --server 192.0.2.53
            """)

    @Flag(help: "Domains for publishing, not for browsing.")
    var registration = false

    @Option(
        help: ArgumentHelp(
            "Whose list to read; else those of local and of the search domains of resolv.conf.", valueName: "DOMAIN"))
    var domain: String?

    @OptionGroup var names: NameServerOptions

    @OptionGroup var options: DiscoveryOptions

    func run() async throws {
        let engine = try names.start(options)
        let feed: DiscoveryFeed<DiscoveryChange<ServiceDomain>>
        do throws(ServiceDiscoveryError) {
            feed = try ServiceDomainBrowser(
                registration ? .registration : .browsing, listedIn: try domain.map(ServiceDomain.init(_:)),
                interface: options.interface, engine: engine
            ).start()
        } catch {
            throw options.exit(error)
        }
        try await options.show(feed, until: options.deadline) { change in
            let isFound = change.kind == .found
            return (
                "\(isFound ? "+" : "-") \(change.value)",
                ["event": isFound ? "found" : "removed", "domain": "\(change.value)"]
            )
        }
    }
}
