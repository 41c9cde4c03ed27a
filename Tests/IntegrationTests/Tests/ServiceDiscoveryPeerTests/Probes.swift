import Foundation
import Peers

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
        let probe = LineProgram(program, arguments, in: namespace)
        try probe.start()
        return probe
    }
}
