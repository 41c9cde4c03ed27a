import AttackLab
import Foundation
import Peers
import Testing

/// Small versions of the rows of the attack lab: a bounded number of hostile bytes, and no limit that depends on the speed of the
/// machine.
///
/// Each victim is a separate process. It must end each operation as the row states, reveal nothing, keep its memory bounded, and
/// serve the honest load meanwhile.
@Suite struct AttackTests {
    /// SwiftPM puts executables next to the test bundle.
    private static let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("attack-lab").path
    /// The number of bytes that one hostile connection sends: more than any buffer of the victim holds.
    private static let bytes = 2 << 20
    /// The rows, by the family of which one test is made.
    private static let families = [
        Attack.tls, Attack.http, Attack.http2, Attack.logins, Attack.proxies, Attack.servers, Attack.ftp,
        Attack.names, Attack.discovery,
    ]

    @Test(.timeLimit(.minutes(5)), arguments: families)
    func theVictimWithstands(_ attacks: [Attack]) async {
        let lab = AttackLab(tool: Self.tool)
        for attack in attacks {
            let outcome = await lab.outcome(of: attack, seconds: 1, runs: 1, bytes: Self.bytes)
            let missed = outcome.missed.filter { $0 != "lateness" && $0 != "limit" }
            #expect(missed.isEmpty, "\(attack.name)\n\(outcome.details)")
        }
    }

    @Test func eachRowHasASmallVersion() {
        #expect(Self.families.flatMap { $0 }.map(\.name).sorted() == Attack.all.map(\.name).sorted())
    }

    @Test func eachRowHasItsOwnName() {
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

    @Test func aFamilyIsSelectedByThePrefixOfItsRows() {
        #expect(Attack.named("tls-truncation").map(\.name) == ["tls-truncation"])
        #expect(Attack.named("tls").count == Attack.tls.count)
        #expect(Attack.named("tl").isEmpty)
    }
}
