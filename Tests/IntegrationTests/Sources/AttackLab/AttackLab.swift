internal import Foundation
internal import Peers

/// Runs attacks, each on a victim in a separate process, so that memory from one attack does not hide the growth of another.
public struct AttackLab: Sendable {
    /// The time after the end of an attack when the victim counts as hung, in seconds: in the lab, and in the small version of a row.
    private static let graceSeconds = (lab: 20.0, small: 120.0)

    private let tool: String

    /// - Parameter tool: the path of `attack-lab`; `hostile-tls` and `discovery-probe` are next to it.
    public init(tool: String) {
        self.tool = tool
    }

    /// Runs an attack several times.
    ///
    /// - Parameters:
    ///   - seconds: the duration of each run.
    ///   - runs: the number of runs.
    ///   - bytes: the maximum number of bytes that one hostile connection sends; 0 for no limit. With a limit, the attack
    ///     takes place once per run, and `seconds` is ignored.
    public func outcome(of attack: Attack, seconds: Double, runs: Int, bytes: Int = 0) async -> AttackOutcome {
        var measurements: [AttackMeasurement] = []
        for _ in 0..<runs {
            do {
                measurements.append(try await run(attack, seconds, bytes))
            } catch {
                return AttackOutcome(
                    attack, seconds: bytes > 0 ? 0 : seconds, runs: measurements, failure: "\(error)")
            }
        }
        return AttackOutcome(attack, seconds: bytes > 0 ? 0 : seconds, runs: measurements, failure: nil)
    }

    private func run(_ attack: Attack, _ seconds: Double, _ bytes: Int) async throws -> AttackMeasurement {
        guard attack.needsWire else { return try await measurement(attack, seconds, bytes, in: nil) }
        let network = try WiredNamespaces()
        defer { network.remove() }
        let programs = URL(fileURLWithPath: tool).deletingLastPathComponent().path
        let honest = LineProgram(
            "\(programs)/discovery-probe",
            ["publish", BrowsingVictim.honest, BrowsingVictim.type, "8080", "3600"], in: network.left)
        try honest.start()
        defer { honest.stop() }
        let hostile = try await HostileProcess(
            attack.program, mode: attack.mode, bytes: bytes, in: network.left, programs: programs)
        defer { _ = hostile.stop() }
        return try await measurement(attack, seconds, bytes, in: network.right)
    }

    /// Compiles the library that makes the disk slow, next to this program; returns its path.
    private func slowDisk() async throws -> String {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path
        let library = "\(URL(fileURLWithPath: tool).deletingLastPathComponent().path)/slow-disk-\(getpid()).so"
        let command = Command(
            Program("cc"), ["-shared", "-fPIC", "-O1", "-o", library, "\(sources)/hostile/slow_disk.c"])
        let result = try await command.run()
        guard result.status == 0 else { throw Breach(description: "slow_disk.c: \(result.errors)") }
        return library
    }

    /// Measures one run with `attack-lab --measure`, and reads its output.
    private func measurement(
        _ attack: Attack, _ seconds: Double, _ bytes: Int, in namespace: NetworkNamespace?
    ) async throws -> AttackMeasurement {
        var command = Command(
            Program(tool), ["--measure", attack.name, "--seconds", "\(seconds)", "--bytes", "\(bytes)"], in: namespace)
        if attack.hasSlowDisk { command.environment["LD_PRELOAD"] = try await slowDisk() }
        let result: Command.Result
        let grace = bytes > 0 ? Self.graceSeconds.small : Self.graceSeconds.lab
        do throws(PeerError) {
            result = try await command.run(seconds: seconds + grace)
        } catch {
            throw error.code == .timedOut
                ? Breach(description: "the victim hung for \(Int(grace)) s") : error
        }
        guard result.status == 0 else {
            let signal =
                result.status > 128 ? "was killed by signal \(result.status - 128)" : "ended with \(result.status)"
            let words = result.errors.split(separator: "\n").suffix(3).joined(separator: " ")
            throw Breach(description: "the victim \(signal): \(words)")
        }
        return try JSONDecoder().decode(AttackMeasurement.self, from: Data(result.output))
    }
}
