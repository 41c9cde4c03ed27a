import Foundation
import Peers
import Testing

/// A host of a test that runs one of our engines in separate processes, with or without a daemon.
struct DiscoveryHost {
    /// The engine that the host uses.
    enum Engine: String, CaseIterable, CustomTestStringConvertible {
        case embedded
        case daemon

        var testDescription: String { rawValue }
    }

    /// The engines of two hosts.
    struct Pair: CustomTestStringConvertible, Sendable {
        let left: Engine
        let right: Engine

        static let all = Engine.allCases.flatMap { left in Engine.allCases.map { Pair(left: left, right: $0) } }

        static let mixed = all.filter { $0.left != $0.right }

        var testDescription: String { "\(left) and \(right)" }
    }

    let engine: Engine
    let avahi: Avahi?
    private let namespace: NetworkNamespace
    private let environment: [String]

    /// - Parameter name: the host name for Avahi.
    init(_ engine: Engine, called name: String, in namespace: NetworkNamespace) throws {
        self.engine = engine
        self.namespace = namespace
        guard engine == .daemon else {
            (avahi, environment) = (nil, [])
            return
        }
        let avahi = Avahi(hostName: name, in: namespace)
        try avahi.start()
        self.avahi = avahi
        environment = ["DBUS_SYSTEM_BUS_ADDRESS=\(try avahi.busAddress)"]
    }

    /// Starts an operation on the host.
    func start(_ arguments: String...) throws -> LineProgram {
        try run((engine == .daemon ? ["--daemon"] : []) + arguments)
    }

    /// The same with the default engine.
    func startByDefault(_ arguments: String...) throws -> LineProgram {
        try run(["--auto"] + arguments)
    }

    /// Starts streams to services on the host.
    func startStreams(_ arguments: String...) throws -> LineProgram {
        try run((engine == .embedded ? ["--embedded"] : []) + arguments, Probes.path(of: "service-streams"))
    }

    /// Starts `NetService` or `NetServiceBrowser`, with the default engine. ``LineProgram/tell(_:)`` stops it.
    func startNetService(_ arguments: String...) throws -> LineProgram {
        try run(arguments, Probes.path(of: "net-service"), hasInput: true)
    }

    /// Starts functions of CFNetServices, with the default engine. ``LineProgram/tell(_:)`` ends them.
    func startCFNetServices(_ arguments: String...) throws -> LineProgram {
        try run(arguments, Probes.path(of: "cfnetservices"), hasInput: true)
    }

    func stop() {
        avahi?.stop()
    }

    private func run(
        _ arguments: [String], _ path: String = Probes.path, hasInput: Bool = false
    ) throws -> LineProgram {
        let words = environment + [path] + arguments
        let probe = LineProgram(words[0], Array(words.dropFirst()), hasInput: hasInput, in: namespace)
        try probe.start()
        return probe
    }
}

/// Our own engine in a separate process, inside a network namespace.
enum Probes {
    static let path = path(of: "discovery-probe")

    /// The path of one of our programs, next to the test bundle.
    static func path(of program: String) -> String {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (tests as NSString).deletingLastPathComponent + "/" + program
    }

    static func start(
        _ arguments: String..., program: String = path, in namespace: NetworkNamespace
    ) throws -> LineProgram {
        try start(arguments, program: program, in: namespace)
    }

    static func start(
        _ arguments: [String], program: String = path, in namespace: NetworkNamespace
    ) throws -> LineProgram {
        let probe = LineProgram(program, arguments, in: namespace)
        try probe.start()
        return probe
    }
}
