import ArgumentParser
import ServiceDiscovery

/// `netkit monitor`: what a service tells about itself, as it changes.
struct MonitorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "monitor", abstract: "Shows what a service tells about itself, each time that it changes.",
        discussion: "Example: netkit monitor Status _http._tcp --json")

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
        let feed: DiscoveryFeed<TXTRecord>
        do throws(ServiceDiscoveryError) {
            feed = try ServiceMonitor(service, interface: options.interface, engine: engine).start()
        } catch {
            throw options.exit(error)
        }
        try await options.show(feed, until: options.deadline) { record in
            ("\(record)", DiscoveryOptions.object("changed", service).merging(["txt": Self.object(record)]) { $1 })
        }
    }

    /// Texts as they are, other bytes as numbers, keys without a value as null.
    static func object(_ record: TXTRecord) -> [String: Any] {
        var object: [String: Any] = [:]
        for entry in record.entries {
            if let text = record.string(entry.key) {
                object[entry.key] = text
            } else if let bytes = entry.value {
                object[entry.key] = bytes.map(Int.init)
            } else {
                object[entry.key] = Optional<String>.none as Any
            }
        }
        return object
    }
}
