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
        let facts = [
            "\(Int(share * 100)) %".leftPadded(to: 5), "\(amount) of \(ProgressBar.size(Double(total)))",
            "\(ProgressBar.size(rate))/s", "\(left) left",
        ]
        let text = facts.joined(separator: "  ")
        let room = min(40, width - text.count - 4)
        guard room >= 10 else { return ProgressBar.fitting(facts, width: width) }
        return "\(ProgressBar.bar(share, columns: room)) \(text)"
    }

    /// The first facts that fit into the width: none is cut.
    static func fitting(_ facts: [String], width: Int) -> String {
        var text = facts.first.map { $0.trimmingCharacters(in: .whitespaces) } ?? ""
        for fact in facts.dropFirst() {
            guard text.count + 2 + fact.count < width else { break }
            text += "  \(fact)"
        }
        return String(text.prefix(width - 1))
    }

    /// A bar with a share of its columns filled, in brackets.
    static func bar(_ share: Double, columns: Int) -> String {
        let filled = Int(min(1, max(0, share)) * Double(columns))
        return "[" + String(repeating: "=", count: filled) + String(repeating: " ", count: columns - filled) + "]"
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
        var description = "Not everything was transferred."
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
        let report = progress.report
        let all = TreeProgress.total(
            done: report.files + report.unchanged, found: report.filesFound, bytes: report.bytes,
            rate: Double(report.bytes) / seconds, width: Terminal.width)
        let file = TreeProgress.line(progress, width: Terminal.width)
        // Two lines, after which the cursor is back on the first one.
        Terminal.write("\r\(all)\u{1b}[K\n\(file)\u{1b}[K\u{1b}[1A\r", to: 2)
    }

    /// The columns of both bars.
    private static func columns(_ width: Int) -> Int { max(4, min(20, width / 3)) }

    /// The line of all files: a bar for those that are complete, of those in the directories that have been read.
    static func total(done: Int, found: Int, bytes: UInt64, rate: Double, width: Int) -> String {
        // A single file as the whole tree is in no directory.
        let found = max(done, found)
        let bar = ProgressBar.bar(found > 0 ? Double(done) / Double(found) : 0, columns: columns(width))
        let files = "\(done) of \(found) \(found == 1 ? "file" : "files")"
        return ProgressBar.fitting(
            [bar, files, ProgressBar.size(Double(bytes)), "\(ProgressBar.size(rate))/s"], width: width)
    }

    /// The line of the current file: a bar if its size is known, and its name.
    static func line(_ progress: FTPTreeProgress, width: Int) -> String {
        let name = ShownText.escaped(progress.path)
        guard let size = progress.size, size > 0 else { return String(name.prefix(width - 1)) }
        let share = min(1, max(0, Double(progress.count) / Double(size)))
        let bar = ProgressBar.bar(share, columns: columns(width))
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
            let path = skipped.path.isEmpty ? "the login directory" : skipped.path
            Terminal.say("netkit: \(skipped.isUnreadLine ? "" : "skipped ")\(path): \(skipped.sentence)")
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
            "deleted": report.deleted, "datesLost": report.datesLost, "skippedCount": report.skippedCount,
            "skipped": report.skipped.map { ["path": $0.path, "reason": $0.sentence] },
        ]
        let isWhole = report.skipped.allSatisfy { !isUpload && $0.reason == .notAFile }
        if !isWhole || report.skippedCount > report.skipped.count { throw Incomplete(facts: facts) }
        return facts
    }

    private func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}

extension FTPTreeReport.Skipped {
    /// Whether it is a line of a listing that could not be read, or only by a guess.
    var isUnreadLine: Bool {
        switch reason {
        case .unreadLine, .guessedLine: true
        case .unsafeName, .notAFile, .tooDeep, .tooMany, .refused, .failed: false
        }
    }

    /// The reason in words.
    var sentence: String {
        switch reason {
        case .unsafeName: "unsafe file name"
        case .notAFile: "symbolic link or special file"
        case .tooDeep: "too deeply nested"
        case .tooMany: "too many folders are queued"
        case .refused(let reply): "the server refused it: \(reply.description)"
        case .failed(let reason): reason
        case .unreadLine(let line): "a line of its listing could not be read: \(line)"
        case .guessedLine(let line): "a line of its listing \(UnreadReport.guess): \(line)"
        }
    }
}
