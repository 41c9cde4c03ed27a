import Peers
import Testing

/// One host of a test, on which one of our engines runs, in processes of its own: beside a daemon, or alone.
struct DiscoveryHost {
    /// Who does the work there.
    enum Engine: String, CaseIterable, CustomTestStringConvertible {
        case embedded
        case daemon

        var testDescription: String { rawValue }
    }

    /// What two hosts have.
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

    /// - Parameter name: what Avahi calls the host.
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

    /// Has an operation run there.
    func start(_ arguments: String...) throws -> LineProgram {
        try run((engine == .daemon ? ["--daemon"] : []) + arguments)
    }

    /// The same with the engine that is taken by default.
    func startByDefault(_ arguments: String...) throws -> LineProgram {
        try run(["--auto"] + arguments)
    }

    /// Has streams to services run there.
    func startStreams(_ arguments: String...) throws -> LineProgram {
        try run((engine == .embedded ? ["--embedded"] : []) + arguments, Probes.path(of: "service-streams"))
    }

    func stop() {
        avahi?.stop()
    }

    private func run(_ arguments: [String], _ path: String = Probes.path) throws -> LineProgram {
        let words = environment + [path] + arguments
        let probe = LineProgram(words[0], Array(words.dropFirst()), in: namespace)
        try probe.start()
        return probe
    }
}
