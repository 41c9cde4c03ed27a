import Foundation
import NetKit

/// A ``LoadReport`` as text: a line for each request, redirect and login, and below it a bar for each step.
///
/// ```
/// GET http://www.example.org/  302 Found  14.2 ms
/// lookup www.example.org      ##                              2.1 ms  2 addresses
/// connect 192.0.2.7:80          #########                    11.8 ms  connected
/// ```
struct Waterfall {
    private static let widestBar = 30
    private static let narrowestBar = 8
    private static let maximumLabelLength = 48
    private static let timeWidth = 10

    private struct Row {
        var label: String
        var start: Duration
        var time: Duration?
        var note: String
        var colour: TerminalStyle.Colour
    }

    private let style: TerminalStyle
    private let total: Duration
    private let columns: Int?
    private var width = 0
    private var barWidth = widestBar

    private init(_ report: LoadReport, _ style: TerminalStyle, _ columns: Int?) {
        self.style = style
        self.columns = columns
        total = max(report.time, .microseconds(1))
    }

    /// All lines of a report.
    ///
    /// - Parameter columns: the width of the terminal, into which the rows are fitted; nil for no limit.
    static func lines(_ report: LoadReport, _ style: TerminalStyle, columns: Int? = nil) -> [ShownText] {
        var waterfall = Waterfall(report, style, columns)
        let rows = report.hops.enumerated().map { index, hop in
            waterfall.rows(hop) + (index == report.hops.count - 1 ? waterfall.body(of: report, hop) : [])
        }
        waterfall.width = min(maximumLabelLength, rows.joined().map(\.label.count).max() ?? 0)
        waterfall.fit()
        var lines: [ShownText] = []
        for (hop, rows) in zip(report.hops, rows) {
            lines.append(waterfall.head(hop))
            lines += rows.map(waterfall.line)
            if let tls = hop.tls, hop.steps.contains(where: { if case .tls = $0.kind { true } else { false } }) {
                let now = Int64(report.began.timeIntervalSince1970)
                lines += CertificateTree.lines(tls, style, now: now).map { "  \($0)" }
            }
        }
        return lines
    }

    /// Makes the bars and then the labels narrower until the times fit into the columns.
    private mutating func fit() {
        guard let columns else { return }
        let room = columns - 1 - 4 - Self.timeWidth
        barWidth = max(Self.narrowestBar, min(Self.widestBar, room - width))
        width = max(4, min(width, room - barWidth))
    }

    private func head(_ hop: LoadReport.Hop) -> ShownText {
        let cause: ShownText = hop.cause == .first ? "" : "\(hop.cause.rawValue): "
        let result = hop.response.map { "\($0.status.code) \($0.reason)" } ?? "no response"
        let text: ShownText = "\(cause)\(hop.method) \(hop.url)"
        return "\(style.paint(text, .bold))  \(result)  \(Self.milliseconds(hop.end - hop.start))"
    }

    private func rows(_ hop: LoadReport.Hop) -> [Row] {
        hop.phases.map { step in
            var label = step.kind.description
            if case .request = step.kind { label = "waiting" }
            return Row(
                label: label, start: hop.start + step.start, time: step.time, note: "\(step.outcome)",
                colour: Self.colour(step))
        }
    }

    private func body(of report: LoadReport, _ hop: LoadReport.Hop) -> [Row] {
        guard hop.response != nil else { return [] }
        let size = ProgressBar.size(Double(report.bytes))
        return [
            Row(label: "body", start: hop.headEnd, time: report.time - hop.headEnd, note: size, colour: .green)
        ]
    }

    private func line(_ row: Row) -> ShownText {
        let isCut = columns != nil && row.label.count > width
        let label = (isCut ? "\(row.label.prefix(width - style.ellipsis.count))\(style.ellipsis)" : row.label)
            .padding(toAtLeast: width)
        let time = row.time.map(Self.milliseconds) ?? style.ellipsis
        let (before, length) = position(row)
        let bar = ShownText(lines: String(repeating: style.block, count: length))
        let after = String(repeating: " ", count: barWidth - before - length)
        let gap = String(repeating: " ", count: before)
        // What is left of the line; a failure is printed in full after the report.
        let room = columns.map { max(0, $0 - 1 - width - barWidth - Self.timeWidth - 6) } ?? row.note.count
        let note = row.note.count <= room ? row.note : room > 8 ? "\(row.note.prefix(room - 3))..." : ""
        return
            "\(label)  \(gap)\(style.paint(bar, row.colour))\(after)  \(time.leftPadded(to: Self.timeWidth))  \(note)"
    }

    /// The columns before a bar and those of the bar; at least one.
    private func position(_ row: Row) -> (Int, Int) {
        let columns = Double(barWidth)
        let before = min(barWidth - 1, max(0, Int(columns * (row.start / total))))
        let length = Int((columns * ((row.time ?? .zero) / total)).rounded())
        return (before, max(1, min(barWidth - before, length)))
    }

    static func colour(_ step: ConnectionReport.Step) -> TerminalStyle.Colour {
        switch (step.outcome, step.kind) {
        case (.failed, _): .red
        case (.abandoned, _): .faint
        case (_, .lookup): .cyan
        case (_, .connect): .yellow
        case (_, .proxy): .magenta
        case (_, .tls): .magenta
        case (_, .stream), (_, .request): .blue
        }
    }

    static func milliseconds(_ time: Duration) -> String {
        String(format: "%.1f ms", max(0, time / .milliseconds(1)))
    }
}

extension String {
    /// The text with spaces after it.
    func padding(toAtLeast width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    /// The text with spaces before it.
    func leftPadded(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
