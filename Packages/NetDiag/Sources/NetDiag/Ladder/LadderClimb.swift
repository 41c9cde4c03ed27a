internal import Glibc

/// Runs ladders against the world: one for each way to a target that has to be looked at, all of them within one limit.
///
/// Theory of operation. Where a script chooses the proxy, the way to the script's server comes first: if it is broken, so is
/// everything behind it. Of several ways each is taken only if the one before it would be passed by, as a stream does it: its
/// proxy cannot be reached, or is none.
struct LadderClimb: Sendable {
    /// Most ways to one target.
    static let mostWays = 4

    let options: NetDiagnostic.Options
    let end: ContinuousClock.Instant

    init(_ options: NetDiagnostic.Options) {
        self.options = options
        end = .now + LadderLimits(options).total
    }

    func diagnose(_ ways: [DiagnosisTarget], knowing facts: LadderFacts) async -> Diagnosis {
        guard let first = ways.first else { return await run(.machine).diagnosis }
        if let script = first.proxyScript { return await diagnose(first, asTold: script) }
        let diagnosis = await run(first, knowing: facts).diagnosis
        var spare = diagnosis
        for way in ways.dropFirst().prefix(LadderClimb.mostWays - 1) {
            guard let cause = spare.cause, cause.code.passesProxyBy else { break }
            spare = await run(way).diagnosis
            if spare.cause == nil, spare.unchecked.isEmpty { return spare.insteadOf(diagnosis) }
        }
        return diagnosis
    }

    // MARK: Scripts

    private func diagnose(_ target: DiagnosisTarget, asTold source: ProxyScriptSource) async -> Diagnosis {
        do throws(StreamError) {
            try ProxyScript.checkAvailability()
            var script: ProxyScript
            if var server = source.server {
                server.ownTLS = target.proxyTLS
                let machine = await run(server)
                guard case .answered(let answer)? = machine.facts.talk?.1, answer.status == 200 else {
                    return machine.diagnosis(ofScriptAt: source.shownPlace, for: target)
                }
                script = try ProxyScript(bytes: answer.body)
            } else {
                script = try source.script()
            }
            guard let url = target.url else { return await run(target.through(.direct)).diagnosis }
            let left = ContinuousClock.now.duration(to: end) / .milliseconds(1)
            script.timeLimit = min(script.timeLimit, .milliseconds(Int(max(0, left))))
            let ways = try await script.choices(for: url).map { target.through($0) }
            return await diagnose(ways, knowing: LadderFacts())
        } catch {
            return await run(target.without(ProxyRules.ofScript(error, at: source.shownPlace))).diagnosis
        }
    }

    // MARK: One way

    private func run(_ target: DiagnosisTarget, knowing facts: LadderFacts = LadderFacts()) async -> LadderMachine {
        let noise = String((0..<14).map { _ in "bcdfghjkmnpqrstvwxz".randomElement() ?? "q" })
        var machine = LadderMachine(
            target, knowing: facts, limits: LadderLimits(options), noise: noise, now: .now, until: end)
        let runner = ProbeRunner(target: target, options: options, noise: noise)
        await withTaskGroup(of: (Probe, ProbeResult)?.self) { group in
            var alarm: ContinuousClock.Instant?
            while true {
                for order in machine.next(now: .now) { group.addTask { (order.probe, await runner.run(order)) } }
                guard machine.isWaiting, !Task.isCancelled else { break }
                if let wake = machine.wake(now: .now), alarm == nil {
                    alarm = wake
                    group.addTask {
                        try? await Task.sleep(until: wake, clock: .continuous)
                        return nil
                    }
                }
                guard let event = await group.next() else { break }
                if let (probe, result) = event { machine.receive(result, of: probe) } else { alarm = nil }
            }
            group.cancelAll()
        }
        return machine
    }
}

extension FindingCode {
    /// A stream that has another way takes it then.
    fileprivate var passesProxyBy: Bool { [.proxyUnknown, .proxyUnreachable, .proxyWrong].contains(self) }
}

extension Diagnosis {
    /// The target works this way, and not the one that comes first.
    fileprivate func insteadOf(_ first: Diagnosis) -> Diagnosis {
        var diagnosis = self
        if var remark = first.cause {
            remark.severity = .warning
            diagnosis.remarks.insert(remark, at: 0)
        }
        return diagnosis
    }
}

extension ProxyScriptSource {
    /// Where it is, for people.
    fileprivate var shownPlace: String {
        switch self {
        case .url(let url): PublicText.of("The proxy script at \(url)")
        case .text: "\(Sentence.settingsScript)"
        }
    }

    /// The server that has it; nil if it is here, or nowhere.
    fileprivate var server: DiagnosisTarget? {
        if case .url(let text) = self { DiagnosisTarget(scriptAt: text) } else { nil }
    }
}

extension LadderMachine {
    /// The same facts, as they concern who is sent here for a script.
    fileprivate func diagnosis(ofScriptAt place: String, for target: DiagnosisTarget) -> Diagnosis {
        var findings = ProxyRules.ofScript(self.findings, at: place)
        var rungs = checked.filter { $0 < .proxy }
        var uncheckable = self.uncheckable
        if findings.contains(where: { $0.severity == .failure }) {
            rungs.insert(.proxy)
        } else {
            // It is elsewhere, and a diagnosis does not go where it is led.
            let why = findings.last { $0.rung >= .answer }.map { "\($0.sentence)" } ?? ""
            findings.append(Finding(.proxyScript, .note, .proxyScript(place, why)))
            uncheckable.append(.proxyScript(place, why))
        }
        return Diagnosis(
            target: target.place, findings: findings, checked: rungs, needed: target.rungs, uncheckable: uncheckable)
    }
}
