/// What all runs of one attack have shown, and whether that is good enough.
public struct AttackOutcome: Sendable {
    /// Timers may be so late, as the median of the runs: 50 ms.
    public static let latenessBar = 50.0
    /// The memory may grow by so much beside the result that the victim asks for: 16 MiB.
    public static let growthBar = 16 << 20
    /// A time limit of 2 s must be kept within half a second.
    public static let slowestBar = 2.5
    /// The honest load makes some 50 requests a second on an idle machine; fewer than this is no load that finished.
    public static let honestRate = 5.0

    /// The row.
    public let attack: Attack
    /// What was measured, run by run.
    public let runs: [AttackMeasurement]
    /// Why a run could not be measured, a crash of the victim above all.
    public let failure: String?
    private let seconds: Double

    init(_ attack: Attack, seconds: Double, runs: [AttackMeasurement], failure: String?) {
        (self.attack, self.seconds, self.runs, self.failure) = (attack, seconds, runs, failure)
    }

    /// The median of the runs' worst lateness, in milliseconds.
    public var lateness: Double {
        let sorted = runs.map(\.lateness).sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }
    /// The largest growth, in bytes.
    public var growth: Int { runs.map(\.growth).max() ?? 0 }
    /// The slowest operation of all, in seconds.
    public var slowest: Double { runs.map(\.slowest).max() ?? 0 }
    /// The fewest honest requests of a run.
    public var honestRequests: Int { runs.map(\.honestRequests).min() ?? 0 }
    /// Everything that must not have happened.
    public var breaches: [String] {
        runs.reduce(into: Set<String>()) { $0.formUnion($1.breaches) }.sorted() + (failure.map { [$0] } ?? [])
    }

    /// Whether every honest request was answered.
    public var honestLoadFinished: Bool {
        runs.allSatisfy { $0.honestFailure == nil && Double($0.honestRequests) >= Self.honestRate * seconds }
    }

    /// The names of the bars that were missed: `lateness`, `growth`, `limit`, `honest load`, `breach`.
    public var missed: [String] {
        var missed: [String] = []
        if lateness > Self.latenessBar { missed.append("lateness") }
        if growth > Self.growthBar + attack.result { missed.append("growth") }
        if slowest > Self.slowestBar { missed.append("limit") }
        if !honestLoadFinished { missed.append("honest load") }
        if !breaches.isEmpty { missed.append("breach") }
        return missed
    }

    /// Everything that happened, for a reader who wants to know why.
    public var details: String {
        var lines: [String] = []
        for (number, run) in runs.enumerated() {
            let endings = run.endings.sorted { $0.value > $1.value }.map { "\($0.value) × \($0.key)" }
            lines.append(
                "    run \(number + 1): lateness \(run.lateness.tenths) ms, growth \(run.growth.mebibytes) MiB, "
                    + "slowest \(run.slowest.tenths) s, \(run.honestRequests) honest requests")
            lines += endings.prefix(5).map { "        \($0)" }
            if let failure = run.honestFailure { lines.append("        honest load: \(failure)") }
        }
        lines += breaches.map { "    breach: \($0)" }
        return lines.joined(separator: "\n")
    }
}

extension Double {
    /// With one digit behind the point.
    public var tenths: String {
        let value = Int((self * 10).rounded())
        return "\(value / 10).\(abs(value) % 10)"
    }
}

extension Int {
    /// This many bytes in MiB, with one digit behind the point.
    public var mebibytes: String { (Double(self) / 1_048_576).tenths }
}
