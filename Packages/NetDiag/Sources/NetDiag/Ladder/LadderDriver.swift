internal import Glibc
internal import StreamKit

/// Drives a ``LadderMachine`` for each route to the target, all within one time limit.
///
/// Theory of operation. If a script chooses the proxy, the script's server is diagnosed first: while it cannot be reached, no
/// route is known. Of several routes, each further one is tried only if a stream would skip the one before it, because its
/// proxy cannot be reached or is not a proxy.
struct LadderDriver: Sendable {
    /// The maximum number of routes to one target.
    static let maximumRoutes = 4

    let options: NetDiagnostic.Options
    let end: ContinuousClock.Instant

    init(_ options: NetDiagnostic.Options) {
        self.options = options
        end = .now + LadderLimits(options).total
    }

    func diagnose(_ routes: [DiagnosisTarget], knowing facts: LadderFacts) async -> Diagnosis {
        guard let first = routes.first else { return await run(.machine).diagnosis }
        if let script = first.proxyScript { return await diagnose(first, with: script) }
        let diagnosis = await run(first, knowing: facts).diagnosis
        var alternative = diagnosis
        for route in routes.dropFirst().prefix(LadderDriver.maximumRoutes - 1) {
            guard let cause = alternative.cause, cause.code.passesProxyBy else { break }
            alternative = await run(route).diagnosis
            if alternative.cause == nil, alternative.unchecked.isEmpty { return alternative.replacing(diagnosis) }
        }
        return diagnosis
    }

    // MARK: Scripts

    private func diagnose(_ target: DiagnosisTarget, with source: ProxyScriptSource) async -> Diagnosis {
        do throws(StreamError) {
            try await ProxyScript.checkAvailability(timeout: options.responseTimeout)
            var script: ProxyScript
            if var server = source.server {
                server.ownTLS = target.proxyTLS
                let machine = await run(server)
                guard case .answered(let answer)? = machine.facts.service?.1, answer.status == 200 else {
                    return machine.diagnosis(ofScriptNamed: source.displayName, for: target)
                }
                script = try ProxyScript(bytes: answer.body)
            } else {
                script = try source.script()
            }
            guard let url = target.url else { return await run(target.through(.direct)).diagnosis }
            let left = ContinuousClock.now.duration(to: end) / .milliseconds(1)
            script.timeout = min(options.responseTimeout, .milliseconds(Int(max(0, left))))
            let routes = try await script.choices(for: url).map { target.through($0) }
            return await diagnose(routes, knowing: LadderFacts())
        } catch {
            return await run(target.withUnknownProxy(ProxyRules.ofScript(error, named: source.displayName))).diagnosis
        }
    }

    // MARK: One route

    private func run(_ target: DiagnosisTarget, knowing facts: LadderFacts = LadderFacts()) async -> LadderMachine {
        let randomLabel = String((0..<14).map { _ in "bcdfghjkmnpqrstvwxz".randomElement() ?? "q" })
        var machine = LadderMachine(
            target, knowing: facts, limits: LadderLimits(options), randomLabel: randomLabel, now: .now, until: end)
        let runner = ProbeRunner(target: target, options: options, randomLabel: randomLabel)
        await withTaskGroup(of: (Probe, ProbeResult)?.self) { group in
            var timer: ContinuousClock.Instant?
            while true {
                for scheduled in machine.next(now: .now) {
                    group.addTask { (scheduled.probe, await runner.run(scheduled)) }
                }
                guard machine.isWaiting, !Task.isCancelled else { break }
                if let wake = machine.wake(now: .now), timer == nil {
                    timer = wake
                    group.addTask {
                        try? await EventLoop.shared.sleep(until: Moment(wake))
                        return nil
                    }
                }
                guard let event = await group.next() else { break }
                if let (probe, result) = event { machine.receive(result, of: probe, now: .now) } else { timer = nil }
            }
            group.cancelAll()
        }
        return machine
    }
}

extension FindingCode {
    /// Whether a stream that has another route tries it after this failure.
    fileprivate var passesProxyBy: Bool { [.proxyUnknown, .proxyUnreachable, .proxyWrong].contains(self) }
}

extension Diagnosis {
    /// This diagnosis of a working route, with the fault of the preferred route as a warning.
    fileprivate func replacing(_ first: Diagnosis) -> Diagnosis {
        var diagnosis = self
        if var remark = first.cause {
            remark.severity = .warning
            diagnosis.remarks.insert(remark, at: 0)
        }
        return diagnosis
    }
}

extension ProxyScriptSource {
    /// Describes the location of the script, for display.
    fileprivate var displayName: String {
        switch self {
        case .url(let url): PublicText.of("The proxy script at \(url)")
        case .text: "\(Sentence.settingsScript)"
        }
    }

    /// The server of the script; nil if the script is local or its URL is not `http` or `https`.
    fileprivate var server: DiagnosisTarget? {
        if case .url(let text) = self { DiagnosisTarget(scriptAt: text) } else { nil }
    }
}

extension LadderMachine {
    /// The diagnosis of `target`, whose proxy script could not be loaded from the server that this machine has examined.
    fileprivate func diagnosis(ofScriptNamed script: String, for target: DiagnosisTarget) -> Diagnosis {
        var findings = ProxyRules.ofScript(self.findings, named: script)
        var rungs = checked.filter { $0 < .proxy }
        var uncheckable = self.uncheckable
        if findings.contains(where: { $0.severity == .failure }) {
            rungs.insert(.proxy)
        } else {
            // The server answered, but without a script: a redirect, for example, which a diagnosis does not follow.
            let why = findings.last { $0.rung >= .answer }.map { "\($0.sentence)" } ?? ""
            findings.append(Finding(.proxyScript, .note, .proxyScript(script, why)))
            uncheckable.append(.proxyScript(script, why))
        }
        return Diagnosis(
            target: target.hostAndPort, findings: findings, checked: rungs, needed: target.rungs,
            uncheckable: uncheckable)
    }
}
