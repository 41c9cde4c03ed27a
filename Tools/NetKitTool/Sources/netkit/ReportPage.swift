import Foundation
import NetKit

/// A ``LoadReport`` as a page: a table of bars for each request, redirect and login.
enum ReportPage {
    static func page(_ report: LoadReport, url: String) -> HTMLPage {
        var page = HTMLPage(title: "netkit get \(JSONOutput.url(url))")
        let size = ProgressBar.size(Double(report.bytes))
        page.add(
            "<p>\(escaping: report.began.formatted(.iso8601)): \(escaping: report.hops.count) requests, \(escaping: size), \(escaping: Waterfall.milliseconds(report.time))</p>"
        )
        if let failure = report.failure { page.add("<p class=\"down\">\(escaping: failure)</p>") }
        for (index, hop) in report.hops.enumerated() {
            let cause = hop.cause == .first ? "" : "\(hop.cause.rawValue): "
            let result = hop.response.map { "\($0.status.code) \($0.reason)" } ?? "no response"
            page.add(
                "<h2>\(escaping: cause)\(escaping: hop.method) \(escaping: hop.url) – \(escaping: result)</h2>\n<table>"
            )
            for step in hop.phases { page.add(row(step, hop, report)) }
            if index == report.hops.count - 1, hop.response != nil {
                page.add(row("body", "body", hop.headEnd, report.time - hop.headEnd, size, report))
            }
            page.add("</table>")
        }
        return page
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
