import ArgumentParser
import ServiceDiscovery

/// `netkit publish`: makes a service known until Ctrl-C.
struct PublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Makes a service known on the network until Ctrl-C.",
        discussion: """
            Example: netkit publish Status _http._tcp 8080 path=/status version=2

            The server itself may be any program. If the name is taken, another one is, and shown; a key without = has no \
            value.
            """
    )

    @Argument(help: "The name for people, up to 63 bytes; empty for this computer's.")
    var name: String

    @Argument(help: "The type, with subtypes if there are some: _ipp._tcp,_print.")
    var type: String

    @Argument(help: "The port.")
    var port: UInt16

    @Argument(help: "What it tells about itself.")
    var texts: [String] = []

    @Flag(help: "Fail if the name is taken.")
    var noRename = false

    @OptionGroup var options: DiscoveryOptions

    func run() async throws {
        let publisher: ServicePublisher
        do throws(ServiceDiscoveryError) {
            var record = TXTRecord()
            for text in texts {
                let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                try record.set(String(parts[0]), to: parts.count > 1 ? Array(parts[1].utf8) : nil)
            }
            var service = ServiceAdvertisement(name: name, type: try ServiceType(type), port: port, record: record)
            service.renamesOnConflict = !noRename
            service.interface = options.interface
            publisher = try ServicePublisher(service, engine: options.start())
        } catch {
            throw options.exit(error)
        }
        defer { publisher.stop() }
        try await options.show(publisher.names, until: options.deadline) { service in
            ("published \(service)", DiscoveryOptions.object("published", service))
        }
    }
}
