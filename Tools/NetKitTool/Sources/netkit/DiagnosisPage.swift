import Foundation
import NetKit

/// A diagnosis as a page for a support desk: the cause with its advice and evidence, the ladder, and the other findings.
enum DiagnosisPage {
    static func page(_ diagnosis: Diagnosis, at date: Date) -> HTMLPage {
        var page = HTMLPage(title: "netkit diagnose \(diagnosis.target)")
        page.add("<p class=\"note\">\(escaping: HTMLPage.time(date))</p>")
        if let cause = diagnosis.cause {
            page.add(finding(cause, "box down"))
        } else {
            page.add("<p class=\"box up\">\(escaping: diagnosis.target): no fault found.</p>")
        }
        page.add("<h2>Ladder</h2>\n<table>")
        for step in diagnosis.ladder { page.add(row(step)) }
        page.add("</table>")
        section("Remarks", diagnosis.remarks, in: &page)
        section("Consequences", diagnosis.consequences, in: &page)
        if !diagnosis.uncheckable.isEmpty || !diagnosis.families.isEmpty { page.add("<h2>Details</h2>") }
        for sentence in diagnosis.uncheckable { page.add("<p>\(escaping: sentence)</p>") }
        for family in diagnosis.families { page.add("<p>\(escaping: family)</p>") }
        return page
    }

    private static func section(_ title: String, _ findings: [Finding], in page: inout HTMLPage) {
        guard !findings.isEmpty else { return }
        page.add("<h2>\(escaping: title)</h2>")
        for one in findings { page.add(finding(one, "")) }
    }

    private static func row(_ step: RungResult) -> HTMLPage.Markup {
        let (style, sign) =
            switch step.state {
            case .works: ("up", "✔")
            case .broken: ("down", "✘")
            case .unchecked: ("faint", "–")
            }
        let isChecked = step.state != .unchecked
        let time = step.time.map(Waterfall.milliseconds) ?? (isChecked ? "" : "not checked")
        return """
            <tr class="\(escaping: style)"><td>\(escaping: sign)</td><td>\(escaping: step.rung)</td>\
            <td class="time">\(escaping: time)</td><td>\(escaping: step.address ?? "")</td></tr>
            """
    }

    private static func finding(_ finding: Finding, _ style: String) -> HTMLPage.Markup {
        var text: HTMLPage.Markup = """
            <p class="\(escaping: style)"><b>\(escaping: finding.rung): \(escaping: finding.sentence)</b><br>\
            <span class="advice">\(escaping: finding.advice)</span></p>
            """
        if finding.evidence.isEmpty { return text }
        text = "\(text)\n<ul>"
        for line in finding.evidence { text = "\(text)<li>\(escaping: line)</li>" }
        return "\(text)</ul>"
    }
}
