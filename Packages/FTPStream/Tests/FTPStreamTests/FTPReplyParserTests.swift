import Testing

@testable import FTPStream

/// Replies of all shapes, and what is none.
struct ReplyParserTests {
    private func replies(_ text: String, piece: Int = .max) throws(FTPError) -> [FTPReply] {
        var parser = FTPReplyParser()
        var rest = Array(text.utf8)[...]
        var replies: [FTPReply] = []
        while !rest.isEmpty {
            var used = 0
            if let reply = try parser.parse(rest.prefix(piece), used: &used) { replies.append(reply) }
            rest = rest.dropFirst(used)
        }
        return replies
    }

    @Test(
        arguments: [
            ("220 Hi\r\n", [220: ["Hi"]]),
            ("220\r\n", [220: [""]]),
            ("220 Hi\n", [220: ["Hi"]]),
            (
                "230-One\r\nTwo\r\n 230 three\r\n300-four\r\n300 five\r\n230-six\r\n230 seven\r\n",
                [230: ["One", "Two", " 230 three", "300-four", "300 five", "six", "seven"]]
            ),
            ("211-\r\n211 \r\n", [211: ["", ""]]),
            ("150 A\r\n226 B\r\n", [150: ["A"], 226: ["B"]]),
        ] as [(String, [Int: [String]])])
    func shapes(_ text: String, _ expected: [Int: [String]]) throws {
        for piece in [Int.max, 1, 2, 3, 5] {
            let found = try replies(text, piece: piece)
            #expect(
                Dictionary(
                    uniqueKeysWithValues: found.map {
                        ($0.code, $0.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
                    }) == expected)
        }
    }

    @Test(arguments: [
        "777 no\r\n", "20 no\r\n", "HTTP/1.1 400 Bad\r\n", "\r\n", "2000 no\r\n", "099 no\r\n", "220_no\r\n",
    ])
    func noReplies(_ text: String) {
        let error = #expect(throws: FTPError.self) { try replies(text) }
        #expect(error?.code == .notAReply)
    }

    @Test func limits() {
        let long = #expect(throws: FTPError.self) { try replies("220 " + String(repeating: "x", count: 9000)) }
        #expect(long?.code == .replyTooLong)
        let endless = #expect(throws: FTPError.self) {
            try replies("220-x\r\n" + String(repeating: String(repeating: "y", count: 100) + "\r\n", count: 1000))
        }
        #expect(endless?.code == .replyTooLong)
    }

    @Test func countOfLines() throws {
        let most = FTPReplyParser.lineCountLimit
        func reply(_ count: Int) -> String { "220-\n" + String(repeating: "\n", count: count - 2) + "220 x\n" }
        #expect(try replies(reply(most)).map(\.lines.count) == [most])
        let error = #expect(throws: FTPError.self) { try replies(reply(most + 1)) }
        #expect(error?.code == .replyTooLong && error?.sentence.key == "ftp.replyLines")
    }

    /// Bytes that control a terminal (ESC, and CSI as Latin-1) or change the direction of text (U+202E).
    @Test(arguments: [
        Array("No\u{1b}\u{7f} file".utf8), Array("No\u{202e} f\u{9b}ile".utf8),
        [0x4E, 0x6F, 0x9B] + Array(" file".utf8),
    ])
    func safeDescription(_ line: [UInt8]) {
        #expect(FTPReply(code: 550, lines: [[], line]).description == "550 No file")
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: FTPReplyParser.lineLimit)
        #expect(FTPReply(code: 550, lines: [long]).description.utf8.count == 4 + FTPReply.shownLimit)
        #expect(FTPError.notAReply(line).description.contains("\"No file\""))
    }

    @Test(
        arguments: [
            ("Entering Passive Mode (192,168,1,100,10,229)", 2789), ("=127,0,0,1,4,2", 1026), ("(1,2,3,4,0,0)", nil),
            ("(1,2,3,4,5)", nil), ("(1,2,3,4,5,256)", nil), ("(1,2,3,4,5,6,7)", nil), ("", nil),
            ("( 1, 2, 3, 4, 5, 6)", 1286),
        ] as [(String, UInt16?)])
    func passive(_ text: String, _ port: UInt16?) {
        #expect(PassiveReply.port(FTPReply(code: 227, lines: [Array(text.utf8)])) == port)
    }

    @Test(
        arguments: [
            ("Extended (|||6446|)", 6446), ("(!!!6446!)", 6446), ("(!!6446!)", nil), ("(|||0|)", nil),
            ("(|||65536|)", nil),
            ("(||||)", nil), ("(|2|::1|6446|)", 6446), ("(1116446 1)", nil), ("|||6446|", nil), ("(|||-1|)", nil),
        ] as [(String, UInt16?)])
    func extendedPassive(_ text: String, _ port: UInt16?) {
        #expect(PassiveReply.extendedPort(FTPReply(code: 229, lines: [Array(text.utf8)])) == port)
    }

    @Test(
        arguments: [
            ("\"/a b\" is it", "/a b"), ("\"/a\"\"b\"", "/a\"b"), ("/a", nil), ("\"/a", nil), ("\"\"", nil), ("", nil),
        ] as [(String, String?)])
    func directories(_ text: String, _ path: String?) {
        #expect(DirectoryReply.path(FTPReply(code: 257, lines: [Array(text.utf8)])) == path.map { Array($0.utf8) })
    }
}
