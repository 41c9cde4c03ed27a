import HTTPStream
import Testing

@testable import HTTPServerKit

@Suite struct PreconditionsTests {
    private static let early = "Sun, 06 Nov 1994 08:49:36 GMT"
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let late = "Sun, 06 Nov 1994 08:49:38 GMT"
    private static let send = Preconditions.Outcome.perform(honoursRange: true)
    private static let whole = Preconditions.Outcome.perform(honoursRange: false)

    @Test(
        arguments: [
            (.get, [:], send), (.head, [:], whole), (.post, [:], whole),
            (.get, ["If-None-Match": "\"a\""], .notModified), (.head, ["If-None-Match": "W/\"a\""], .notModified),
            (.get, ["If-None-Match": "\"x\", W/\"a\""], .notModified), (.get, ["If-None-Match": "*"], .notModified),
            (.get, ["If-None-Match": "\"x\""], send), (.get, ["If-None-Match": "a"], send),
            (.get, ["If-None-Match": "\"x,\"a\""], send), (.put, ["If-None-Match": "*"], .preconditionFailed),
            (.get, ["If-Modified-Since": date], .notModified), (.get, ["If-Modified-Since": late], .notModified),
            (.get, ["If-Modified-Since": early], send), (.get, ["If-Modified-Since": "yesterday"], send),
            (.post, ["If-Modified-Since": late], whole),
            // A tag has precedence over a date.
            (.get, ["If-None-Match": "\"x\"", "If-Modified-Since": late], send),
            (.get, ["If-Match": "\"x\""], .preconditionFailed), (.get, ["If-Match": "\"a\""], send),
            (.get, ["If-Match": "*"], send), (.get, ["If-Match": "W/\"a\""], .preconditionFailed),
            (.get, ["If-Match": "garbage"], .preconditionFailed),
            (.get, ["If-Match": "\"a\"", "If-Unmodified-Since": early], send),
            (.get, ["If-Unmodified-Since": early], .preconditionFailed), (.get, ["If-Unmodified-Since": date], send),
            (.get, ["If-Match": "\"a\"", "If-None-Match": "\"a\""], .notModified),
            (.get, ["If-Range": "\"a\""], send), (.get, ["If-Range": "W/\"a\""], whole),
            (.get, ["If-Range": "\"x\""], whole),
            (.get, ["If-Range": date], send), (.get, ["If-Range": late], whole), (.get, ["If-Range": "x"], whole),
        ] as [(HTTPMethod, [String: String], Preconditions.Outcome)])
    func evaluate(_ sample: (method: HTTPMethod, fields: [String: String], outcome: Preconditions.Outcome)) throws {
        var fields = HTTPFields()
        for (name, value) in sample.fields { try fields.set(value, for: name) }
        let modified = try #require(HTTPDate(Self.date))
        let outcome = Preconditions.evaluate(
            sample.method, fields, .init(tag: EntityTag("a"), lastModified: modified),
            now: HTTPDate(secondsSinceEpoch: modified.secondsSinceEpoch + 60))
        #expect(outcome == sample.outcome)
    }

    /// Within the second of a change, another change could have the same date.
    @Test func dateOfThisSecond() throws {
        let modified = try #require(HTTPDate(Self.date))
        let outcome = Preconditions.evaluate(
            .get, ["If-Range": "Sun, 06 Nov 1994 08:49:37 GMT"], .init(tag: EntityTag("a"), lastModified: modified),
            now: modified)
        #expect(outcome == Self.whole)
    }

    @Test(
        arguments: [
            ("\"a\"", ["\"a\""]), ("W/\"a\" , \"b,c\"", ["W/\"a\"", "\"b,c\""]), (",\"a\",", ["\"a\""]),
            ("\"\"", ["\"\""]),
            ("", nil), ("a", nil), ("\"a", nil), ("\"a\" \"b\"", nil), ("w/\"a\"", nil),
        ] as [(String, [String]?)])
    func tags(_ sample: (text: String, tags: [String]?)) {
        #expect(EntityTag.list(sample.text)?.map(\.description) == sample.tags)
    }

    @Test(arguments: [
        ("a.html", ["a.html"], false), ("a/b.css", ["a", "b.css"], false), ("", [], true), ("a/", ["a"], true),
        (".well-known/acme", [".well-known", "acme"], false),
    ])
    func paths(_ sample: (text: String, components: [String], isFolder: Bool)) throws {
        let path = try #require(FilePath(sample.text))
        #expect(path.components == sample.components && path.isFolder == sample.isFolder)
    }

    @Test(arguments: [
        "..", "../a", "a/../b", ".", ".git/config", "a/.env", "a//b", "/etc/passwd", "a/.well-known/b", "a\0b",
    ])
    func pathsNeverServed(_ text: String) {
        #expect(FilePath(text) == nil)
    }
}
