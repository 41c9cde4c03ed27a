internal import Foundation
internal import Peers

/// A hostile peer in a separate process, and its output.
struct HostileProcess: Sendable {
    /// The number of bytes that the honest server sends.
    static let honestBodySize = 65536

    /// The folder of this program, which also contains `hostile-tls` and `discovery-probe`.
    static let programs = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().path

    private let process: LineProgram
    /// The ports where it listens; empty for a peer that connects to the victim.
    let ports: [Int]

    /// Starts a hostile program, and returns when it is ready.
    ///
    /// - Parameters:
    ///   - bytes: the maximum number of bytes that one connection sends; 0 for no limit.
    ///   - victim: the port of the server to attack.
    init(
        _ program: Attack.Program, mode: String, bytes: Int, victim: Int = 0, identity: Identity? = nil,
        in namespace: NetworkNamespace? = nil, programs: String = HostileProcess.programs
    ) async throws {
        let process: LineProgram
        if program == .tls {
            process = LineProgram(
                "\(programs)/hostile-tls",
                [mode, identity?.chain ?? "", identity?.key ?? "", "\(bytes)", "\(victim)"], in: namespace)
        } else {
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("hostile/hostile.py").path
            process = LineProgram(
                "python3", [script, mode, "--bytes", "\(bytes)", "--port", "\(victim)"], in: namespace)
        }
        try process.start()
        guard await process.shows("ready"), let line = process.log.split(separator: "\n").first else {
            throw PeerError(.exited, "the hostile peer did not start: \(process.log)")
        }
        self.process = process
        ports = line.split(separator: " ").dropFirst().compactMap { Int($0) }
    }

    /// Waits until a peer with a limit of bytes has reached it.
    func isDone() async -> Bool {
        await process.shows("done")
    }

    /// Ends the peer and returns its results: the leaks, and the longest duration of a connection to the victim.
    func stop() -> (leaks: Set<String>, longest: Double) {
        process.stop()
        var leaks: Set<String> = []
        var longest = 0.0
        for line in process.log.split(separator: "\n") {
            if line.hasPrefix("leaked ") { leaks.insert(String(line.dropFirst(7))) }
            if line.hasPrefix("lived "), let time = Double(line.dropFirst(6)) { longest = max(longest, time) }
        }
        return (leaks, longest)
    }
}
