import ArgumentParser
import Glibc
import ServiceDiscovery

/// `netkit browse`: lists the services of a type as they appear and disappear.
struct BrowseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "browse",
        abstract: "Lists services on the network as they appear and disappear.",
        discussion: """
            Examples:
              netkit browse                          lists all types
              netkit browse _ipp._tcp --timeout 3
              netkit browse _http._tcp,_printer --resolve
              netkit browse _ipp._tcp --domain example.org --server 192.0.2.53

            On a terminal, the services of a type are a table that changes in place; --resolve and
            a pipe give one line for each change: + or -, the interface (n/a for services that
            name servers list), and the name. A service on two interfaces has two lines. With
            --resolve, a line with = follows for each service, once it has answered.
            """
    )

    @Argument(help: "The service type, optionally with one subtype. Without it, the types are listed.")
    var type: String?

    @Option(
        help: ArgumentHelp(
            "The domain to browse. Default: local, and those that DNS lists for the search domains in resolv.conf.",
            valueName: "DOMAIN"))
    var domain: String?

    @Flag(help: "Also show each service's host, port and addresses.")
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
                try ServiceType(type), domain: domain, interface: options.interface, eachInterface: true,
                engine: engine)
            try await show(browser.start(), engine)
        } catch {
            throw options.exit(error)
        }
    }

    /// The maximum number of services that are resolved at the same time.
    private static let maximumResolutions = 64

    private func show(
        _ feed: DiscoveryFeed<DiscoveryChange<ServiceInstance>>, _ engine: DiscoveryEngine
    ) async throws(ServiceDiscoveryError) {
        let deadline = options.deadline
        // A service that does not answer, or whose names are invalid, neither delays nor ends the others.
        let result = await withTaskGroup(of: Void.self) { group -> Result<Void, ServiceDiscoveryError> in
            var table = LiveTable(columns: ["NAME", "TYPE", "DOMAIN", "INTERFACE"], style: .output)
            var resolutions = 0
            do throws(ServiceDiscoveryError) {
                while let change = try await next(feed, deadline) {
                    show(change, in: &table)
                    guard resolve, change.kind == .found else { continue }
                    if resolutions == Self.maximumResolutions { await group.next() } else { resolutions += 1 }
                    group.addTask { await showLocation(of: change, engine, until: deadline) }
                }
                return .success(())
            } catch {
                group.cancelAll()
                return .failure(error)
            }
        }
        try result.get()
    }

    private func show(_ change: DiscoveryChange<ServiceInstance>, in table: inout LiveTable) {
        let interface = change.interface ?? "n/a"
        if Terminal.showsOutput && !options.json && !resolve {
            let row = [change.value.name, "\(change.value.type)", "\(change.value.domain)", interface]
            if change.kind == .found { table.insert(row) } else { table.remove(row) }
            Terminal.write(table.drawing(width: Terminal.width, height: Terminal.height), to: STDOUT_FILENO)
            return
        }
        let mark = change.kind == .found ? "+" : "-"
        let object = DiscoveryOptions.object(change.kind == .found ? "found" : "removed", change.value)
        options.say(
            ("\(mark) \(interface) \(change.value)", object.merging(["interface": change.interface as Any]) { $1 }))
    }

    /// Resolves a service and prints its location, or why it has none.
    private func showLocation(
        of change: DiscoveryChange<ServiceInstance>, _ engine: DiscoveryEngine, until deadline: ContinuousClock.Instant?
    ) async {
        let limit = ContinuousClock.now + .seconds(5)
        do throws(ServiceDiscoveryError) {
            let resolved = try await ServiceResolver(
                change.value, interface: change.interface ?? options.interface, engine: engine
            ).resolve(until: deadline.map { min($0, limit) } ?? limit)
            let line = LookupCommand.line(resolved)
            options.say(("= \(change.interface ?? "n/a") \(change.value)  \(line.text)", line.json))
        } catch {
            if error.code == .cancelled { return }
            let object = DiscoveryOptions.object("unresolved", change.value)
            if options.json { JSONOutput.show(object.merging(["error": JSONOutput.error(error)]) { $1 }) }
            let isSilent = error.code == .timedOut || error.code == .notFound
            Terminal.say("netkit: \(change.value) cannot be resolved\(isSilent ? "" : ": \(error.description)")")
        }
    }

    private func next<Element>(
        _ feed: DiscoveryFeed<Element>, _ deadline: ContinuousClock.Instant?
    ) async throws(ServiceDiscoveryError) -> Element? {
        defer { for name in feed.skipped { Terminal.warn("\(name) is skipped: it is not the name of a service") } }
        do throws(ServiceDiscoveryError) {
            return try await feed.next(until: deadline)
        } catch {
            if error.code == .timedOut { return nil }
            throw error
        }
    }
}

/// `netkit lookup`: resolves one service.
struct LookupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lookup",
        abstract: "Shows a service's host, port, addresses and TXT record.",
        discussion: """
            Examples:
              netkit lookup 'Büro · 2. Stock' _ipp._tcp
              netkit lookup 'Büro · 2\\. Stock._ipp._tcp.local.'

            The second form takes a name as browse prints it. Without --timeout, it gives up after 5 seconds.
            """)

    @Argument(help: "The service's display name, or its full name as browse prints it.")
    var name: String

    @Argument(help: "The service's type, such as _ipp._tcp; not with a full name.")
    var type: String?

    @Argument(help: "The service's domain. Default: local.")
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

    static func line(_ resolved: ResolvedService) -> (text: String, json: [String: Any]) {
        let addresses = resolved.addresses.map(\.description)
        let text = ["\(resolved.hostName) \(resolved.port)", addresses.joined(separator: " "), "\(resolved.record)"]
        return (
            text.filter { !$0.isEmpty }.joined(separator: "  "),
            DiscoveryOptions.object("resolved", resolved.service).merging([
                "host": resolved.hostName, "port": Int(resolved.port), "addresses": addresses,
                "txt": MonitorCommand.object(resolved.record),
            ]) { $1 }
        )
    }
}

/// `netkit publish`: announces a service until Ctrl-C.
struct PublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Announces a service on the network until Ctrl-C.",
        discussion: """
            Example: netkit publish Status _http._tcp 8080 path=/status version=2

            Any program may provide the service. If the name is taken, another name is chosen and printed.
            """
    )

    @Argument(help: "The display name, up to 63 bytes; '' for this computer's name.")
    var name: String

    @Argument(help: "The service type, optionally with subtypes: _ipp._tcp,_print.")
    var type: String

    @Argument(help: "The service's port.")
    var port: UInt16

    @Argument(help: "Entries of the TXT record: KEY=VALUE, or KEY without a value.")
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

/// `netkit monitor`: prints a service's TXT record each time it changes.
struct MonitorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "monitor", abstract: "Prints a service's TXT record each time it changes.",
        discussion: "Example: netkit monitor Status _http._tcp --json")

    @Argument(help: "The service's display name, or its full name as browse prints it.")
    var name: String

    @Argument(help: "The service's type, such as _ipp._tcp; not with a full name.")
    var type: String?

    @Argument(help: "The service's domain. Default: local.")
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

    /// The entries of a record: UTF-8 values as strings, other values as arrays of bytes, keys without a value as null.
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

/// `netkit types`: lists the service types on the network.
struct TypesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "types", abstract: "Lists the service types on the network.",
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

/// `netkit domains`: lists the domains for browsing or publishing.
struct DomainsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "domains", abstract: "Lists the domains for browsing or publishing services.",
        discussion: """
            Examples:
              netkit domains --timeout 3
              netkit domains --registration --domain example.org --server 192.0.2.53
            """)

    @Flag(help: "List the domains for publishing instead of browsing.")
    var registration = false

    @Option(
        help: ArgumentHelp(
            "The domain whose list to read. Default: local and the search domains in resolv.conf.", valueName: "DOMAIN")
    )
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
