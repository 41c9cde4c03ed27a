import Foundation

/// A page that needs no network: its style is inline, and its policy permits neither scripts nor loads.
///
/// ```swift
/// var page = HTMLPage(title: "Report")
/// page.add("<p>\(escaping: sentence)</p>")
/// ```
struct HTMLPage {
    /// Markup, into which only escaped text can be interpolated.
    struct Markup: ExpressibleByStringInterpolation {
        let text: String

        init(stringLiteral value: String) { text = value }

        init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

        struct Interpolation: StringInterpolationProtocol {
            fileprivate var text = ""

            init(literalCapacity: Int, interpolationCount: Int) {}

            mutating func appendLiteral(_ literal: String) { text += literal }

            mutating func appendInterpolation(_ markup: Markup) { text += markup.text }

            mutating func appendInterpolation(escaping value: some Any) { text += HTMLPage.escaped("\(value)") }
        }
    }

    private let title: String
    private var body = ""

    init(title: String) {
        self.title = title
    }

    mutating func add(_ markup: Markup) {
        body += markup.text + "\n"
    }

    /// A time as pages show it, with the zone.
    static func time(_ date: Date) -> String {
        date.formatted(
            Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: .current).year().month().day().time(
                includingFractionalSeconds: false
            ).timeZone(separator: .omitted))
    }

    /// The whole page.
    var text: ShownText {
        let title = HTMLPage.escaped(title)
        return ShownText(
            lines: """
                <!DOCTYPE html>
                <html lang="en">
                <head>
                <meta charset="utf-8">
                <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <title>\(title)</title>
                <style>\(HTMLPage.style)</style>
                </head>
                <body>
                <h1>\(title)</h1>
                \(body)</body>
                </html>

                """)
    }

    private static func escaped(_ text: String) -> String {
        // By scalars, as browsers read them: a `<` after U+0D4E or before a combining mark is part of another `Character`.
        var result = ""
        for scalar in ShownText.escaped(text).unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static let style = """
        :root { color-scheme: light dark; --line: #8884; --soft: #8881 }
        body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 74em; padding: 0 1em; overflow-wrap: anywhere }
        h1 { font-size: 1.4em; margin-bottom: 0 } h2 { font-size: 1.1em; margin: 1.5em 0 .3em }
        p.note { margin: .2em 0 1.2em; opacity: .7 } p.box { border-left: 4px solid; padding: .4em .8em; background: var(--soft) }
        pre { font: .85em/1.5 ui-monospace, monospace; margin: 0; white-space: pre-wrap }
        table { border-collapse: collapse } td, th { padding: .25em .6em; text-align: left; vertical-align: top; font-weight: normal }
        table.waterfall { table-layout: fixed; width: 100% } .waterfall col.label { width: 24% } .waterfall col.bar { width: 42% }
        .waterfall col.time { width: 7em } .waterfall tr.hop th { padding-top: 1em; font-weight: 600 }
        .waterfall tr.hop { border-bottom: 1px solid var(--line) } .waterfall tr.hop small { font-weight: normal; opacity: .7 }
        td.time { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
        .bar { position: relative; padding: 0; overflow-wrap: normal }
        tbody .bar { background: linear-gradient(to right, var(--line) 1px, transparent 1px) 0 0 / 25% 100%; border-right: 1px solid var(--line) }
        .bar i { position: absolute; font: .75em/2 system-ui, sans-serif; opacity: .7; white-space: nowrap; transform: translateX(-50%) }
        thead th { height: 1.4em } .bar span { position: absolute; top: .5em; height: .9em; border-radius: 2px }
        .key span { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin: 0 .3em 0 1em } .key span:first-child { margin-left: 0 }
        .lookup { background: #17a2b8 } .connect { background: #d39e00 } .proxy { background: #8e44ad }
        .tls { background: #c2449b } .waiting { background: #3b7ddd } .body { background: #2e9e4f } .failed { background: #d33 }
        .down { color: #d33 } .up { color: #2e9e4f } .faint { opacity: .6 } .advice { color: CanvasText }
        @media (max-width: 40em) {
          .waterfall col.label { width: 34% } .waterfall col.bar { width: 30% } .waterfall col.time { width: 5.5em }
          .waterfall td, .waterfall th { padding-left: .2em; padding-right: .2em }
          .bar i:nth-child(even) { display: none }
        }
        """
}
