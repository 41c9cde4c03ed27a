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
        :root { color-scheme: light dark }
        body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em }
        h1 { font-size: 1.4em } h2 { font-size: 1.1em; margin: 1.5em 0 .3em; overflow-wrap: anywhere }
        table { border-collapse: collapse; width: 100% } td, th { padding: .2em .6em; text-align: left; vertical-align: top }
        td.time { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
        td.bar { width: 40%; position: relative } td.bar span { position: absolute; top: .45em; height: .9em; border-radius: 2px }
        .lookup { background: #17a2b8 } .connect { background: #d39e00 } .proxy { background: #8e44ad }
        .tls { background: #c2449b } .waiting { background: #3b7ddd } .body { background: #2e9e4f } .failed { background: #d33 }
        .down { color: #d33 } .up { color: #2e9e4f } .faint { opacity: .6 }
        """
}
