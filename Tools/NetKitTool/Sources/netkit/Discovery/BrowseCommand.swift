import ArgumentParser
import ServiceDiscovery

/// `netkit browse`: services of a type, as they come and go.
struct BrowseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "browse",
        abstract: "Shows services on the network as they come and go.",
        discussion: """
            Examples:
              netkit browse                          every type that there is
              netkit browse _ipp._tcp --timeout 3
              netkit browse _http._tcp,_printer --resolve
              netkit browse _ipp._tcp --domain example.org --server 192.0.2.53
            """
    )

    @Argument(help: "The type, with one subtype if only that is wanted. Without one, the types are shown.")
    var type: String?

    @Option(
        help: ArgumentHelp(
            "Where to look; else in local, and in what the name servers list for the search domains of resolv.conf.",
            valueName: "DOMAIN"))
    var domain: String?

    @Flag(help: "Also show where each service is.")
    var resolve = false

    @OptionGroup var names: NameServerOptions

    @OptionGroup var options: DiscoveryOptions

    func run() async throws {
        let engine = try names.start(options)
        do throws(ServiceDiscoveryError) {
            let domain = try domain.map(ServiceDomain.init(_:))
            guard let type else {
                try await TypesCommand.show(
                    ServiceTypeBrowser(domain: domain, interface: options.interface, engine: engine), options)
                return
            }
            let browser = ServiceBrowser(
                try ServiceType(type), domain: domain, interface: options.interface, engine: engine)
            try await show(browser.start(), engine)
        } catch {
            throw options.exit(error)
        }
    }

    private func show(
        _ feed: DiscoveryFeed<DiscoveryChange<ServiceInstance>>, _ engine: DiscoveryEngine
    ) async throws(ServiceDiscoveryError) {
        let deadline = options.deadline
        while let change = try await next(feed, deadline) {
            let mark = change.kind == .found ? "+" : "-"
            options.say(
                (
                    "\(mark) \(change.value)",
                    DiscoveryOptions.object(change.kind == .found ? "found" : "removed", change.value)
                ))
            guard resolve, change.kind == .found else { continue }
            let limit = min(deadline ?? .now + .seconds(5), .now + .seconds(5))
            do throws(ServiceDiscoveryError) {
                let place = try await ServiceResolver(
                    change.value, interface: options.interface, engine: engine
                ).resolve(until: limit)
                options.say(LookupCommand.line(place))
            } catch {
                if error.code != .timedOut, error.code != .notFound { throw error }
                Terminal.say("netkit: \(change.value) does not say where it is")
            }
        }
    }

    private func next<Element>(
        _ feed: DiscoveryFeed<Element>, _ deadline: ContinuousClock.Instant?
    ) async throws(ServiceDiscoveryError) -> Element? {
        do throws(ServiceDiscoveryError) {
            return try await feed.next(until: deadline)
        } catch {
            if error.code == .timedOut { return nil }
            throw error
        }
    }
}
