import IPAddresses
import Testing

@Suite struct IPAddressTests {
    @Test(arguments: [
        ("0.0.0.0", 0 as UInt32), ("127.0.0.1", 0x7F00_0001), ("255.255.255.255", .max), ("192.0.2.7", 0xC000_0207),
    ])
    func parsesAndPrintsIPv4(text: String, value: UInt32) throws {
        let address = try #require(IPv4Address(text))
        #expect(address.rawValue == value)
        #expect(address.description == text)
        #expect(IPv4Address(address.octets[0], address.octets[1], address.octets[2], address.octets[3]) == address)
    }

    @Test(arguments: [
        "", ".", "1", "1.2.3", "1.2.3.", ".1.2.3", "1..2.3", "1.2.3.4.", "1.2.3.4.5", "256.1.1.1", "01.2.3.4",
        "1.2.3.00", "0x7f.0.0.1", "127.1", "1.2.3.4 ", " 1.2.3.4", "1.2.3.-4", "1.2.3.+4", "١.2.3.4", "1.2.3.4\0",
        "99999999999999999999.1.1.1",
    ])
    func rejectsInvalidIPv4(text: String) {
        #expect(IPv4Address(text) == nil)
    }

    /// The accepted forms (RFC 4291 §2.2), each with its canonical form (RFC 5952 §4).
    @Test(arguments: [
        ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("2001:DB8::0001", "2001:db8::1"),
        ("2001:0db8:0000:0000:0001:0000:0000:0001", "2001:db8::1:0:0:1"),
        ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
        ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"), ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
        ("::ffff:c000:201", "::ffff:192.0.2.1"), ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"),
        ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"), ("::1.2.3.4", "::102:304"),
        ("fe80::1%eth0", "fe80::1%eth0"), ("fe80::1%2", "fe80::1%2"), ("ff02::fb%wlan0.5", "ff02::fb%wlan0.5"),
    ])
    func parsesAndPrintsIPv6(text: String, canonical: String) throws {
        let address = try #require(IPv6Address(text))
        #expect(address.description == canonical)
        #expect(IPv6Address(canonical) == address)
    }

    @Test(arguments: [
        "", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "1::2::3",
        ":1::2", "1::2:", "12345::", "g::", "::1.2.3", "::1.2.3.4.5", "1.2.3.4::", "1:2:3:4:5:6:7:1.2.3.4",
        "::01.2.3.4", "[::1]", "::1/64", "fe80::1%", "fe80::1%a%b", "fe80::1%a/b", "fe80::1%eth 0",
        "fe80::1%sixteencharsname", "::1 ", "::12345.1.1.1", "::1.2.3.4:5", "fe80::1%é",
    ])
    func rejectsInvalidIPv6(text: String) {
        #expect(IPv6Address(text) == nil)
    }

    @Test(arguments: [
        ("127.8.9.1", "loopback"), ("::1", "loopback"), ("::ffff:127.0.0.1", "loopback"), ("169.254.3.4", "link"),
        ("fe80::1", "link"), ("febf::1", "link"), ("fec0::1", "-"), ("224.0.0.251", "multicast"),
        ("ff02::fb", "multicast"),
        ("0.0.0.0", "any"), ("::", "any"), ("192.0.2.1", "-"), ("2001:db8::1", "-"),
    ])
    func classifies(text: String, kind: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.isLoopback == (kind == "loopback"))
        #expect(address.isLinkLocal == (kind == "link"))
        #expect(address.isMulticast == (kind == "multicast"))
        #expect(address.isAny == (kind == "any"))
    }

    @Test(arguments: [("10.1.1.1", true), ("172.31.0.1", true), ("172.32.0.1", false), ("192.168.0.1", true)])
    func recognizesPrivateNetworks(text: String, isPrivate: Bool) {
        #expect(IPv4Address(text)?.isPrivate == isPrivate)
    }

    @Test(arguments: [UInt128](arrayLiteral: 0, 1, 1 << 63, 1 << 64, .max, 0xFE80 << 112 | 0x1234_5678_9ABC_DEF0))
    func keepsItsNumber(_ number: UInt128) {
        #expect(IPv6Address(rawValue: number).rawValue == number)
        #expect(IPv6Address(rawValue: number, zone: "eth0")?.rawValue == number)
        var address = IPv6Address.loopback
        address.rawValue = number
        #expect(address == IPv6Address(rawValue: number))
    }

    @Test func mapsIPv4() throws {
        let address = IPv6Address(mapping: IPv4Address(192, 0, 2, 9))
        #expect(address.description == "::ffff:192.0.2.9")
        #expect(address.mappedIPv4 == IPv4Address(192, 0, 2, 9))
        #expect(IPv6Address.loopback.mappedIPv4 == nil)
        #expect(IPv6Address(octets: address.octets) == address)
        #expect(IPv6Address(octets: [1, 2, 3]) == nil)
    }

    /// Random text never traps. A parsed address survives printing and parsing.
    @Test func survivesRandomText() {
        var random = SeededRandom(seed: 1)
        let alphabet = Array("0123456789abcdefABCDEF:::..%g/ ")
        for _ in 0..<20_000 {
            let text = String(
                (0..<Int.random(in: 0...45, using: &random)).map { _ in alphabet.randomElement(using: &random)! })
            if let address = IPAddress(text) { #expect(IPAddress(address.description) == address) }
        }
    }
}
