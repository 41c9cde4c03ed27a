/// A table on a terminal that is drawn again in place whenever a row appears or disappears.
///
/// It returns the text to write, and writes nothing itself. Rows that do not fit are counted in a last line.
struct LiveTable {
    private let columns: [String]
    private let style: TerminalStyle
    private var rows: [[String]] = []
    /// The lines that the last drawing has left on the terminal.
    private var drawn = 0

    init(columns: [String], style: TerminalStyle) {
        self.columns = columns
        self.style = style
    }

    mutating func insert(_ row: [String]) {
        if !rows.contains(row) { rows.append(row) }
        rows.sort { $0.lexicographicallyPrecedes($1) }
    }

    mutating func remove(_ row: [String]) {
        rows.removeAll { $0 == row }
    }

    /// The drawing for a terminal of this size, which replaces the last one.
    mutating func drawing(width: Int, height: Int) -> ShownText {
        let lines = lines(width: width, height: height)
        let back: ShownText = drawn > 0 ? "\u{1b}[\(drawn)A\r\u{1b}[J" : ""
        drawn = lines.count
        return lines.reduce(back) { $0 + $1 + "\n" }
    }

    private func lines(width: Int, height: Int) -> [ShownText] {
        // One line for the cursor, one for the titles, and one for the number of rows left out.
        let room = max(1, height - 3)
        let shown = rows.prefix(rows.count > room ? room - 1 : room).map { $0.map(ShownText.escaped) }
        let widths = columns.indices.map { column in
            ([columns] + shown).map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        func line(_ cells: [String]) -> String {
            let text = zip(cells, widths).map { $0.padding(toAtLeast: $1) }.joined(separator: "  ")
            return text.count < width ? text : String(text.prefix(max(1, width - 4))) + style.ellipsis
        }
        var lines = [style.paint("\(line(columns))", .bold)]
        lines += shown.map { "\(line($0))" }
        if rows.count > shown.count { lines.append("\(style.ellipsis) and \(rows.count - shown.count) more") }
        return lines
    }
}
