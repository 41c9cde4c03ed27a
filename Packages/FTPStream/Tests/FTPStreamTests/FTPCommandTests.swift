import Foundation
import Testing

@testable import FTPStream

/// A command is one line, whatever its argument.
struct FTPCommandTests {
    @Test func theBytesOfACommand() throws {
        #expect(try FTPCommand("retr", argument: "a b").bytes == Array("RETR a b\r\n".utf8))
        #expect(try FTPCommand("NOOP").bytes == Array("NOOP\r\n".utf8))
        #expect(try FTPCommand("CWD", bytes: [0xFF, 0x41]).bytes == Array("CWD ".utf8) + [0xFF, 0xFF, 0x41, 13, 10])
        #expect(try "\(FTPCommand("PASS", argument: "secret"))" == "PASS …")
    }

    @Test(
        arguments: [
            ("NOOP", true), ("STAT", true), ("PWD", true), ("SIZE x", true), ("DELE x", true), ("MKD x", true),
            ("SITE CHMOD 600 x", true), ("site chmod 600 x", true), ("SITE UMASK 077", false), ("SITE", false),
            ("CWD x", false), ("CDUP", false), ("TYPE A", false), ("REST 5", false), ("USER ann", false),
            ("REIN", false), ("PASV", false), ("EPRT x", false), ("PROT C", false), ("AUTH TLS", false),
            ("CCC", false), ("MODE B", false), ("STRU R", false), ("OPTS UTF8 OFF", false), ("LANG de", false),
            ("RNFR x", false), ("ABOR", false), ("QUIT", false), ("RETR x", false), ("XYZZY", false),
        ])
    func onlyHarmlessCommandsKeepTheSession(_ text: String, _ keeps: Bool) throws {
        let words = text.split(separator: " ", maxSplits: 1).map(String.init)
        #expect(try FTPCommand(words[0], argument: words.count > 1 ? words[1] : "").keepsSession == keeps)
    }

    @Test(arguments: ["a\r\nDELE b", "a\nb", "a\rb", "a\0b", String(repeating: "x", count: 5000)])
    func invalidCommandsAreRefused(_ text: String) throws {
        let error = #expect(throws: FTPError.self) { try FTPCommand("RETR", argument: text) }
        #expect(error?.code == .badArgument)
        #expect(throws: FTPError.self) { try FTPCommand("RE TR") }
        #expect(throws: FTPError.self) { try FTPCommand("") }
    }

    @Test(arguments: ["a%0D%0ADELE%20b", "a%0ab", "%00", "a/b%0d"])
    func aURLCannotInjectACommand(_ path: String) throws {
        let read = #expect(throws: StreamError.self) {
            _ = try ReadStream(ftpURL: try #require(URL(string: "ftp://h/\(path)")))
        }
        #expect((read?.underlying as? FTPError)?.code == .badURL)
        #expect(throws: StreamError.self) {
            _ = try ReadStream(
                ftpURL: try #require(URL(string: "ftp://\(path.replacingOccurrences(of: "/", with: ""))@h/x")))
        }
    }

    // Parity: FT-030
    @Test func aPropertyCannotInjectACommand() throws {
        let stream = try ReadStream(ftpURL: try #require(URL(string: "ftp://h/x")))
        #expect(throws: StreamError.self) { try stream.set(.ftp(\.userName), to: "a\r\nDELE b") }
        #expect(throws: StreamError.self) { try stream.set(.ftp(\.password), to: "a\n") }
        try stream.set(.ftp(\.userName), to: "ann")
        #expect(stream[.ftp(\.userName)] == "ann")
    }

    // Parity: FT-052, FT-063
    @Test(
        arguments: [
            ("ftp://h/a/b", "a/b", false, nil), ("ftp://h/%2Fetc/x", "/etc/x", false, nil),
            ("ftp://h/a/", "a", true, nil),
            ("ftp://h", "", true, nil), ("ftp://h/%2F", "/", true, nil), ("ftp://h/a;type=d", "a", true, "d"),
            ("ftp://h/a;TYPE=A", "a", false, "a"), ("ftp://h/a%3Btype=a", "a;type=a", false, nil),
            ("ftp://h/%C3%A9", "é", false, nil),
        ] as [(String, String, Bool, Character?)])
    func pathsOfURLs(_ text: String, _ path: String, _ isDirectory: Bool, _ type: Character?) throws {
        let location = try FTPLocation(try #require(URL(string: text)))
        #expect(location.path == Array(path.utf8) && location.isDirectory == isDirectory && location.type == type)
        #expect(location.port == 21 && location.host == "h")
    }

    // Parity: FT-001
    @Test(arguments: [
        "http://h/x", "ftp:///x", "ftp://h:0/x", "ftp://h:18446744073709551637/x", "ftp://[h]/x", "ftp://h/x;type=z",
    ])
    func invalidURLsAreRefused(_ text: String) throws {
        guard let url = URL(string: text) else { return }
        #expect(throws: StreamError.self) { _ = try ReadStream(ftpURL: url) }
    }
}
