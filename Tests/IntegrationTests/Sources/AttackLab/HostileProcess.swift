internal import Foundation
internal import Peers

/// A hostile peer in a process of its own, and what it says.
struct HostileProcess: Sendable {
    /// How many bytes the honest server sends.
    static let honestBodySize = 65536

    /// The folder of this program, where `hostile-tls` and `discovery-probe` are built, too.
    static let programs = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().path

    private let process: LineProgram
    /// The ports on which it can be reached; empty for one that attacks by itself.
    let ports: [Int]

    /// Starts a hostile program, and returns when it is ready.
    ///
    /// - Parameters:
    ///   - bytes: what one connection is sent at most; 0 for no limit.
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

    /// Waits until a peer with a limit of bytes has used it up.
    func isDone() async -> Bool {
        await process.shows("done")
    }

    /// Ends it, and gives what it said: the leaks, and the longest that the victim kept a connection.
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
