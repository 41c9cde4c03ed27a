import Foundation
import Listings
import NetKit

/// Runs listings of the services guide by their numbers, reported in lines. Endless listings end with the
/// program, or after two minutes.
///
///     listing 2-1 PORT           published NAME
///     listing 3-1 TYPE           searching, + NAME, - NAME, stopped
///     listing 4-1 NAME TYPE      the data that the service sends
///     listing 4-2 NAME TYPE      HOST PORT ADDRESS…
///     listing 4-5 NAME TYPE      doubted
///     listing A-2                published NAME, from a run loop
///     listing A-3 TYPE           + NAME, from a run loop, until the first; then stopped
///     listing A-4 NAME TYPE      HOST PORT, from a run loop, until the first; then cancelled
///     listing B-1                + DOMAIN
///     listing foundation 3-1 …   the same for 2-1 to 4-5 and B-1 with NetService; 4-2 prints HOST PORT
@main struct ListingProgram {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            try await run(arguments.first ?? "", Array(arguments.dropFirst()))
        } catch {
            say("error: \(error)")
            exit(1)
        }
    }

    private static let engine = DiscoveryEngine.embedded
    private static let time = Duration.seconds(120)

    private static func run(_ number: String, _ words: [String]) async throws {
        switch number {
        case "2-1":
            let (publisher, service) = try await ServicesGuide.Chapter2.listing1(
                port: UInt16(words[0]) ?? 0, engine: engine)
            say("published \(service.name)")
            try await Task.sleep(for: time)
            publisher.stop()
        case "3-1":
            let search = try ServicesGuide.Chapter3.listing1(words[0], engine: engine)
            Task.detached {
                try? await Task.sleep(for: time)
                search.stop()
            }
            var known: [ServiceInstance] = []
            try await ServicesGuide.Chapter3.listing3(search) { list in
                for service in list.services where !known.contains(service) { say("+ \(service.name)") }
                for service in known where !list.services.contains(service) { say("- \(service.name)") }
                if known.isEmpty, list.services.isEmpty { say(list.isSearching ? "searching" : "stopped") }
                known = list.services
            }
        case "4-1":
            let pair = try await ServicesGuide.Chapter4.listing1(try service(words), engine: engine)
            say(String(decoding: try await pair.input.readAll(limit: 1000), as: UTF8.self))
        case "4-2":
            let answers = try ServicesGuide.Chapter4.listing2(words[0], type: words[1], engine: engine)
            guard let service = try await ServicesGuide.Chapter4.listing4(answers) else { return say("nothing") }
            let addresses = service.addresses.map(\.description).sorted().joined(separator: " ")
            say("\(service.hostName) \(service.port) \(addresses)")
        case "4-5":
            try ServicesGuide.Chapter4.listing5(try service(words), engine: engine)
            say("doubted")
        case "A-2", "A-3", "A-4":
            try await onThread { try runLoop(number, words) }
        case "foundation":
            try await onThread { try NetServiceListings.run(words[0], Array(words.dropFirst())) }
        case "B-1":
            let search = try ServicesGuide.AppendixB.listing1(engine: engine)
            try await ServicesGuide.AppendixB.listing3(search) { list in
                for domain in list.domains { say("+ \(domain)") }
                search.stop()
            }
        default:
            say("error: there is no listing '\(number)' here")
            exit(64)
        }
    }

    /// Runs the listings with callbacks, on a thread whose run loop runs until they have finished.
    private static func runLoop(_ number: String, _ words: [String]) throws {
        let isDone = Locked(false)
        func turn() {
            while !isDone.withLock({ $0 }), RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 60))
            {}
        }
        switch number {
        case "A-2":
            let (publisher, signal) = try ServicesGuide.AppendixA.listing2(
                try ServicesGuide.AppendixA.listing1(), engine: engine
            ) { result in
                say((try? result.get()).map { "published \($0.name)" } ?? "\(result)")
                isDone.withLock { $0 = true }
            }
            turn()
            signal.cancel()
            pause()  // until the test ends the program
            publisher.stop()
        case "A-3":
            let (search, signal) = try ServicesGuide.AppendixA.listing3(words[0], engine: engine) { result in
                say((try? result.get()).map { "+ \($0.value.name)" } ?? "\(result)")
                isDone.withLock { $0 = true }
            }
            turn()
            ServicesGuide.AppendixA.listing6(search, signal)
            say("stopped")
        default:
            let (answers, signal) = try ServicesGuide.AppendixA.listing4(try service(words), engine: engine) { result in
                say((try? result.get()).map { "\($0.hostName) \($0.port)" } ?? "\(result)")
                isDone.withLock { $0 = true }
            }
            turn()
            ServicesGuide.AppendixA.listing5(answers, signal)
            say("cancelled")
        }
    }

    private static func service(_ words: [String]) throws -> ServiceInstance {
        try ServiceInstance(name: words[0], type: try ServiceType(words[1]), domain: .local)
    }

    private static func onThread(_ work: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
        }
    }

    /// Prints a line immediately.
    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
