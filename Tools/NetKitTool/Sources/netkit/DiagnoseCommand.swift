import ArgumentParser
import Foundation
import Glibc
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
              netkit diagnose --watch https://www.example.org/
              netkit diagnose --passive && echo the network is up

            Exit codes:
              0  nothing is broken
              1  something is
              2  it cannot be told
              3  the URL cannot be diagnosed
             64  the command line is wrong
            --assist ends with those of the last look; --watch goes on until it is interrupted.

            --json prints an object a line, with schema (1), target, status, cause,
            consequences, remarks, unchecked, uncheckable and families; a finding has code,
            rung, severity, sentence, key, advice, evidence and dependsOn. Scripts go by
            schema and code.

            Proxies are those of --pac; else of the environment (http_proxy, https_proxy,
            all_proxy, no_proxy); else of the files ~/.config/netkit/proxies and
            /etc/netkit/proxies. Nothing is changed, no credentials are sent, and nobody is
            asked but the target, the proxy, the server of a proxy script, the configured
            name servers and the routers on the way.
            """
    )

    @Argument(help: "The URL that does not work; without one, this machine's network is looked at.")
    var url: String?

    @Option(
        help: ArgumentHelp(
            "Ask this proxy auto-configuration script which proxies to use: a file, or a URL of http, https or file.",
            valueName: "URL|FILE"))
    var pac: String?

    @Flag(help: "Lead through the repair: wait after each advice, and look again.")
    var assist = false

    @Flag(help: "Go on, and say when something else is broken or works again.")
    var watch = false

    @Flag(help: "Send nothing: say only what the kernel knows.")
    var passive = false

    @Flag(help: "Print a JSON object for each diagnosis.")
    var json = false

    @Flag(name: .shortAndLong, help: "Show everything that was seen.")
    var verbose = false

    func validate() throws {
        if [assist, passive, watch].count(where: { $0 }) > 1 {
            throw ValidationError("only one of --assist, --passive and --watch.")
        }
        if pac != nil, url == nil { throw ValidationError("--pac needs a URL that the script decides about.") }
        if assist, json { throw ValidationError("--assist does not go with --json.") }
    }

    func run() async throws {
        let diagnostic: NetDiagnostic
        do throws(StreamError) {
            diagnostic =
                try url.map { (text) throws(StreamError) in try DiagnoseCommand.diagnostic(text, pac) }
                ?? NetDiagnostic()
        } catch {
            if json { JSONOutput.show(["error": JSONOutput.error(error)]) }
            Terminal.say("netkit: \(error)")
            throw ExitStatus.badURL.exitCode
        }
        if passive { return try show(diagnostic.passiveStatus()) }
        if assist { return try await lead(diagnostic) }
        if watch {
            for await diagnosis in diagnostic.changes() {
                if !json { Terminal.print("\(DiagnoseCommand.time)", terminator: "  ") }
                show(diagnosis)
                fflush(nil)  // a pipe would keep it
            }
            return
        }
        let diagnosis = await diagnostic.diagnose()
        show(diagnosis)
        try end(diagnosis.status)
    }

    /// One step after the other, with a look after each.
    private func lead(_ diagnostic: NetDiagnostic) async throws {
        var guide = RepairGuide()
        while true {
            Terminal.print("Looking …")
            let diagnosis = await diagnostic.diagnose()
            switch guide.next(after: diagnosis) {
            case .works(let isRepaired):
                Terminal.print("✔ \(isRepaired ? "Repaired: " : "")\(diagnosis.target) works.")
                for remark in diagnosis.remarks { Terminal.print("! \(remark.rung): \(remark.sentence)") }
                return try end(diagnosis.status)
            case .exhausted(let finding):
                Terminal.print("✘ \(finding.rung): \(finding.sentence)")
                Terminal.print("  That was the last step. Show this to somebody who can help:\n")
                Terminal.print(DiagnoseCommand.json(diagnosis))
                return try end(diagnosis.status)
            case .step(let step):
                if step.isProgress { Terminal.print("  That helped. The next thing:") }
                Terminal.print("✘ \(step.finding.rung): \(step.finding.sentence)")
                Terminal.print("  Step \(step.number) of \(step.count): \(step.text)")
                if verbose { show(evidence: step.finding) }
            }
            Terminal.write("  Done? Return to look again, q and Return to stop. ", to: 2)
            guard let answer = readLine(), !answer.lowercased().hasPrefix("q") else { return try end(diagnosis.status) }
        }
    }

    private static func diagnostic(_ text: String, _ pac: String?) throws(StreamError) -> NetDiagnostic {
        guard let url = URL(string: text) ?? URL(string: "https://\(text)"), url.host != nil else {
            throw StreamError(posix: 22, Sentence("tool.badURL", "'%1' is no URL; write https://HOST/.", text))
        }
        var options = NetDiagnostic.Options()
        if let pac {
            var settings = ProxySettings()
            settings.bypass = try ProxySettings.environment().bypass
            let isURL = URL(string: pac)?.scheme != nil
            settings.script = .url(isURL ? pac : URL(fileURLWithPath: pac).absoluteString)
            options.proxies = settings
        }
        return try NetDiagnostic(url: url, options: options)
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
            JSONOutput.show(["status": "\(status.status)", "sentence": "\(status.sentence)"])
        } else {
            Terminal.print("\(status.status): \(status.sentence)")
        }
        try end(status.status)
    }

    private func show(_ diagnosis: Diagnosis) {
        if json { return Terminal.print(DiagnoseCommand.json(diagnosis)) }
        if let cause = diagnosis.cause {
            Terminal.print("✘ \(cause.rung): \(cause.sentence)")
            Terminal.print("  \(cause.advice)")
            if verbose { show(evidence: cause) }
        } else {
            Terminal.print("✔ \(diagnosis.target) works.")
        }
        for remark in diagnosis.remarks {
            Terminal.print("! \(remark.rung): \(remark.sentence)")
            if verbose { show(evidence: remark) }
        }
        for family in diagnosis.families where verbose { Terminal.print("  \(family)") }
        for consequence in diagnosis.consequences where verbose {
            Terminal.print("  then, \(consequence.rung): \(consequence.sentence)")
        }
        for sentence in diagnosis.uncheckable { Terminal.print("? \(sentence)") }
        if verbose, !diagnosis.unchecked.isEmpty {
            Terminal.print("  not checked: \(diagnosis.unchecked.map(\.description).joined(separator: ", "))")
        }
    }

    private func show(evidence finding: Finding) {
        for line in finding.evidence { Terminal.print("    \(line)") }
    }

    private static var time: String {
        var now = Glibc.time(nil)
        var parts = tm()
        localtime_r(&now, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    }

    private static func json(_ value: some Encodable) -> ShownText {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return ShownText(json: (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}")
    }
}
