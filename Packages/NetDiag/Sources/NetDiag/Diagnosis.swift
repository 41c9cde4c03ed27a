/// What a diagnosis found: the broken rung, everything else that was seen, and what could not be checked.
///
/// ```swift
/// let diagnosis = await NetDiagnostic(url: url).diagnose()
/// print(diagnosis)
/// // The router 192.0.2.1 does not answer on eth0.
/// // Restart the router, and check that the gateway's address …
/// ```
public struct Diagnosis: Sendable, Hashable {
    /// What was diagnosed: `www.example.org:443`, or `this machine`.
    public var target: String
    /// What makes it fail: the finding on the lowest broken rung; nil if nothing does.
    public var cause: Finding?
    /// Failures and warnings that follow from the cause, or cannot be judged before it is repaired.
    public var consequences: [Finding]
    /// What does not make it fail.
    public var remarks: [Finding]
    /// The rungs that could not be checked, the lowest first: those above the broken one, and those that somebody else's
    /// rights or silence kept from us.
    public var unchecked: [Rung]
    /// What could not be looked at, and why, in words that can be localized.
    public var uncheckable: [Sentence]
    /// IPv4 and IPv6 by themselves; empty if nobody looked.
    public var families: [FamilyVerdict]

    /// Sorts findings out; they come with the lowest rung first.
    init(
        target: String, findings: [Finding], checked: Set<Rung>, needed: [Rung], uncheckable: [Sentence] = [],
        families: [FamilyVerdict] = []
    ) {
        self.target = PublicText.of(target)
        let failures = findings.filter { $0.severity == .failure }
        // The lowest one, unless another explains it.
        let cause = failures.first { one in !failures.contains { $0.code.explains.contains(one.code) } }
        self.cause = cause
        var rest = failures
        if let place = cause.flatMap(rest.firstIndex) { rest.remove(at: place) }
        // A warning above the broken rung may be its doing as well.
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

    /// Up if nothing is broken, else down; indeterminate if not even the link could be looked at.
    public var status: NetworkStatus {
        if cause != nil { return .down }
        return unchecked.contains(.link) ? .indeterminate : .up
    }

    /// The rung that is broken; nil if none is.
    public var brokenRung: Rung? { cause?.rung }
}

extension Diagnosis: CustomStringConvertible {
    /// The cause and what to do about it; then the remarks.
    public var description: String {
        var lines: [String] = []
        if let cause {
            lines += ["\(cause.sentence)", "\(cause.advice)"]
        } else {
            lines.append("\(target == DiagnosisTarget.machine.place ? Sentence.machineWorks : .works(target))")
        }
        for remark in remarks { lines.append("\(remark.sentence)") }
        return lines.joined(separator: "\n")
    }
}
