import Foundation
import NetKit

/// A ``LoadReport`` as a page: one table of bars, with a section for each request, redirect and login.
enum ReportPage {
    private static let kinds: [(style: HTMLPage.Markup, name: String)] = [
        ("lookup", "lookup"), ("connect", "connect"), ("proxy", "proxy"), ("tls", "TLS"), ("waiting", "waiting"),
        ("body", "body"), ("failed", "failed"),
    ]

    static func page(_ report: LoadReport, url: String) -> HTMLPage {
        var page = HTMLPage(title: "netkit get \(JSONOutput.url(url))")
        let size = ProgressBar.size(Double(report.bytes))
        let count = "\(report.hops.count) request\(report.hops.count == 1 ? "" : "s")"
        let facts = [HTMLPage.time(report.began), count, size, Waterfall.milliseconds(report.time)]
        page.add("<p class=\"note\">\(escaping: facts.joined(separator: " · "))</p>")
        if let failure = report.failure { page.add("<p class=\"box down\">\(escaping: failure)</p>") }
        page.add(key)
        page.add(
            """
            <table class="waterfall">
            <colgroup><col class="label"><col class="bar"><col class="time"><col></colgroup>
            <thead><tr><th></th><th class="bar">\(axis(report))</th><th></th><th></th></tr></thead>
            """)
        for (index, hop) in report.hops.enumerated() {
            page.add("<tbody>")
            page.add(head(hop))
            for step in hop.phases { page.add(row(step, hop, report)) }
            if index == report.hops.count - 1, hop.response != nil {
                page.add(row("body", "body", hop.headEnd, report.time - hop.headEnd, size, report))
            }
            if let certificates = certificates(hop, report) { page.add(certificates) }
            page.add("</tbody>")
        }
        page.add("</table>")
        return page
    }

    /// The meaning of the colours.
    private static var key: HTMLPage.Markup {
        let entries = kinds.reduce("") {
            "\($0)<span class=\"\($1.style)\"></span>\(escaping: $1.name)" as HTMLPage.Markup
        }
        return "<p class=\"key\">\(entries)</p>"
    }

    /// The times above the bars: none, a quarter, a half, three quarters, all.
    private static func axis(_ report: LoadReport) -> HTMLPage.Markup {
        (0...4).reduce("") { axis, quarter in
            let time = Waterfall.milliseconds(report.time * quarter / 4)
            return "\(axis)<i style=\"left: \(escaping: quarter * 25)%\">\(escaping: time)</i>"
        }
    }

    private static func head(_ hop: LoadReport.Hop) -> HTMLPage.Markup {
        let cause = hop.cause == .first ? "" : "\(hop.cause.rawValue): "
        let result = hop.response.map { "\($0.status.code) \($0.reason)" } ?? "no response"
        let time = Waterfall.milliseconds(hop.end - hop.start)
        return """
            <tr class="hop"><th colspan="4">\(escaping: cause)\(escaping: hop.method) \(escaping: hop.url) – \(escaping: result) \
            <small>\(escaping: time)</small></th></tr>
            """
    }

    /// The certificates of a connection that the hop has opened.
    private static func certificates(_ hop: LoadReport.Hop, _ report: LoadReport) -> HTMLPage.Markup? {
        guard let tls = hop.tls, hop.steps.contains(where: { if case .tls = $0.kind { true } else { false } }) else {
            return nil
        }
        let now = Int64(report.began.timeIntervalSince1970)
        let lines = CertificateTree.lines(tls, .page, now: now)
        let text = lines.reduce("") { "\($0)\(escaping: $1.text)\n" as HTMLPage.Markup }
        return "<tr><td colspan=\"4\"><pre>\(text)</pre></td></tr>"
    }

    private static func row(
        _ step: ConnectionReport.Step, _ hop: LoadReport.Hop, _ report: LoadReport
    ) -> HTMLPage.Markup {
        var label = step.kind.description
        let kind: String
        switch step.kind {
        case .lookup: kind = "lookup"
        case .connect: kind = "connect"
        case .proxy: kind = "proxy"
        case .tls: kind = "tls"
        case .stream: kind = "waiting"
        case .request: (kind, label) = ("waiting", "waiting")
        }
        return row(
            label, step.outcome.isFailure ? "failed" : kind, hop.start + step.start, step.time, "\(step.outcome)",
            report)
    }

    private static func row(
        _ label: String, _ kind: String, _ start: Duration, _ time: Duration?, _ note: String, _ report: LoadReport
    ) -> HTMLPage.Markup {
        let total = max(report.time, .microseconds(1))
        func share(_ time: Duration) -> Double { (min(1, max(0, time / total)) * 10000).rounded() / 100 }
        let left = min(99.5, share(start))
        let width = min(100 - left, max(0.5, share(time ?? .zero)))
        let shown = time.map(Waterfall.milliseconds) ?? "…"
        return """
            <tr><td>\(escaping: label)</td><td class="bar"><span class="\(escaping: kind)" \
            style="left: \(escaping: left)%; width: \(escaping: width)%"></span></td>\
            <td class="time">\(escaping: shown)</td><td>\(escaping: note)</td></tr>
            """
    }
}
