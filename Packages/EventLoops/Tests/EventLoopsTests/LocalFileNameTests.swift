import Testing

@_spi(Packages) @testable import EventLoops

extension EventLoopsTests {
    @Suite struct LocalFileNameTests {
        @Test(arguments: [
            "report.pdf", "a b.txt", "naïve.txt", "日本.html", "x-rf", "a..b", "C:\\x", "~", "👩\u{200d}👧.jpg",
        ])
        func aNameIsSafe(_ name: String) {
            #expect(LocalFileName.refusal(of: name.utf8) == nil)
        }

        @Test(arguments: [
            ("", LocalFileName.Refusal.empty), ("   ", .empty), (".", .folder), ("..", .folder), ("../x", .separator),
            ("/etc/passwd", .separator), ("a/", .separator), ("a\u{0}b", .control), ("a\nb", .control),
            ("\u{1b}[2J", .control), ("a\u{7f}", .control), ("a\u{9b}2J", .control), ("txt.\u{202e}gpj", .control),
            ("a\u{2028}b", .control), (".bashrc", .hidden), ("...", .hidden), ("-rf", .option), ("-", .option),
        ])
        func aNameIsRefused(_ name: String, _ refusal: LocalFileName.Refusal) {
            #expect(LocalFileName.refusal(of: name.utf8) == refusal)
        }

        @Test func hiddenNamesArePermittedOnRequest() {
            #expect(LocalFileName.refusal(of: ".htaccess".utf8, permitsHidden: true) == nil)
            #expect(LocalFileName.refusal(of: "..".utf8, permitsHidden: true) == .folder)
        }

        @Test func namesInAnotherEncodingAreJudgedByTheirBytes() {
            #expect(LocalFileName.refusal(of: [0x6d, 0xfc, 0x6c, 0x6c]) == nil)
            #expect(LocalFileName.refusal(of: [0x6d, 0xfc, 0x0a]) == .control)
        }

        @Test func theLengthIsLimited() {
            #expect(LocalFileName.refusal(of: Array(repeating: 0x61, count: 240)) == nil)
            #expect(LocalFileName.refusal(of: Array(repeating: 0x61, count: 241)) == .tooLong)
        }
    }
}
