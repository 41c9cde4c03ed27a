import Testing

@testable import HostResolver

@Suite struct AddressSortingTests {
    /// The examples of RFC 6724 §10.2, and one case for each rule. Each destination has its source address, or `-`.
    // Parity: HR-014
    @Test(arguments: [
        ("rule 1: unusable last", "2001:db8:1::1>- 198.51.100.121>198.51.100.117", "198.51.100.121 2001:db8:1::1"),
        ("rule 1: both unusable stay", "2001:db8::2>- 192.0.2.1>-", "2001:db8::2 192.0.2.1"),
        (
            "rule 2: matching scope", "2001:db8:1::1>fe80::1 198.51.100.121>198.51.100.117",
            "198.51.100.121 2001:db8:1::1"
        ),
        (
            "§10.2: precedence", "198.51.100.121>198.51.100.117 2001:db8:1::1>2001:db8:1::2",
            "2001:db8:1::1 198.51.100.121"
        ),
        (
            "§10.2: v4 link-local source", "2001:db8:1::1>2001:db8:1::2 198.51.100.121>169.254.13.78",
            "2001:db8:1::1 198.51.100.121"
        ),
        (
            "rule 5: matching label", "2002:c633:6401::1>2001:db8:1::2 2001:db8:1::1>2001:db8:1::2",
            "2001:db8:1::1 2002:c633:6401::1"
        ),
        (
            "§10.2: label 6to4", "2001:db8:1::1>2002:c633:6401::2 2002:c633:6401::1>2002:c633:6401::2",
            "2002:c633:6401::1 2001:db8:1::1"
        ),
        ("rule 6: ULA after IPv4", "fd00::1>fd00::2 192.0.2.1>192.0.2.2", "192.0.2.1 fd00::1"),
        ("rule 8: smaller scope", "2001:db8:1::1>2001:db8:1::2 fe80::1>fe80::2", "fe80::1 2001:db8:1::1"),
        (
            "rule 9: longest prefix", "2001:db8:3ffe::1>2001:db8:1::2 2001:db8:1::9>2001:db8:1::2",
            "2001:db8:1::9 2001:db8:3ffe::1"
        ),
        (
            "rule 9: not beyond the link", "2001:db8:1::100>2001:db8:1::2 2001:db8:1::3>2001:db8:1::2",
            "2001:db8:1::100 2001:db8:1::3"
        ),
        ("rule 9: not for IPv4", "198.51.100.1>192.0.2.2 192.0.2.1>192.0.2.2", "198.51.100.1 192.0.2.1"),
        (
            "rule 10: as it was", "192.0.2.3>192.0.2.9 192.0.2.1>192.0.2.9 192.0.2.2>192.0.2.9",
            "192.0.2.3 192.0.2.1 192.0.2.2"
        ),
        ("loopback first", "2001:db8::1>2001:db8::2 ::1>::1", "::1 2001:db8::1"),
    ])
    func sorts(rule: String, input: String, output: String) {
        let destinations = input.split(separator: " ").map { pair -> AddressSorting.Destination in
            let parts = pair.split(separator: ">")
            return .init(IPAddress(String(parts[0]))!, source: IPAddress(String(parts[1])))
        }
        let sorted = AddressSorting().sorted(destinations).map(\.description).joined(separator: " ")
        #expect(sorted == output, "\(rule)")
    }

    @Test func rule3AvoidsDeprecatedSources() {
        let old = AddressSorting.Destination(
            IPAddress("2001:db8:1::1")!, source: IPAddress("2001:db8:1::2"), sourceIsDeprecated: true)
        let new = AddressSorting.Destination(IPAddress("2001:db8:2::1")!, source: IPAddress("2001:db8:9::2"))
        #expect(AddressSorting().sorted([old, new]) == [new.address, old.address])
    }

    /// The order is total: all permutations of unequal addresses give the same result.
    @Test func theOrderDoesNotDependOnTheInput() {
        var random = SeededRandom(seed: 5)
        let destinations: [AddressSorting.Destination] = [
            .init(IPAddress("2001:db8:1::9")!, source: IPAddress("2001:db8:1::2")),
            .init(IPAddress("192.0.2.1")!, source: IPAddress("192.0.2.2")),
            .init(IPAddress("fd00::1")!, source: IPAddress("fd00::2")),
            .init(IPAddress("fe80::1")!, source: IPAddress("fe80::2")),
            .init(IPAddress("2002:c000:201::1")!, source: IPAddress("2001:db8:1::2")),
            .init(IPAddress("203.0.113.1")!, source: nil),
        ]
        let expected = AddressSorting().sorted(destinations)
        for _ in 0..<200 {
            #expect(AddressSorting().sorted(destinations.shuffled(using: &random)) == expected)
        }
    }

    @Test func gaiConfChangesThePreference() {
        // A common way to prefer IPv4.
        let policy = AddressPolicy(
            parsing:
                "# comment\nprecedence ::ffff:0:0/96 100\nprecedence ::/0 40\nlabel x y\nscopev4 ::ffff:0:0/96 14\n")
        let destinations: [AddressSorting.Destination] = [
            .init(IPAddress("2001:db8::1")!, source: IPAddress("2001:db8::2")),
            .init(IPAddress("192.0.2.1")!, source: IPAddress("192.0.2.2")),
        ]
        #expect(AddressSorting(policy: policy).sorted(destinations).first == IPAddress("192.0.2.1"))
        #expect(AddressSorting().sorted(destinations).first == IPAddress("2001:db8::1"))
        #expect(AddressPolicy(parsing: "precedence ::/129 1\nprecedence 10.0.0.0/8 1\nlabel ::/0") == .standard)
    }
}
