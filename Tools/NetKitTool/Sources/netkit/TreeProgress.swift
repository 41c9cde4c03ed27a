import ArgumentParser
import NetKit

/// What is shown of the transfer of a whole tree: on a terminal one line that changes, and at the end what was done.
final class TreeProgress: Sendable {
    /// Something was left out that should not have been; all else is done, and has been told.
    struct Incomplete: Error {
        let facts: JSONOutput.Facts
    }

    private struct State {
        var drawn: ContinuousClock.Instant?
    }

    private let start = ContinuousClock.now
    private let resumes: Bool
    private let state = Locked(State())

    init(resumes: Bool) {
        self.resumes = resumes
    }

    var options: FTPTreeOptions {
        var options = FTPTreeOptions()
        options.resumes = resumes
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
        let share = progress.size.map { $0 > 0 ? " \(min(100, progress.count * 100 / $0)) %" : "" } ?? ""
        let text =
            "\(progress.report.files) files  \(ProgressBar.size(Double(progress.report.bytes)))  \(rate)/s  "
            + ShownText.escaped(progress.path) + share
        Terminal.write("\r\(text.prefix(Terminal.width - 1))\u{1b}[K", to: 2)
    }

    /// Says what was done and what was left out; fails if that was not for its kind alone.
    func finish(_ report: FTPTreeReport) throws(Incomplete) -> JSONOutput.Facts {
        if Terminal.isInteractive { Terminal.write("\r\u{1b}[K", to: 2) }
        for skipped in report.skipped {
            let reason = TreeProgress.reason(skipped)
            Terminal.say("netkit: left out \(skipped.path): \(reason)")
        }
        if report.skippedCount > report.skipped.count {
            Terminal.say("netkit: and \(report.skippedCount - report.skipped.count) more")
        }
        let seconds = start.duration(to: .now) / .seconds(1)
        let unchanged = report.unchanged > 0 ? ", \(report.unchanged) complete already" : ""
        Terminal.say(
            "netkit: \(count(report.files, "file")), \(count(report.directories, "folder")), "
                + "\(ProgressBar.size(Double(report.bytes))) in \((seconds * 10).rounded() / 10) s\(unchanged)")
        let facts: JSONOutput.Facts = [
            "files": report.files, "folders": report.directories, "bytes": report.bytes, "unchanged": report.unchanged,
            "leftOutCount": report.skippedCount,
            "leftOut": report.skipped.map { ["path": $0.path, "reason": TreeProgress.reason($0)] },
        ]
        if report.skipped.contains(where: { $0.reason != .notAFile }) { throw Incomplete(facts: facts) }
        return facts
    }

    private static func reason(_ skipped: FTPTreeReport.Skipped) -> String {
        switch skipped.reason {
        case .unsafeName: "its name cannot be one here"
        case .notAFile: "it is a link or no file"
        case .tooDeep: "it lies too deep"
        case .tooMany: "too many folders wait to be entered"
        case .refused(let reply): "the server refused it: \(reply.description)"
        }
    }

    private func count(_ number: Int, _ what: String) -> String { "\(number) \(what)\(number == 1 ? "" : "s")" }
}
