import ArgumentParser
import ServiceDiscovery

/// `netkit types`: which types of services there are.
struct TypesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "types", abstract: "Shows the types of services that there are on the network.",
        discussion: "Example: netkit types --timeout 3")

    @OptionGroup var options: DiscoveryOptions

    func run() async throws {
        do throws(ServiceDiscoveryError) {
            try await Self.show(ServiceTypeBrowser(interface: options.interface, engine: options.start()), options)
        } catch {
            throw options.exit(error)
        }
    }

    static func show(
        _ browser: ServiceTypeBrowser, _ options: DiscoveryOptions
    ) async throws(ServiceDiscoveryError) {
        let feed = try browser.start()
        let deadline = options.deadline
        do throws(ServiceDiscoveryError) {
            while let change = try await feed.next(until: deadline) {
                let isFound = change.kind == .found
                options.say(
                    (
                        "\(isFound ? "+" : "-") \(change.value)",
                        ["event": isFound ? "found" : "removed", "type": "\(change.value)"]
                    ))
            }
        } catch {
            if error.code != .timedOut { throw error }
        }
    }
}
