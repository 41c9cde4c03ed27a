/// The result of a diagnosis: the cause of the failure, the other findings, and what could not be checked.
///
/// ```swift
/// let diagnosis = try await NetDiagnostic(url: url).diagnose()
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
    /// The rungs that the target needs, the lowest first, each with its state, and its time and address if they are known.
    ///
    /// ```swift
    /// for step in diagnosis.ladder { print(step.rung, step.state, step.address ?? "") }
    /// ```
    public var ladder: [RungResult]

    /// Divides the findings into cause, consequences and remarks. `findings` must be sorted by rung, the lowest first.
    init(
        target: String, findings: [Finding], checked: Set<Rung>, needed: [Rung], uncheckable: [Sentence] = [],
        families: [FamilyVerdict] = [], measured: [Rung: RungMeasurement] = [:]
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
        let broken = Set(failures.map(\.rung))
        ladder = Set(needed).union(broken).sorted().map { rung in
            let state: RungResult.State = broken.contains(rung) ? .broken : checked.contains(rung) ? .works : .unchecked
            let measurement = measured[rung]
            let isMeasured = state != .unchecked
            return RungResult(
                rung: rung, state: state, time: isMeasured ? measurement?.time : nil,
                address: isMeasured ? measurement?.address : nil)
        }
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

/// Whether the target can be reached over one address family, IPv4 or IPv6, by itself.
///
/// ```swift
/// for verdict in diagnosis.families { print(verdict) }      // IPv6: broken: There is no route to 2001:db8::7.
/// ```
public struct FamilyVerdict: Sendable, Hashable {
    /// The result for one family.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// A connection over this family succeeds.
        case works
        /// Connections over this family fail.
        case broken
        /// This machine has no address of the family.
        case notHere
        /// The target has no address of the family.
        case notThere
        /// The family was not tried.
        case unknown
    }

    /// IPv4 or IPv6.
    public var family: AddressFamilies
    /// The result for the family.
    public var state: State
    /// The finding on the lowest rung that is broken for this family; nil unless ``state`` is ``State/broken``.
    public var finding: Finding?

    /// Creates a verdict.
    package init(_ family: AddressFamilies, _ state: State, _ finding: Finding? = nil) {
        self.family = family
        self.state = state
        self.finding = finding
    }

    /// `IPv4` or `IPv6`.
    public var name: String { family == .v6 ? "IPv6" : "IPv4" }
}

extension FamilyVerdict: CustomStringConvertible {
    /// The family's name, its state, and the reason if it is broken.
    public var description: String {
        let sentence: Sentence =
            switch state {
            case .works: .familyWorks(name)
            case .broken: .familyBroken(name, because: finding.map { "\($0.sentence)" } ?? "")
            case .notHere: .familyNotHere(name)
            case .notThere: .familyNotThere(name)
            case .unknown: .familyUnknown(name)
            }
        return "\(sentence)"
    }
}

extension Diagnosis: Encodable {
    /// The version of the JSON form. It increases when a field changes its meaning or is removed.
    static let schemaVersion = 1

    private enum Key: String, CodingKey {
        case schema, target, status, cause, consequences, remarks, unchecked, uncheckable, families
    }

    /// Encodes the form that <doc:DiagnosisJSON> describes.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(Diagnosis.schemaVersion, forKey: .schema)
        try container.encode(target, forKey: .target)
        try container.encode("\(status)", forKey: .status)
        try container.encodeIfPresent(cause, forKey: .cause)
        try container.encode(consequences, forKey: .consequences)
        try container.encode(remarks, forKey: .remarks)
        try container.encode(unchecked.map(\.description), forKey: .unchecked)
        try container.encode(uncheckable.map(\.description), forKey: .uncheckable)
        try container.encode(families, forKey: .families)
    }
}

extension FamilyVerdict: Encodable {
    private enum Key: String, CodingKey {
        case family, state, cause
    }

    /// Encodes the form that <doc:DiagnosisJSON> describes.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(name, forKey: .family)
        try container.encode(state.rawValue, forKey: .state)
        try container.encodeIfPresent(finding?.code.rawValue, forKey: .cause)
    }
}
