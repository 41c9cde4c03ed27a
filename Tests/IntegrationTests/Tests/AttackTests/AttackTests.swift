import AttackLab
import Foundation
import Peers
import Testing

/// Small versions of the attack lab's rows: a bounded number of hostile bytes, and no bar for what depends on the machine's speed.
///
/// Each victim is a process of its own. It must end each operation as the row says, reveal nothing, keep its memory, and serve the
/// honest load meanwhile.
@Suite struct AttackTests {
    /// SwiftPM puts executables beside the bundle of tests.
    private static let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("attack-lab").path
    /// What one hostile connection sends: more than any buffer of the victim holds.
    private static let bytes = 2 << 20

    @Test(
        .timeLimit(.minutes(4)),
        arguments: [
            Attack.tls, Attack.http, Attack.logins, Attack.proxies, Attack.servers, Attack.ftp, Attack.names,
            Attack.discovery,
        ])
    func theVictimBearsIt(_ attacks: [Attack]) async {
        let lab = AttackLab(tool: Self.tool)
        for attack in attacks {
            let outcome = await lab.outcome(of: attack, seconds: 1, runs: 1, bytes: Self.bytes)
            let missed = outcome.missed.filter { $0 != "lateness" && $0 != "limit" }
            #expect(missed.isEmpty, "\(attack.name)\n\(outcome.details)")
        }
    }

    @Test func eachRowHasANameOfItsOwn() {
        #expect(Set(Attack.all.map(\.name)).count == Attack.all.count)
        #expect(Attack.all.allSatisfy { !$0.summary.isEmpty })
    }

    @Test(arguments: [
        (["htp"], "no row 'htp'"), (["--seconds"], "--seconds takes a number"), (["--seconds", "0"], "not '0'"),
        (["--seconds", "1e9"], "to 3600"), (["--runs", "1.5"], "a whole number"), (["--runs", "0"], "from 1 to 100"),
        (["--fast"], "no option '--fast'"), (["--measure"], "one row"),
    ])
    func wrongInputIsRefused(_ words: [String], _ message: String) async throws {
        let result = try await Command(Program(Self.tool), words).run()
        #expect(result.status == 64)
        #expect(result.errors.contains(message))
        #expect(result.output.isEmpty)
    }

    @Test func aFamilyIsNamedByTheBeginningOfItsRows() {
        #expect(Attack.named("tls-truncation").map(\.name) == ["tls-truncation"])
        #expect(Attack.named("tls").count == Attack.tls.count)
        #expect(Attack.named("tl").isEmpty)
    }
}
