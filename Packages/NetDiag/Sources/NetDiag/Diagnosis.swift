/// The result of a diagnosis: the cause of the failure, the other findings, and what could not be checked.
///
/// ```swift
/// let diagnosis = await NetDiagnostic(url: url).diagnose()
/// print(diagnosis)
/// // The router 192.0.2.1 does not answer on eth0.
/// // Restart the router, and check that the gateway's address …
/// ```
public struct Diagnosis: Sendable, Hashable {
    /// The target of the diagnosis: `www.example.org:443`, or `this machine`.
    public var target: String
    /// The cause of the failure: the finding on the lowest broken rung. Nil if nothing is broken.
    public var cause: Finding?
    /// The failures and warnings that follow from the cause, or cannot be judged before it is repaired.
    public var consequences: [Finding]
    /// The findings that do not make the target fail.
    public var remarks: [Finding]
    /// The rungs that could not be checked, the lowest first: those above the broken one, and those for which privileges or
    /// answers were missing.
    public var unchecked: [Rung]
    /// Localizable sentences that say what could not be checked, and why.
    public var uncheckable: [Sentence]
    /// The results for IPv4 and IPv6 separately; empty if they are unknown.
    public var families: [FamilyVerdict]

    /// Divides the findings into cause, consequences and remarks. `findings` must be sorted by rung, the lowest first.
    init(
        target: String, findings: [Finding], checked: Set<Rung>, needed: [Rung], uncheckable: [Sentence] = [],
        families: [FamilyVerdict] = []
    ) {
        self.target = PublicText.of(target)
        let failures = findings.filter { $0.severity == .failure }
        // The lowest failure, unless a higher one explains it.
        let cause = failures.first { one in !failures.contains { $0.code.explains.contains(one.code) } }
        self.cause = cause
        var rest = failures
        if let index = cause.flatMap(rest.firstIndex) { rest.remove(at: index) }
        // A warning above the broken rung may be a consequence of it.
        let overshadowed = findings.filter { $0.severity == .warning && $0.rung > cause?.rung ?? .authentication }
        consequences = (rest + overshadowed).map { finding in
            var finding = finding
            finding.dependsOn = cause?.code
            return finding
        }
        remarks = findings.filter { $0.severity != .failure && !overshadowed.contains($0) }
        unchecked = needed.filter { !checked.contains($0) }
        self.uncheckable = uncheckable
        self.families = families
    }

    /// `down` if something is broken, else `up`; `indeterminate` if not even the link could be checked.
    public var status: NetworkStatus {
        if cause != nil { return .down }
        return unchecked.contains(.link) ? .indeterminate : .up
    }

    /// The rung of the cause; nil if nothing is broken.
    public var brokenRung: Rung? { cause?.rung }
}

extension Diagnosis: CustomStringConvertible {
    /// The cause and the advice, then the remarks, one per line.
    public var description: String {
        var lines: [String] = []
        if let cause {
            lines += ["\(cause.sentence)", "\(cause.advice)"]
        } else {
            lines.append("\(target == DiagnosisTarget.machine.hostAndPort ? Sentence.machineWorks : .works(target))")
        }
        for remark in remarks { lines.append("\(remark.sentence)") }
        return lines.joined(separator: "\n")
    }
}
