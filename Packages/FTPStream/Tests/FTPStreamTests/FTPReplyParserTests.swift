import Testing

@testable import FTPStream

/// Replies of all forms, and lines that are not replies.
struct FTPReplyParserTests {
    private func parsed(_ text: String, piece: Int = .max) throws(FTPError) -> [FTPReply] {
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

    // Parity: FT-051
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
    func replies(_ text: String, _ expected: [Int: [String]]) throws {
        for piece in [Int.max, 1, 2, 3, 5] {
            let found = try parsed(text, piece: piece)
            #expect(
                Dictionary(
                    uniqueKeysWithValues: found.map {
                        ($0.code, $0.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
                    }) == expected)
        }
    }

    @Test(arguments: [
        "777 no\r\n", "20 no\r\n", "HTTP/1.1 400 Bad\r\n", "\r\nno\r\n", " \r\n", "2000 no\r\n", "099 no\r\n",
        "220_no\r\n",
    ])
    func linesThatAreNotReplies(_ text: String) {
        let error = #expect(throws: FTPError.self) { try parsed(text) }
        #expect(error?.code == .notAReply)
    }

    @Test(arguments: ["\r\n220 a\r\n", "\n\r\n220 a\r\n", "220-x\r\n220 a\r\n\r\n226 b\r\n"])
    func emptyLinesBetweenRepliesAreSkipped(_ text: String) throws {
        #expect(try parsed(text).first?.code == 220)
    }

    @Test func repliesHaveALimitedSize() {
        let empty = #expect(throws: FTPError.self) { try parsed(String(repeating: "\r\n", count: 70_000)) }
        #expect(empty?.code == .replyTooLong)
        let long = #expect(throws: FTPError.self) { try parsed("220 " + String(repeating: "x", count: 9000)) }
        #expect(long?.code == .replyTooLong)
        let endless = #expect(throws: FTPError.self) {
            try parsed("220-x\r\n" + String(repeating: String(repeating: "y", count: 100) + "\r\n", count: 1000))
        }
        #expect(endless?.code == .replyTooLong)
    }

    @Test func aReplyHasALimitedNumberOfLines() throws {
        let most = FTPReplyParser.maximumLineCount
        func reply(_ count: Int) -> String { "220-\n" + String(repeating: "\n", count: count - 2) + "220 x\n" }
        #expect(try parsed(reply(most)).map(\.lines.count) == [most])
        let error = #expect(throws: FTPError.self) { try parsed(reply(most + 1)) }
        #expect(error?.code == .replyTooLong && error?.sentence.key == "ftp.replyLines")
    }
}
