import ArgumentParser
import ServiceDiscovery

/// `netkit domains`: where services can be looked for or published.
struct DomainsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "domains", abstract: "Shows the domains in which services can be looked for, or published.",
        discussion: "Example: netkit domains --registration --timeout 3")

    @Flag(help: "Domains for publishing, not for browsing.")
    var registration = false

    @OptionGroup var options: DiscoveryOptions

    func run() async throws {
        let feed: DiscoveryFeed<DiscoveryChange<ServiceDomain>>
        do throws(ServiceDiscoveryError) {
            feed = try ServiceDomainBrowser(
                registration ? .registration : .browsing, interface: options.interface, engine: options.start()
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
