import Testing

@testable import FTPStream

/// What is believed of replies that carry a port or a path.
struct DataReplyTests {
    private func reply(_ text: String) -> FTPReply { FTPReply(code: 227, lines: [Array(text.utf8)]) }

    @Test(
        arguments: [
            ("Entering Passive Mode (10,0,0,1,7,138)", 1930), ("=10,0,0,1,7,138", 1930),
            ("(10, 0, 0, 1, 7, 138).", 1930),
            ("10,0,0,1,0,21", 21), ("v2 (10,0,0,1,255,255)", 65535),
            ("(10,0,0,1,7)", nil), ("(10,0,0,1,7,256)", nil), ("(10,0,0,1,0,0)", nil), ("(a,b,c,d,e,f)", nil),
            ("", nil),
            ("(10,0,0,1,7,138,9)", nil), ("(-1,0,0,1,7,138)", 1930), ("(0010,0,0,1,7,138)", nil),
        ] as [(String, UInt16?)])
    func passive(_ text: String, _ port: UInt16?) {
        #expect(PassiveReply.port(reply(text)) == port)
    }

    @Test(
        arguments: [
            ("Extended (|||6446|)", 6446), ("(!!!6446!)", 6446), ("(|1|192.0.2.1|6446|)", 6446),
            ("(|||65535|) ok", 65535),
            ("(|||0|)", nil), ("(|||65536|)", nil), ("(|||-1|)", nil), ("(||6446|)", nil), ("(|||6446|", 6446),
            ("|||6446|", nil), ("(111644611)", nil), ("(|||64x46|)", nil), ("()", nil), ("(", nil), ("", nil),
        ] as [(String, UInt16?)])
    func extended(_ text: String, _ port: UInt16?) {
        #expect(PassiveReply.extendedPort(reply(text)) == port)
    }

    @Test(
        "CVE-2017-1000254, CVE-2018-1000120: the path of PWD, with quotes, without, without end",
        arguments: [
            ("\"/\"", "/"), ("\"/a b\" is it", "/a b"), ("\"/a\"\"b\"", "/a\"b"), ("\"\"\"\"", "\""),
            ("it is \"/x\"", "/x"),
            ("/a", nil), ("\"/a", nil), ("\"", nil), ("\"\"", nil), ("", nil), ("\"/a\"\"", nil),
        ] as [(String, String?)])
    func directories(_ text: String, _ path: String?) {
        #expect(DirectoryReply.path(reply(text)) == path.map { Array($0.utf8) })
    }

    /// Sizes beyond 32 bits, and numbers that are none.
    @Test(
        arguments: [
            ("5368709120", 5_368_709_120), ("18446744073709551615", UInt64.max), ("18446744073709551616", nil),
            ("-1", nil),
            ("", nil), ("12x", nil), (" 7 ", 7),
        ] as [(String, UInt64?)])
    func numbers(_ text: String, _ number: UInt64?) {
        #expect(Array(text.utf8)[...].trimmed.number == number)
    }
}
