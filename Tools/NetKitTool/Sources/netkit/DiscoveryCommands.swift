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
