import NetKit

/// A diagnosis as a ladder: a line for each rung, the lowest first, with its result, time and address.
///
/// ```
/// ok   link
/// ok   name            2.1 ms  192.0.2.7
/// FAIL connection     11.8 ms  192.0.2.7:443
/// -    answer
/// ```
enum DiagnosisLadder {
    static func lines(_ diagnosis: Diagnosis, _ style: TerminalStyle) -> [ShownText] {
        diagnosis.ladder.map { step in
            let name = step.rung.description.padding(toAtLeast: 14)
            let time = (step.time.map(Waterfall.milliseconds) ?? "").leftPadded(to: 10)
            let sign = sign(step.state, style)
            guard step.time != nil || step.address != nil else { return "\(sign) \(step.rung)" }
            guard let address = step.address else { return "\(sign) \(name) \(time)" }
            return "\(sign) \(name) \(time)  \(address)"
        }
    }

    /// The sign of a result; all signs of a style have the same width.
    private static func sign(_ state: RungResult.State, _ style: TerminalStyle) -> ShownText {
        let space: ShownText = style.isUnicode ? "" : "  "
        return switch state {
        case .works: "\(style.tick)\(space)"
        case .broken: style.cross
        case .unchecked: "\(style.paint("-", .faint))\(style.isUnicode ? "" : "   ")"
        }
    }

    /// The time that a user would wait: that of the answer, else that of the connection.
    static func latency(_ diagnosis: Diagnosis) -> Duration? {
        let times = diagnosis.ladder.filter { $0.state == .works && $0.time != nil }
        return (times.last { $0.rung == .answer } ?? times.last { $0.rung >= .proxy } ?? times.last)?.time
    }

    /// One line of the timeline of `--watch --interval`: a bar for the latency, one column for 10 ms, or the fault.
    static func moment(_ diagnosis: Diagnosis, at time: String, _ style: TerminalStyle) -> ShownText {
        if let cause = diagnosis.cause {
            return "\(time)  \(style.cross) \(style.paint("\(cause.rung): \(cause.sentence)", .red))"
        }
        guard let latency = latency(diagnosis) else { return "\(time)  \(style.tick)" }
        let columns = min(40, max(1, Int((latency / .milliseconds(10)).rounded())))
        let bar = ShownText(lines: String(repeating: style.block, count: columns))
        let shown = Waterfall.milliseconds(latency).leftPadded(to: 10)
        return "\(time)  \(sign(.works, style)) \(shown)  \(style.paint(bar, .green))"
    }
}
