import Foundation
import Testing

@testable import netkit

/// Arguments are parsed by scalars: U+0301 and U+0D4E form one character with the delimiter before or after them.
@Suite struct ArgumentTextTests {
    @Test(
        "the secret in an argument, as xs",
        arguments: [
            ("-u", "-u"), ("--user=ann:secret", "--user=ann:xxxxxx"), ("--user=ann", "--user=xxx"),
            ("-bA=secret", "-bxxxxxxxx"), ("--bearer=\u{301}s", "--bearer=xxx"), ("--cookie=a=b", "--cookie=xxx"),
            ("-uann:\u{301}s", "-uann:xxx"), ("--user=\u{301}ann:s", "--user=\u{301}ann:x"),
            ("http://joe:secret@a/b:c@d", "http://joe:xxxxxx@a/b:c@d"), ("http://joe@a/", "http://joe@a/"),
            ("http://joe:\u{301}s@a/", "http://joe:xxx@a/"), ("http://joe:s\u{D4E}@a/", "http://joe:xxxx@a/"),
            ("http://joe:s@\u{301}a/", "http://joe:x@\u{301}a/"), ("http://a/\u{301}b:c@d", "http://a/\u{301}b:c@d"),
            ("http://\u{301}joe:s@a/", "http://\u{301}joe:x@a/"),
        ])
    func hides(_ argument: String, _ shown: String) {
        var bytes = Array(argument.utf8)
        for index in ProcessArguments.secret(in: bytes, isValue: false) ?? 0..<0 { bytes[index] = 0x78 }
        #expect(String(decoding: bytes, as: UTF8.self) == shown)
    }

    @Test(
        "the secret in the value of an option",
        arguments: [("ann:secret", 4..<10), ("token", 0..<5), ("ann:\u{301}s", 4..<7), ("", 0..<0)])
    func hides(_ value: String, _ range: Range<Int>) {
        #expect(ProcessArguments.secret(in: Array(value.utf8), isValue: true) == range)
    }

    @Test(arguments: [
        ("http://a/b", "http://a/b"), ("http://joe:secret@a/b", "http://joe:…@a/b"),
        ("http://joe:secret@a b", "http://joe:…@a b"), ("http://a b", "http://a b"),
        ("http://joe:secret@\u{301}a b", "http://joe:…@\u{301}a b"), ("//joe:\u{301}s@a b", "//joe:…@a b"),
        ("http://joe:secret\u{D4E}@a b", "http://joe:…@a b"),
        ("http://\u{301}joe:secret@a b", "http://\u{301}joe:…@a b"),
    ])
    func shownURLs(_ text: String, _ shown: String) {
        #expect(Terminal.shownURL(text) == shown)
    }

    @Test(arguments: [
        ("ann", "ann", nil), ("ann:", "ann", ""), ("ann:a:b", "ann", "a:b"), ("ann:\u{301}s", "ann", "\u{301}s"),
        ("ann\u{D4E}:s", "ann\u{D4E}", "s"),
    ])
    func logins(_ text: String, _ user: String, _ password: String?) {
        let login = UserAndPassword(text)
        #expect(login.user == user && login.password == password)
    }

    @Test func wildcards() {
        #expect(FTPWildcards.pattern(of: "ftp://a/b") == nil)
        #expect(FTPWildcards.pattern(of: "ftp://a/\u{301}b/*") != nil)
        #expect(FTPWildcards.server(of: "ftp://a/\u{301}b/*")?.absoluteString == "ftp://a/")
    }
}
