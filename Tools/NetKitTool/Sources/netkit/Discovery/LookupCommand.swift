import ArgumentParser
import ServiceDiscovery

/// `netkit lookup`: where one service is.
struct LookupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lookup",
        abstract: "Shows where a service is: host, port, addresses, and what it tells about itself.",
        discussion: "Example: netkit lookup 'Büro · 2. Stock' _ipp._tcp")

    @Argument(help: "The service's name, as people see it.")
    var name: String

    @Argument(help: "Its type, such as _ipp._tcp.")
    var type: String

    @Argument(help: "Its domain; else local.")
    var domain: String?

    @OptionGroup var names: NameServerOptions

    @OptionGroup var options: DiscoveryOptions

    func run() async throws {
        let engine = try names.start(options)
        let service = try options.service(name, type, domain)
        do throws(ServiceDiscoveryError) {
            let resolver = ServiceResolver(service, interface: options.interface, engine: engine)
            options.say(Self.line(try await resolver.resolve(until: options.deadline ?? .now + .seconds(5))))
        } catch {
            throw options.exit(error)
        }
    }

    static func line(_ place: ResolvedService) -> (text: String, json: [String: Any]) {
        let addresses = place.addresses.map(\.description)
        let text = ["\(place.hostName) \(place.port)", addresses.joined(separator: " "), "\(place.record)"]
        return (
            text.filter { !$0.isEmpty }.joined(separator: "  "),
            DiscoveryOptions.object("resolved", place.service).merging([
                "host": place.hostName, "port": Int(place.port), "addresses": addresses,
                "txt": MonitorCommand.object(place.record),
            ]) { $1 }
        )
    }
}
