import ArgumentParser
import Foundation
import NetKit

/// `netkit diagnose`: names the broken rung between this machine and a URL, and what to do about it.
struct DiagnoseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diagnose",
        abstract: "Says why a URL, or the network of this machine, does not work.",
        discussion: """
            Examples:
              netkit diagnose https://www.example.org/
              netkit diagnose --assist https://www.example.org/
              netkit diagnose --passive && echo the network is up

            Exit codes: 0 nothing is broken, 1 something is, 2 it cannot be told. Nothing is changed, and nothing is sent to
            anybody but the target, the configured name servers and the routers on the way.
            """
    )

    @Argument(help: "The URL that does not work; without one, this machine's network is looked at.")
    var url: String?

    @Flag(help: "Lead through the repair: wait after each advice, and look again.")
    var assist = false

    @Flag(help: "Send nothing: say only what the kernel knows.")
    var passive = false

    @Flag(help: "Print one JSON object.")
    var json = false

    @Flag(name: .shortAndLong, help: "Show everything that was seen.")
    var verbose = false

    func validate() throws {
        if assist, json || passive { throw ValidationError("--assist goes with neither --json nor --passive.") }
    }

    func run() async throws {
        let diagnostic: NetDiagnostic
        do throws(StreamError) {
            diagnostic =
                try url.map { (text) throws(StreamError) in try DiagnoseCommand.diagnostic(text) } ?? NetDiagnostic()
        } catch {
            Terminal.say("netkit: \(Terminal.shown("\(error)"))")
            throw ExitStatus.badURL.exitCode
        }
        if passive { return try show(diagnostic.passiveStatus()) }
        while true {
            let diagnosis = await diagnostic.diagnose()
            show(diagnosis)
            guard diagnosis.cause != nil, assist else { return try end(diagnosis.status) }
            Terminal.write("\nDone? Press Return to look again, or q and Return to stop. ", to: 2)
            guard let answer = readLine(), !answer.lowercased().hasPrefix("q") else { return try end(diagnosis.status) }
        }
    }

    private static func diagnostic(_ text: String) throws(StreamError) -> NetDiagnostic {
        guard let url = URL(string: text) ?? URL(string: "https://\(text)"), url.host != nil else {
            throw StreamError(posix: 22, Sentence("tool.badURL", "'%1' is no URL; write https://HOST/.", text))
        }
        return try NetDiagnostic(url: url)
    }

    private func end(_ status: NetworkStatus) throws {
        switch status {
        case .up: return
        case .down: throw ExitCode(1)
        case .indeterminate: throw ExitCode(2)
        }
    }

    // MARK: Showing

    private func show(_ status: PassiveStatus) throws {
        if json {
            print(DiagnoseCommand.line(["status": "\(status.status)", "sentence": "\(status.sentence)"]))
        } else {
            print("\(status.status): \(Terminal.shown("\(status.sentence)"))")
        }
        try end(status.status)
    }

    private func show(_ diagnosis: Diagnosis) {
        if json { return print(DiagnoseCommand.line(DiagnoseCommand.object(diagnosis))) }
        if let cause = diagnosis.cause {
            print("✘ \(cause.rung): \(Terminal.shown("\(cause.sentence)"))")
            print("  \(cause.advice)")
            if verbose { show(evidence: cause) }
        } else {
            print("✔ \(Terminal.shown(diagnosis.target)) works.")
        }
        for remark in diagnosis.remarks {
            print("! \(remark.rung): \(Terminal.shown("\(remark.sentence)"))")
            if verbose { show(evidence: remark) }
        }
        guard verbose else { return }
        for consequence in diagnosis.consequences {
            print("  then, \(consequence.rung): \(Terminal.shown("\(consequence.sentence)"))")
        }
        if !diagnosis.unchecked.isEmpty {
            print("  not checked: \(diagnosis.unchecked.map(\.description).joined(separator: ", "))")
        }
    }

    private func show(evidence finding: Finding) {
        for line in finding.evidence { print("    \(Terminal.shown(line))") }
    }

    private static func object(_ diagnosis: Diagnosis) -> [String: Any] {
        var object: [String: Any] = [
            "target": diagnosis.target, "status": "\(diagnosis.status)",
            "consequences": diagnosis.consequences.map(self.object), "remarks": diagnosis.remarks.map(self.object),
            "unchecked": diagnosis.unchecked.map(\.description),
        ]
        if let cause = diagnosis.cause { object["cause"] = self.object(cause) }
        return object
    }

    private static func object(_ finding: Finding) -> [String: Any] {
        [
            "code": finding.code.rawValue, "rung": "\(finding.rung)", "severity": "\(finding.severity)",
            "sentence": "\(finding.sentence)", "advice": "\(finding.advice)", "evidence": finding.evidence,
        ]
    }

    private static func line(_ object: [String: Any]) -> String {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        let data = (try? JSONSerialization.data(withJSONObject: object, options: options)) ?? Data("{}".utf8)
        return String(decoding: data, as: UTF8.self)
    }
}
