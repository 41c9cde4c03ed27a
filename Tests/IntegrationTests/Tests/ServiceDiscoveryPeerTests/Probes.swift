import Foundation
import Peers

/// Our own engine, in a process of its own, inside of a network namespace.
enum Probes {
    /// The program lies beside the tests.
    static let path: String = {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (tests as NSString).deletingLastPathComponent + "/discovery-probe"
    }()

    static func start(_ arguments: String..., in namespace: NetworkNamespace) throws -> LineProgram {
        let probe = LineProgram(path, arguments, in: namespace)
        try probe.start()
        return probe
    }
}
