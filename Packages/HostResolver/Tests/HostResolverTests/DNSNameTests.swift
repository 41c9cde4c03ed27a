import Testing

@testable import HostResolver

@Suite struct DNSNameTests {
    @Test(arguments: [
        ("example.org", "example.org."), ("example.org.", "example.org."), (".", "."), ("a\\.b.c", "a\\.b.c."),
        ("a\\\\b", "a\\\\b."), ("a\\046b", "a\\.b."), ("a\\000b", "a\\000b."),
        ("_http._tcp.local", "_http._tcp.local."),
        ("My\\032Printer", "My\\032Printer."), ("a\\.", "a\\.."),
    ])
    func parsesAndPrints(text: String, written: String) throws {
        let name = try #require(DNSName(text))
        #expect(name.description == written)
        #expect(DNSName(written) == name)
        #expect(DNSName(labels: name.labels) == name)
    }

    /// CVE-2016-5180 of c-ares: an escaped final dot caused a write one byte past the end.
    @Test func anEscapedFinalDotIsPartOfTheLabel() throws {
        #expect(try #require(DNSName("a\\.")).labels == [Array("a.".utf8)])
        #expect(try #require(DNSName("a\\..")).labels == [Array("a.".utf8)])
    }

    @Test(arguments: ["", "..", "a..b", ".a", "a..", "a\\", "a\\1", "a\\12", "a\\256", "a\\1x2"])
    func rejects(text: String) {
        #expect(DNSName(text) == nil)
    }

    @Test func enforcesTheLimits() throws {
        let label = String(repeating: "a", count: 63)
        #expect(DNSName(label) != nil)
        #expect(DNSName(label + "a") == nil)
        let longest = [label, label, label, String(repeating: "b", count: 61)].joined(separator: ".")
        #expect(try #require(DNSName(longest)).wire.count == 255)
        #expect(DNSName(longest + "b") == nil)
        #expect(try #require(DNSName("a")).appending(DNSName(longest)!) == nil)
        #expect(DNSName(String(repeating: "\\046", count: 100_000)) == nil)
    }

    @Test func ignoresCase() {
        #expect(DNSName("EXAMPLE.org") == DNSName("example.ORG"))
        #expect(Set([DNSName("A.b"), DNSName("a.B")]).count == 1)
        // Only letters are folded: `[` and `{` differ by the same bit.
        #expect(DNSName("a[b") != DNSName("a{b"))
    }

    @Test(arguments: [
        ("192.0.2.7", "7.2.0.192.in-addr.arpa."),
        ("2001:db8::567:89ab", "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."),
    ])
    func makesReverseNames(address: String, name: String) {
        #expect(DNSName(reverse: IPAddress(address)!).description == name)
    }
}
