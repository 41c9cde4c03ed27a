import Testing

@testable import NetDiag

/// Reports are mailed and stored, so they must not contain secrets or control characters.
@Suite struct PublicTextTests {
    @Test(arguments: [
        ("https://ann:secret@www.example.org/a", "https://www.example.org/a"),
        ("https://ann@www.example.org:8443/", "https://www.example.org:8443/"),
        ("see https://www.example.org/a?token=secret.", "see https://www.example.org/a?…."),
        ("(http://portal.example/login?mac=02:00&url=x#y)", "(http://portal.example/login?…)"),
        ("ftp://ann:p@ss@ftp.example.org/x", "ftp://ftp.example.org/x"),
        ("Authorization: Basic YW5uOnNlY3JldA==", "Authorization: …"),
        ("got proxy-authorization: Bearer abc", "got proxy-authorization: …"),
        ("Set-Cookie: session=secret; Path=/", "Set-Cookie: …"),
        ("sent Bearer eyJhbGciOi.eyJzdWIi.sig-nature", "sent Bearer …"),
        ("refused Negotiate YIIabcdefg==", "refused Negotiate …"),
        ("Basic realm=\"lab\"", "Basic realm=\"lab\""),
        ("access_token=secret&page=2", "access_token=…&page=2"),
        ("password=secret", "password=…"),
        ("/path?sessionid=secret&x=1", "/path?sessionid=…&x=1"),
        ("192.0.2.1 answers: 503.", "192.0.2.1 answers: 503."),
        // U+0301 and U+0D4E form one character with the delimiter before or after them.
        ("https://ann:secret@\u{301}www.example.org/a", "https://\u{301}www.example.org/a"),
        ("https://ann:secret\u{D4E}@www.example.org/a", "https://www.example.org/a"),
        ("https://www.example.org/a?\u{301}token=secret", "https://www.example.org/a?…"),
        ("Authorization: \u{301}Basic YW5uOnNlY3JldA==", "Authorization: …"),
        ("password=\u{301}secret", "password=…"), ("a=1&\u{301}password=secret", "a=1&\u{301}password=…"),
    ])
    func credentialsAreRedacted(_ text: String, _ shown: String) {
        #expect(PublicText.of(text) == shown)
        #expect(PublicText.of(shown) == shown)
    }

    @Test(arguments: [
        ("\u{1b}[2J\u{1b}]0;owned\u{7}", "\\u{1b}[2J\\u{1b}]0;owned\\u{7}"),
        ("a\r\nb", "a\\u{d}\\u{a}b"), ("a\u{9b}31mb", "a\\u{9b}31mb"), ("evil\u{202e}txt.exe", "evil\\u{202e}txt.exe"),
        ("zero\u{200b}width", "zero\\u{200b}width"), ("grün, 日本, 🙂", "grün, 日本, 🙂"),
    ])
    func terminalEscapesAreEscaped(_ text: String, _ shown: String) {
        #expect(PublicText.of(text) == shown)
    }

    @Test func longTextIsCut() {
        #expect(PublicText.of(String(repeating: "a", count: 100_000)).count == PublicText.maximumLength + 1)
    }
}
