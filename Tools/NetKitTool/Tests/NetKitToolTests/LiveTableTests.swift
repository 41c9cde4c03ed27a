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
            // The narrowest terminals have room for the share only.
            let showsAmount = total == nil || width >= 25
            #expect(line.count < width && line.contains(showsAmount ? "1.0 GiB" : " %"))
        }
        #expect(ProgressBar.line(50, of: 100, rate: 10, width: width).contains("[===") == (width >= 54))
    }

    @Test("The bar of all files of a tree", arguments: [21, 30, 40, 80]) func bars(_ width: Int) {
        let all = TreeProgress.total(done: 2, found: 4, bytes: 3 << 20, rate: 1_048_576, width: width)
        #expect(all.count < width && all.hasPrefix("[==="), "\(all)")
        if width == 80 { #expect(all == "[==========          ]  2 of 4 files  3.0 MiB  1.0 MiB/s") }
        let one = TreeProgress.total(done: 1, found: 0, bytes: 9, rate: 9, width: 80)
        #expect(one.hasPrefix("[====================]  1 of 1 file  "), "\(one)")
    }
}
