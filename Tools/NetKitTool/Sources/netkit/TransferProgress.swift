import ArgumentParser
import Foundation
import NetKit

/// A line on the terminal with a transfer's progress, rate and remaining time; redrawn at most ten times per second.
struct ProgressBar {
    private static let interval: Duration = .milliseconds(100)
    private static let ratePeriod: Duration = .seconds(3)

    private let total: Int64?
    private let start = ContinuousClock.now
    private let offset: Int64
    private var drawn: ContinuousClock.Instant?
    private var marks: [(time: ContinuousClock.Instant, count: Int64)] = []

    /// - Parameters:
    ///   - total: the size of the whole file in bytes; nil if unknown.
    ///   - offset: the bytes that an earlier transfer has left.
    init(total: Int64?, offset: Int64) {
        self.total = total
        self.offset = offset
        marks = [(start, offset)]
    }

    /// Draws the line, unless the last drawing is too recent.
    mutating func show(_ count: Int64) {
        let now = ContinuousClock.now
        if let drawn, drawn.duration(to: now) < ProgressBar.interval { return }
        drawn = now
        marks.append((now, count))
        while marks.count > 2, marks[1].time.duration(to: now) > ProgressBar.ratePeriod { marks.removeFirst() }
        Terminal.write("\r\(line(count, now: now))\u{1b}[K", to: 2)
    }

    /// Draws the final state, with the average rate, and ends the line.
    mutating func finish(_ count: Int64) {
        marks = [(start, offset)]
        Terminal.write("\r\(line(count, now: .now))\u{1b}[K\n", to: 2)
    }

    private func line(_ count: Int64, now: ContinuousClock.Instant) -> String {
        let first = marks[0]
        let seconds = max(0.001, first.time.duration(to: now) / .seconds(1))
        return ProgressBar.line(count, of: total, rate: Double(count - first.count) / seconds, width: Terminal.width)
    }

    /// The line for a terminal of this width, which is never longer: a line that wraps would scroll. A narrow one has no bar.
    static func line(_ count: Int64, of total: Int64?, rate: Double, width: Int) -> String {
        let amount = ProgressBar.size(Double(count))
        guard let total, total > 0 else { return String("\(amount)  \(ProgressBar.size(rate))/s".prefix(width - 1)) }
        let share = min(1, Double(count) / Double(total))
        let left = rate > 0 ? ProgressBar.time(Double(total - count) / rate) : "--:--"
        let text =
            " \(Int(share * 100)) %  \(amount) of \(ProgressBar.size(Double(total)))  \(ProgressBar.size(rate))/s  \(left) left"
        let room = min(40, width - text.count - 3)
        guard room >= 10 else { return String(text.dropFirst().prefix(width - 1)) }
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

/// The output of a tree transfer: on a terminal a line for all files and one for the current file, and a summary at the end.
final class TreeProgress: Sendable {
    /// Entries were skipped for another reason than their kind. The rest was transferred, and the summary printed.
    struct Incomplete: Error {
        let facts: JSONOutput.Facts
    }

    private struct State {
        var drawn: ContinuousClock.Instant?
    }

    private let start = ContinuousClock.now
    private let transfer: FTPTreeOptions
    private let state = Locked(State())

    init(_ transfer: FTPTreeOptions) {
        self.transfer = transfer
    }

    /// The options of the transfer, with this progress.
    var options: FTPTreeOptions {
        var options = transfer
        if Terminal.isInteractive { options.progress = { [self] in show($0) } }
        return options
    }

    private func show(_ progress: FTPTreeProgress) {
        let now = ContinuousClock.now
        let isDue = state.withLock { state in
            if let drawn = state.drawn, drawn.duration(to: now) < .milliseconds(100) { return false }
            state.drawn = now
            return true
        }
        guard isDue else { return }
        let seconds = max(0.001, start.duration(to: now) / .seconds(1))
        let rate = ProgressBar.size(Double(progress.report.bytes) / seconds)
        let all =
            "\(count(progress.report.files, "file"))  \(ProgressBar.size(Double(progress.report.bytes)))  \(rate)/s"
        let file = TreeProgress.line(progress, width: Terminal.width)
        // Two lines, after which the cursor is back on the first one.
        Terminal.write("\r\(all.prefix(Terminal.width - 1))\u{1b}[K\n\(file)\u{1b}[K\u{1b}[1A\r", to: 2)
    }

    /// The line of the current file: a bar if its size is known, and its name.
    static func line(_ progress: FTPTreeProgress, width: Int) -> String {
        let name = ShownText.escaped(progress.path)
        guard let size = progress.size, size > 0 else { return String(name.prefix(width - 1)) }
        let share = min(1, max(0, Double(progress.count) / Double(size)))
        let room = max(4, min(20, width / 3))
        let filled = Int(share * Double(room))
        let bar = "[" + String(repeating: "=", count: filled) + String(repeating: " ", count: room - filled) + "]"
        let percent = "\(Int(share * 100)) %".leftPadded(to: 5)
        return String("\(bar) \(percent)  \(name)".prefix(width - 1))
    }

    /// Returns the result of a transfer. After a failure, the progress is removed, so that the message stands by itself.
    func track(isUpload: Bool, _ transfer: () async throws -> FTPTreeReport) async throws -> JSONOutput.Facts {
        let report: FTPTreeReport
        do {
            report = try await transfer()
        } catch {
            clear()
            throw error
        }
        return try finish(report, isUpload: isUpload)
    }

    private func clear() {
        if Terminal.isInteractive { Terminal.write("\r\u{1b}[J", to: 2) }
    }

    /// Prints the skipped entries and a summary.
    ///
    /// - Throws: ``Incomplete`` if an entry was skipped; in a download only if for another reason than its kind.
    private func finish(_ report: FTPTreeReport, isUpload: Bool) throws(Incomplete) -> JSONOutput.Facts {
        clear()
        for skipped in report.skipped {
            let reason = skipped.sentence
            Terminal.say("netkit: skipped \(skipped.path): \(reason)")
        }
        if report.skippedCount > report.skipped.count {
            Terminal.say("netkit: and \(report.skippedCount - report.skipped.count) more")
        }
        let seconds = start.duration(to: .now) / .seconds(1)
        let notes = [
            (report.unchanged, "already complete"), (report.deleted, "deleted"),
            (report.datesLost, "without their dates"),
        ].filter { $0.0 > 0 }.map { ", \($0.0) \($0.1)" }.joined()
        Terminal.say(
            "netkit: \(count(report.files, "file")), \(count(report.directories, "folder")), "
                + "\(ProgressBar.size(Double(report.bytes))) in \((seconds * 10).rounded() / 10) s\(notes)")
        let facts: JSONOutput.Facts = [
            "files": report.files, "folders": report.directories, "bytes": report.bytes, "unchanged": report.unchanged,
            "deleted": report.deleted, "datesLost": report.datesLost, "leftOutCount": report.skippedCount,
            "leftOut": report.skipped.map { ["path": $0.path, "reason": $0.sentence] },
        ]
        if report.skipped.contains(where: { isUpload || $0.reason != .notAFile }) { throw Incomplete(facts: facts) }
        return facts
    }

    private func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}

extension FTPTreeReport.Skipped {
    /// The reason in words.
    var sentence: String {
        switch reason {
        case .unsafeName: "invalid file name"
        case .notAFile: "symbolic link or special file"
        case .tooDeep: "too deeply nested"
        case .tooMany: "too many folders are queued"
        case .refused(let reply): "the server refused it: \(reply.description)"
        }
    }
}
