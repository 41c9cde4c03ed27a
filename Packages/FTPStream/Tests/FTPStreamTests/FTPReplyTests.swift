import Foundation
import Testing

@_spi(Packages) @testable import FTPStream

/// The description of replies, and the ports, paths and numbers in them.
struct FTPReplyTests {
    private func reply(_ text: String) -> FTPReply { FTPReply(code: 227, lines: [Array(text.utf8)]) }

    /// Bytes that control a terminal (ESC, and CSI as Latin-1) or change the direction of text (U+202E).
    @Test(arguments: [
        Array("No\u{1b}\u{7f} file".utf8), Array("No\u{202e} f\u{9b}ile".utf8),
        [0x4E, 0x6F, 0x9B] + Array(" file".utf8),
    ])
    func safeDescription(_ line: [UInt8]) {
        #expect(FTPReply(code: 550, lines: [[], line]).description == "550 No file")
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: FTPReplyParser.maximumLineLength)
        #expect(FTPReply(code: 550, lines: [long]).description.utf8.count == 4 + FTPReply.maximumShownLength)
        #expect(FTPError.notAReply(line).description.contains("\"No file\""))
    }

    @Test(
        arguments: [
            ("Entering Passive Mode (10,0,0,1,7,138)", 1930), ("=10,0,0,1,7,138", 1930),
            ("Entering Passive Mode (192,168,1,100,10,229)", 2789), ("=127,0,0,1,4,2", 1026),
            ("(10, 0, 0, 1, 7, 138).", 1930), ("( 1, 2, 3, 4, 5, 6)", 1286),
            ("10,0,0,1,0,21", 21), ("v2 (10,0,0,1,255,255)", 65535),
            ("(10,0,0,1,7)", nil), ("(10,0,0,1,7,256)", nil), ("(10,0,0,1,0,0)", nil), ("(a,b,c,d,e,f)", nil),
            ("(1,2,3,4,5)", nil), ("(1,2,3,4,5,256)", nil), ("(1,2,3,4,0,0)", nil), ("(1,2,3,4,5,6,7)", nil),
            ("", nil),
            ("(10,0,0,1,7,138,9)", nil), ("(-1,0,0,1,7,138)", 1930), ("(0010,0,0,1,7,138)", nil),
        ] as [(String, UInt16?)])
    func passivePorts(_ text: String, _ port: UInt16?) {
        #expect(reply(text).passivePort == port)
    }

    @Test(
        arguments: [
            ("Extended (|||6446|)", 6446), ("(!!!6446!)", 6446), ("(|1|192.0.2.1|6446|)", 6446),
            ("(|||65535|) ok", 65535), ("(|2|::1|6446|)", 6446),
            ("(|||0|)", nil), ("(|||65536|)", nil), ("(|||-1|)", nil), ("(||6446|)", nil), ("(|||6446|", 6446),
            ("(!!6446!)", nil), ("(||||)", nil), ("(1116446 1)", nil),
            ("Extended |||6446|", 6446), ("|||6446|.", 6446), ("(||| 6446 |)", 6446), ("(|||64 46|)", nil),
            ("|||6446", nil), ("(111644611)", nil), ("(|||64x46|)", nil), ("()", nil), ("(", nil), ("", nil),
        ] as [(String, UInt16?)])
    func extendedPassivePorts(_ text: String, _ port: UInt16?) {
        #expect(reply(text).extendedPassivePort == port)
    }

    @Test(
        "CVE-2017-1000254, CVE-2018-1000120: the path in the reply to PWD with, without and with unterminated quotation marks",
        arguments: [
            ("\"/\"", "/"), ("\"/a b\" is it", "/a b"), ("\"/a\"\"b\"", "/a\"b"), ("\"\"\"\"", "\""),
            ("it is \"/x\"", "/x"),
            ("/a", nil), ("\"/a", nil), ("\"", nil), ("\"\"", nil), ("", nil), ("\"/a\"\"", nil),
        ] as [(String, String?)])
    func quotedPaths(_ text: String, _ path: String?) {
        #expect(reply(text).quotedPath == path.map { Array($0.utf8) })
    }

    /// Sizes beyond 32 bits, and invalid numbers.
    @Test(
        arguments: [
            ("5368709120", 5_368_709_120), ("18446744073709551615", UInt64.max), ("18446744073709551616", nil),
            ("-1", nil),
            ("", nil), ("12x", nil), (" 7 ", 7),
        ] as [(String, UInt64?)])
    func numbers(_ text: String, _ number: UInt64?) {
        #expect(Array(text.utf8)[...].trimmed.number == number)
    }

    /// The reply to MDTM (RFC 3659 §3), with and without a fraction, and invalid ones.
    @Test(
        arguments: [
            ("213 20240229120000", 1_709_208_000), ("213  20240229120000.123 ", 1_709_208_000),
            ("213 20240229120000 a file.txt", 1_709_208_000), ("213 202402291200", nil),
            ("213 a.txt 20240229120000", nil),
            ("213 20230229120000", nil), ("213 2024-02-29", nil), ("213 ", nil),
            ("213 20240229120000; modify=20250101000000", nil),
        ] as [(String, Int64?)])
    func modificationDates(_ reply: String, _ seconds: Int64?) async throws {
        let server = try CommandServer { line in line.hasPrefix("MDTM") ? reply : nil }
        let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
        do throws(StreamError) {
            let date = try await client.modificationDate(of: "x")
            #expect(date.secondsSince1970() == seconds && date.zone == .utc && date.precision == .second)
        } catch {
            #expect(seconds == nil && error.sentence.key == "ftp.noAnswer")
            #expect((error.underlying as? FTPError)?.code == .unexpectedReply)
        }
    }
}
