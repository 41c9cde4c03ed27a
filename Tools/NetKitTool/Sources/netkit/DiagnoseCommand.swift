import ArgumentParser
import Foundation
import Glibc
import NetKit

/// `netkit diagnose`: finds the broken step between this machine and a URL, and advises on the repair.
struct DiagnoseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diagnose",
        abstract: "Explains why a URL or this machine's network does not work.",
        discussion: """
            Examples:
              netkit diagnose https://www.example.org/
              netkit diagnose --assist https://www.example.org/
              netkit diagnose --watch https://www.example.org/
              netkit diagnose --watch --interval 5 https://www.example.org/
              netkit diagnose --html page.html https://www.example.org/
              netkit diagnose -x http://proxy:3128 --cacert roots.pem https://www.example.org/
              netkit diagnose -u joe https://www.example.org/
              netkit diagnose --passive && echo the network is up

            Exit codes:
              0  nothing is broken
              1  something is broken
              2  undetermined
              3  the URL cannot be diagnosed
             64  the command line is wrong
            --assist exits with the code of its last check; --watch runs until interrupted.

            --json prints one object per line, with schema (1), target, status, cause,
            consequences, remarks, unchecked, uncheckable and families. A finding has code,
            rung, severity, sentence, key, advice, evidence and dependsOn. Scripts should
            rely on schema and code only.

            Without -x and --pac, the proxies are those of the environment (http_proxy,
            https_proxy, all_proxy, no_proxy), else of ~/.config/netkit/proxies and
            /etc/netkit/proxies. diagnose changes nothing, and sends credentials only with
            an option for a login, which it then tries with a GET request. It contacts
            only the target, the proxy, the server of the proxy script, the
            configured name servers and the routers on the route.
            """
    )

    @Argument(help: "The URL to diagnose. Default: this machine's network.")
    var url: String?

    @Flag(help: "Guide through the repair: one piece of advice at a time, with a check after each.")
    var assist = false

    @Flag(help: "Keep checking, and report each change.")
    var watch = false

    @Option(
        help: ArgumentHelp(
            "With --watch: check every SECONDS, and print a line with the latency for each check.", valueName: "SECONDS"
        ))
    var interval: Double?

    @Option(
        help: ArgumentHelp("Also write the diagnosis to FILE as a page for a browser.", valueName: "FILE"),
        completion: .file())
    var html: String?

    @Flag(help: "Send nothing; report only what the kernel knows.")
    var passive = false

    @Flag(help: "Print one JSON object per diagnosis.")
    var json = false

    @Flag(name: .shortAndLong, help: "Show all evidence.")
    var verbose = false

    @OptionGroup var connection: ConnectionOptions

    @OptionGroup(title: "Authentication") var login: LoginOptions

    func validate() throws {
        if [assist, passive, watch].count(where: { $0 }) > 1 {
            throw ValidationError("--assist, --passive and --watch cannot be combined.")
        }
        if connection.proxyHTTP2 { throw ValidationError("--proxy-http2 is not for a diagnosis, which uses HTTP/1.1.") }
        if url == nil, !connection.proxyNames.isEmpty || connection.configuresTLS {
            throw ValidationError("Options for proxies and TLS require a URL.")
        }
        if logsIn {
            guard let url, DiagnoseCommand.url(url)?.scheme?.lowercased().hasPrefix("http") == true else {
                throw ValidationError("A login requires an http or https URL.")
            }
            if assist || watch || passive {
                throw ValidationError("A login cannot be combined with --assist, --watch or --passive.")
            }
        }
        try TimeLimit.check(interval, of: "--interval")
        if interval != nil, !watch { throw ValidationError("--interval requires --watch.") }
        if html != nil, assist || passive || watch {
            throw ValidationError("--html cannot be combined with --assist, --passive or --watch.")
        }
        if assist, json { throw ValidationError("--assist and --json cannot be combined.") }
    }

    func run() async throws {
        let diagnostic: NetDiagnostic
        do {
            diagnostic = try await makeDiagnostic()
        } catch {
            guard let (sentence, status) = ExitStatus.describe(error) else { throw error }
            if json { JSONOutput.show(["error": JSONOutput.error(error)]) }
            Terminal.say("netkit: \(sentence)")
            throw status == .other ? ExitStatus.badURL.exitCode : status.exitCode
        }
        if passive { return try show(diagnostic.passiveStatus()) }
        if assist { return try await guide(diagnostic) }
        if watch, let interval { return try await watch(diagnostic, every: .seconds(interval)) }
        if watch {
            for await diagnosis in diagnostic.changes() {
                if !json { Terminal.print("\(DiagnoseCommand.time)", terminator: "  ") }
                show(diagnosis)
            }
            return
        }
        let diagnosis = await diagnostic.diagnose()
        if !json { for line in DiagnosisLadder.lines(diagnosis, .output) { Terminal.print(line) } }
        show(diagnosis)
        if let html {
            do throws(OutputFile.Failure) {
                try OutputFile.write(DiagnosisPage.page(diagnosis, at: Date()).text, to: html)
            } catch {
                Terminal.say("netkit: \(error)")
                throw ExitStatus.localFile.exitCode
            }
        }
        try end(diagnosis.status)
    }

    /// Checks at intervals until interrupted; prints a line for each check.
    private func watch(_ diagnostic: NetDiagnostic, every interval: Duration) async throws {
        let clock = ContinuousClock()
        var next = clock.now
        while true {
            let diagnosis = await diagnostic.diagnose()
            if json {
                show(diagnosis)
            } else {
                Terminal.print(DiagnosisLadder.moment(diagnosis, at: DiagnoseCommand.time, .output))
            }
            next = max(next + interval, clock.now)
            try await clock.sleep(until: next)
        }
    }

    /// Prints one step of the repair at a time, and checks again after each.
    private func guide(_ diagnostic: NetDiagnostic) async throws {
        var steps = RepairGuide()
        while true {
            Terminal.print("Checking \(TerminalStyle.output.ellipsis)")
            let diagnosis = await diagnostic.diagnose()
            switch steps.next(after: diagnosis) {
            case .works(let isRepaired):
                Terminal.print("\(TerminalStyle.output.tick) \(isRepaired ? "Repaired: " : "")\(success(diagnosis))")
                for remark in diagnosis.remarks { Terminal.print("! \(remark.rung): \(remark.sentence)") }
                return try end(diagnosis.status)
            case .exhausted(let finding):
                Terminal.print("\(TerminalStyle.output.cross) \(finding.rung): \(finding.sentence)")
                Terminal.print("  That was the last step. Give this report to your network administrator:\n")
                Terminal.print(DiagnoseCommand.json(diagnosis))
                return try end(diagnosis.status)
            case .step(let step):
                if step.isProgress { Terminal.print("  That helped. Next problem:") }
                Terminal.print("\(TerminalStyle.output.cross) \(step.finding.rung): \(step.finding.sentence)")
                Terminal.print("  Step \(step.number) of \(step.count): \(step.text)")
                if verbose { show(evidence: step.finding) }
            }
            Terminal.write("  Press Return to check again, or q and Return to stop. ", to: 2)
            guard let answer = readLine(), !answer.lowercased().hasPrefix("q") else { return try end(diagnosis.status) }
        }
    }

    /// The URL in a text, which may lack its scheme.
    private static func url(_ text: String) -> URL? {
        let url = URLArgument.url(text.contains("://") ? text : "https://\(text)")
        return url?.host?.isEmpty == false ? url : nil
    }

    private var logsIn: Bool { login.isUsed || login.bearer != nil || login.isUsedForProxies }

    private func makeDiagnostic() async throws -> NetDiagnostic {
        guard let text = url else { return NetDiagnostic() }
        guard let url = DiagnoseCommand.url(text) else {
            throw StreamError(posix: EINVAL, Sentence("tool.badURL", "'%1' is not a URL; use https://HOST/.", text))
        }
        var options = NetDiagnostic.Options()
        if !connection.proxyNames.isEmpty || connection.cacert != nil { options.proxies = try connection.settings() }
        if let tls = try connection.tls() { options.tls = tls }
        if logsIn { return try await diagnosticOfLogin(url, options) }
        return try NetDiagnostic(url: url, options: options)
    }

    /// A diagnostic of a request for the URL with the login.
    private func diagnosticOfLogin(_ url: URL, _ options: NetDiagnostic.Options) async throws -> NetDiagnostic {
        let prompt = login.prompt()
        let stream = try await load(url, prompt)
        guard let response = stream[.httpResponse], response.status == .unauthorized,
            let refusal = login.refusal(response, prompt)
        else { return try NetDiagnostic(load: stream, of: url, options: options) }
        let error = StreamError(
            domain: .http, code: HTTPErrorNumber.badPassword.rawValue, sentence: Sentence("tool.refused", "%1", refusal)
        )
        return try NetDiagnostic(
            url: url, report: stream.report, error: error, address: stream[.remoteAddress],
            routes: stream[.proxies] ?? [], options: options)
    }

    /// Requests the URL with the login, to find out whether it is accepted.
    ///
    /// - Returns: the stream of the last request, successful or not.
    private func load(_ url: URL, _ prompt: LoginPrompt) async throws -> ReadStream {
        var configuration = try login.configuration(prompt)
        configuration.options.followsRedirects = false
        if let tls = try connection.tls() { configuration.options.tls = tls }
        configuration.proxies = .settings(try connection.settings())
        configuration.options.totalTimeout = .seconds(30)
        var request = try HTTPRequest(method: .get, url: login.url(for: url))
        try login.addBearer(to: &request)
        let session = HTTPSession(configuration)
        return try await withNetworkExecutor { [request] in
            let stream = try await session.open(request)
            _ = try? await stream.response()
            return stream
        }
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
            Terminal.print("\(TerminalStyle.output.cross) \(cause.rung): \(cause.sentence)")
            Terminal.print("  \(cause.advice)")
            if verbose { show(evidence: cause) }
        } else {
            Terminal.print("\(TerminalStyle.output.tick) \(success(diagnosis))")
        }
        for remark in diagnosis.remarks {
            Terminal.print("! \(remark.rung): \(remark.sentence)")
            if verbose { show(evidence: remark) }
        }
        for family in diagnosis.families where verbose { Terminal.print("  \(family)") }
        for consequence in diagnosis.consequences where verbose {
            Terminal.print("  therefore, \(consequence.rung): \(consequence.sentence)")
        }
        for sentence in diagnosis.uncheckable { Terminal.print("? \(sentence)") }
        if verbose, !diagnosis.unchecked.isEmpty {
            Terminal.print("  not checked: \(diagnosis.unchecked.map(\.description).joined(separator: ", "))")
        }
    }

    private func success(_ diagnosis: Diagnosis) -> String {
        url == nil ? "This machine's network works." : "\(diagnosis.target) works."
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
