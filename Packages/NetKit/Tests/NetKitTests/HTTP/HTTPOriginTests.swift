import FoundationEssentials
import StreamKit
import Testing

@testable import NetKit

@Suite struct HTTPOriginTests {
    @Test(arguments: [
        ("http://example.org", "http", "example.org", 80), ("HTTPS://Example.ORG/x", "https", "example.org", 443),
        ("http://127.0.0.1:8080/", "http", "127.0.0.1", 8080), ("http://[2001:DB8::1]/", "http", "2001:db8::1", 80),
        ("https://user:pass@h.example:1/?q#f", "https", "h.example", 1),
    ])
    func parts(_ url: String, _ scheme: String, _ host: String, _ port: Int) throws {
        let origin = try HTTPOrigin(#require(URL(string: url)))
        #expect(origin.scheme == scheme)
        #expect(origin.host == host)
        #expect(Int(origin.port) == port)
        #expect(origin.isSecure == (scheme == "https"))
    }

    @Test(arguments: [
        "ftp://a/", "file:///x", "http:///x", "http://:80/", "http://a:0/", "http://a:65536/", "/relative",
        "http://a:18446744073709551697/", "http://[example.org]/", "http://％４１.com/",
    ])
    func impossible(_ url: String) throws {
        guard let url = URL(string: url) else { return }
        #expect(throws: StreamError.badURL("")) { _ = try HTTPOrigin(url) }
    }

    @Test func equality() throws {
        func origin(_ url: String) throws -> HTTPOrigin { try HTTPOrigin(#require(URL(string: url))) }
        #expect(try origin("http://a/") == origin("http://A:80/x"))
        #expect(try origin("http://a/").hashValue == origin("http://A:80/x").hashValue)
        #expect(try origin("http://a/") != origin("https://a/"))
        #expect(try origin("http://a:443/") != origin("https://a/"))
        #expect(try origin("http://a/") != origin("http://b/"))
    }
}
