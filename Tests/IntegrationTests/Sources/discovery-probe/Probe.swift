import Foundation
import ServiceDiscovery
import Synchronization

/// The program that tests run inside network namespaces: one operation of ServiceDiscovery, reported in lines.
///
///     discovery-probe browse TYPE SECONDS        + NAME, - NAME
///     discovery-probe browse-each TYPE SECONDS   + INTERFACE NAME, - INTERFACE NAME: for each interface
///     discovery-probe types SECONDS              + TYPE
///     discovery-probe domains PURPOSE SECONDS    + DOMAIN, - DOMAIN
///     discovery-probe resolve NAME TYPE SECONDS  HOST PORT ADDRESS… | TXT
///     discovery-probe monitor NAME TYPE SECONDS  TXT
///     discovery-probe publish NAME TYPE PORT SECONDS [KEY=VALUE…] [--no-rename] [--then=TEXT] [--return]
///     discovery-probe reconfirm NAME TYPE SECONDS + NAME, - NAME; reconfirms it repeatedly for as long as it is known
///     discovery-probe crowd COUNT TYPE SECONDS   publishes COUNT services; published COUNT
///     discovery-probe census COUNT TYPE SECONDS  finds and resolves them; found COUNT, resolved COUNT
///     discovery-probe doubt NAME TYPE SECONDS    reconfirms it once
///
/// Before the verb, `--daemon` or `--auto` selects another engine than the embedded one. SIGTERM ends the program by `exit`, with
/// `--return` by returning from `main`.
@main struct Probe {
    private static let engines = ["--daemon": DiscoveryEngine.daemon, "--auto": .automatic]
    private static let engine = CommandLine.arguments.dropFirst().first.flatMap { engines[$0] } ?? .embedded

    static func main() async {
        let main = Task { await operate() }
        endOrderly(main)
        await main.value
    }

    private static func operate() async {
        var arguments = CommandLine.arguments.dropFirst().filter { engines[$0] == nil }
        do {
            try await run(arguments.isEmpty ? "" : arguments.removeFirst(), arguments)
        } catch let error as ServiceDiscoveryError where error.code == .cancelled {
            // Ended by SIGTERM.
        } catch {
            say("error: \(error)")
            exit(1)
        }
    }

    private static func run(_ verb: String, _ arguments: [String]) async throws {
        switch verb {
        case "browse":
            let browser = ServiceBrowser(try ServiceType(arguments[0]), engine: engine)
            try await each(browser.start(), arguments[1]) { "\($0.kind == .found ? "+" : "-") \($0.value.name)" }
        case "browse-each":
            let browser = ServiceBrowser(try ServiceType(arguments[0]), eachInterface: true, engine: engine)
            try await each(browser.start(), arguments[1]) { change in
                "\(change.kind == .found ? "+" : "-") \(change.interface ?? "none") \(change.value.name)"
            }
        case "types":
            try await each(ServiceTypeBrowser(engine: engine).start(), arguments[0]) { "+ \($0.value)" }
        case "domains":
            let browser = ServiceDomainBrowser(
                arguments[0] == "registration" ? .registration : .browsing, engine: engine)
            try await each(browser.start(), arguments[1]) { "\($0.kind == .found ? "+" : "-") \($0.value)" }
        case "resolve":
            let resolver = ServiceResolver(try service(arguments), engine: engine)
            try await each(resolver.start(), arguments[2]) { service in
                let addresses = service.addresses.map(\.description).joined(separator: " ")
                return "\(service.hostName) \(service.port) \(addresses) | \(service.record)"
            }
        case "monitor":
            try await each(ServiceMonitor(try service(arguments), engine: engine).start(), arguments[2]) { "\($0)" }
        case "publish":
            try await publish(arguments)
        case "reconfirm":
            let service = try service(arguments)
            let search = try ServiceBrowser(service.type, engine: engine).start()
            let end = deadline(arguments[2])
            var isKnown = false
            while ContinuousClock.now < end {
                // Reconfirmed repeatedly: while its host answers, the service remains.
                if isKnown { try ServiceResolver(service, engine: engine).reconfirm() }
                do throws(ServiceDiscoveryError) {
                    guard let change = try await search.next(until: .now + .milliseconds(200)) else { return }
                    say("\(change.kind == .found ? "+" : "-") \(change.value.name)")
                    if change.value == service { isKnown = change.kind == .found }
                } catch {
                    if error.code != .timedOut { throw error }
                }
            }
        case "crowd":
            let crowd = try Crowd(count: Int(arguments[0]) ?? 1, type: ServiceType(arguments[1]), engine: engine)
            try await crowd.publish(until: deadline(arguments[2]))
        case "census":
            let crowd = try Crowd(count: Int(arguments[0]) ?? 1, type: ServiceType(arguments[1]), engine: engine)
            try await crowd.find(until: deadline(arguments[2]))
        case "doubt":
            try ServiceResolver(try service(arguments), engine: engine).reconfirm()
            try await Task.sleep(until: deadline(arguments[2]), clock: .continuous)
        default:
            say("error: unknown verb '\(verb)'")
            exit(64)
        }
    }

    private static func publish(_ arguments: [String]) async throws {
        let options = arguments.dropFirst(4)
        var record = TXTRecord()
        for pair in options where !pair.hasPrefix("--") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            try record.set(String(parts[0]), to: String(parts.count > 1 ? parts[1] : ""))
        }
        var service = ServiceAdvertisement(
            name: arguments[0], type: try ServiceType(arguments[1]), port: UInt16(arguments[2]) ?? 1, record: record)
        service.renamesOnConflict = !options.contains("--no-rename")
        let publisher = try ServicePublisher(service, engine: engine)
        // Published until the program ends.
        kept.withLock { $0.append(publisher) }
        let later = options.first { $0.hasPrefix("--then=") }?.dropFirst("--then=".count)
        try await each(publisher.names, arguments[3]) { name in
            guard let later else { return "published \(name.name)" }
            do throws(ServiceDiscoveryError) {
                try record.set("then", to: String(later))
                try publisher.update(record)
            } catch {
                return "error: \(error)"
            }
            return "published \(name.name)"
        }
    }

    private static let kept = Mutex<[ServicePublisher]>([])

    /// Makes SIGTERM end the program in order.
    private static func endOrderly(_ main: Task<Void, Never>) {
        let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        // Its own handler keeps it alive for as long as the process.
        nonisolated(unsafe) let kept = source
        source.setEventHandler {
            _ = kept
            if CommandLine.arguments.contains("--return") { main.cancel() } else { exit(0) }
        }
        source.resume()
    }

    /// Prints a line immediately.
    static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    private static func service(_ arguments: [String]) throws -> ServiceInstance {
        try ServiceInstance(name: arguments[0], type: ServiceType(arguments[1]))
    }

    private static func deadline(_ seconds: String) -> ContinuousClock.Instant {
        .now + .milliseconds(Int((Double(seconds) ?? 1) * 1000))
    }

    private static func each<Element>(
        _ feed: DiscoveryFeed<Element>, _ seconds: String, _ line: (Element) -> String
    ) async throws {
        let end = deadline(seconds)
        do throws(ServiceDiscoveryError) {
            while let element = try await feed.next(until: end) { say(line(element)) }
        } catch {
            if error.code != .timedOut { throw error }
        }
    }
}

/// Many services of one type.
struct Crowd {
    let count: Int
    let type: ServiceType
    let engine: DiscoveryEngine

    /// Publishes all of them until the end of the time.
    func publish(until end: ContinuousClock.Instant) async throws {
        let publishers = try (1...count).map { number in
            let service = ServiceAdvertisement(
                name: "Service \(number)", type: type, port: UInt16(number), record: try TXTRecord(["n": "\(number)"]))
            return try ServicePublisher(service, engine: engine)
        }
        for publisher in publishers { try await publisher.published(until: end) }
        Probe.say("published \(count)")
        try await Task.sleep(until: end, clock: .continuous)
        withExtendedLifetime(publishers) {}
    }

    /// Finds all of them, and resolves all of them at the same time.
    func find(until end: ContinuousClock.Instant) async throws {
        let feed = try ServiceBrowser(type, engine: engine).start()
        var found: Set<ServiceInstance> = []
        while found.count < count, let change = try await feed.next(until: end) { found.insert(change.value) }
        Probe.say("found \(found.count)")
        let ports = try await withThrowingTaskGroup(of: UInt16.self) { group in
            for service in found {
                group.addTask { try await ServiceResolver(service, engine: engine).resolve(until: end).port }
            }
            return try await group.reduce(into: Set<UInt16>()) { $0.insert($1) }
        }
        Probe.say("resolved \(ports.count)")
    }
}
