import Foundation

/// One line that shows how far a transfer has come, how fast, and how long it will take; redrawn at most ten times a second.
struct ProgressBar {
    private static let interval: Duration = .milliseconds(100)
    private static let ratePeriod: Duration = .seconds(3)

    private let total: Int64?
    private let start = ContinuousClock.now
    private let offset: Int64
    private var drawn: ContinuousClock.Instant?
    private var marks: [(time: ContinuousClock.Instant, count: Int64)] = []

    /// - Parameters:
    ///   - total: how many bytes there will be, with those that are there already; nil if nobody knows.
    ///   - offset: how many are there already.
    init(total: Int64?, offset: Int64) {
        self.total = total
        self.offset = offset
        marks = [(start, offset)]
    }

    /// Draws the line if it is time to.
    mutating func show(_ count: Int64) {
        let now = ContinuousClock.now
        if let drawn, drawn.duration(to: now) < ProgressBar.interval { return }
        drawn = now
        marks.append((now, count))
        while marks.count > 2, marks[1].time.duration(to: now) > ProgressBar.ratePeriod { marks.removeFirst() }
        Terminal.write("\r\(line(count, now: now))\u{1b}[K", to: 2)
    }

    /// Draws it for the last time, and ends the line.
    mutating func finish(_ count: Int64) {
        marks = [(start, offset)]
        Terminal.write("\r\(line(count, now: .now))\u{1b}[K\n", to: 2)
    }

    private func line(_ count: Int64, now: ContinuousClock.Instant) -> String {
        let first = marks[0]
        let seconds = max(0.001, first.time.duration(to: now) / .seconds(1))
        let rate = Double(count - first.count) / seconds
        let amount = ProgressBar.size(Double(count))
        guard let total, total > 0 else { return "\(amount)  \(ProgressBar.size(rate))/s" }
        let share = min(1, Double(count) / Double(total))
        let left = rate > 0 ? ProgressBar.time(Double(total - count) / rate) : "--:--"
        let text =
            " \(Int(share * 100)) %  \(amount) of \(ProgressBar.size(Double(total)))  \(ProgressBar.size(rate))/s  \(left) left"
        let room = max(10, min(40, Terminal.width - text.count - 3))
        let filled = Int(share * Double(room))
        return "[" + String(repeating: "=", count: filled) + String(repeating: " ", count: room - filled) + "]" + text
    }

    static func size(_ count: Double) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        var value = count
        var unit = 0
        while value >= 1024, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        return unit == 0 ? "\(Int(value)) B" : String(format: "%.1f %@", value, units[unit])
    }

    private static func time(_ seconds: Double) -> String {
        let whole = Int(min(seconds.rounded(.up), 359_999))
        return whole >= 3600
            ? String(format: "%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60)
            : String(format: "%02d:%02d", whole / 60, whole % 60)
    }
}
