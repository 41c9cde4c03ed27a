import Testing

@testable import netkit

/// The table that is drawn in place.
@Suite struct LiveTableTests {
    private let style = TerminalStyle(isTerminal: false, environment: [:])

    @Test("A second drawing replaces the first") func redraws() {
        var table = LiveTable(columns: ["NAME", "TYPE"], style: style)
        table.insert(["Printer", "_ipp._tcp"])
        #expect(table.drawing(width: 80, height: 24).text == "NAME     TYPE     \nPrinter  _ipp._tcp\n")
        table.insert(["A\u{1b}[2J", "_ipp._tcp"])
        let second = table.drawing(width: 80, height: 24).text
        #expect(second.hasPrefix("\u{1b}[2A\r\u{1b}[J"))
        #expect(second.contains("A\\u{1b}[2J  _ipp._tcp\nPrinter "))
        table.remove(["Printer", "_ipp._tcp"])
        #expect(!table.drawing(width: 80, height: 24).text.contains("Printer"))
    }

    @Test("Rows beyond the terminal are counted, and long ones are cut") func fits() {
        var table = LiveTable(columns: ["NAME"], style: style)
        for number in 0..<50 { table.insert(["service \(number) " + String(repeating: "x", count: 99)]) }
        let lines = table.drawing(width: 40, height: 10).text.split(separator: "\n")
        #expect(lines.count < 10 && lines.last == "... and 44 more")
        #expect(lines.allSatisfy { $0.count < 40 })
    }
}

/// The line with the progress of a transfer.
@Suite struct ProgressBarTests {
    @Test(arguments: 21...200) func fitsIntoTheTerminal(_ width: Int) {
        for total in [nil, 3 << 30, 9] as [Int64?] {
            let line = ProgressBar.line(1 << 30, of: total, rate: 123_456_789, width: width)
            #expect(line.count < width && line.contains("1.0 GiB"))
        }
        #expect(ProgressBar.line(50, of: 100, rate: 10, width: width).contains("[===") == (width >= 53))
    }
}
