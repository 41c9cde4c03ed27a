/// The measurements of all runs of one attack, compared with the limits.
public struct AttackOutcome: Sendable {
    /// The limit for the lateness of timers, as the median of the runs: 50 ms.
    public static let latenessBar = 50.0
    /// The limit for the growth of memory, in addition to the result that the victim requests: 16 MiB.
    public static let growthBar = 16 << 20
    /// The limit for the slowest operation: half a second more than the time limit of 2 s.
    public static let slowestBar = 2.5
    /// The minimum number of honest requests per second. An idle machine makes about 50.
    public static let honestRate = 5.0

    /// The row.
    public let attack: Attack
    /// The measurements of each run.
    public let runs: [AttackMeasurement]
    /// The reason why a run could not be measured, such as a crash of the victim.
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
    /// All breaches, and the failure of the measurement.
    public var breaches: [String] {
        runs.reduce(into: Set<String>()) { $0.formUnion($1.breaches) }.sorted() + (failure.map { [$0] } ?? [])
    }

    /// Whether every honest request succeeded.
    public var honestLoadFinished: Bool {
        runs.allSatisfy { $0.honestFailure == nil && Double($0.honestRequests) >= Self.honestRate * seconds }
    }

    /// The names of the limits that were exceeded: `lateness`, `growth`, `limit`, `honest load`, `breach`.
    public var missed: [String] {
        var missed: [String] = []
        if lateness > Self.latenessBar { missed.append("lateness") }
        if growth > Self.growthBar + attack.result { missed.append("growth") }
        if slowest > Self.slowestBar { missed.append("limit") }
        if !honestLoadFinished { missed.append("honest load") }
        if !breaches.isEmpty { missed.append("breach") }
        return missed
    }

    /// All measurements, to find the reason for an exceeded limit.
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
    /// The number with one decimal.
    public var tenths: String {
        let value = Int((self * 10).rounded())
        return "\(value / 10).\(abs(value) % 10)"
    }
}

extension Int {
    /// This number of bytes in MiB, with one decimal.
    public var mebibytes: String { (Double(self) / 1_048_576).tenths }
}

/// The measurements of one run of one attack.
public struct AttackMeasurement: Codable, Sendable {
    /// The worst lateness of the loop's timers, in milliseconds.
    public var lateness = 0.0
    /// The growth of the victim's memory since the beginning of the attack, in bytes.
    public var growth = 0
    /// The longest duration of an operation, or of a hostile connection to a server, in seconds.
    public var slowest = 0.0
    /// The number of operations.
    public var operations = 0
    /// The results of the operations, with their counts.
    public var endings: [String: Int] = [:]
    /// The number of honest requests that succeeded meanwhile.
    public var honestRequests = 0
    /// The error of the first honest request that failed.
    public var honestFailure: String?
    /// The breaches: what was leaked, accepted or done although it must not be.
    public var breaches: Set<String> = []
}
