import Testing

@testable import DNSWire

/// The data of records as zone files contain them. The expected texts are those of dig and of the RFCs' examples.
@Suite struct DNSRecordFieldTests {
    private func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal.filter { $0 != " " })
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
    }

    @Test(
        arguments: [
            (.caa, "00 05 6973737565 63612e6578616d706c65", #"0 issue "ca.example""#),
            (.caa, "80 03 746278 22", #"128 tbx "\"""#),
            (
                .ds, "ec45 05 01 2BB183AF5F22588179A53B0A98631FAD1A292118",
                "60485 5 1 2bb183af5f22588179a53b0a98631fad1a292118"
            ),
            (.tlsa, "03 01 01 abcd", "3 1 1 abcd"),
            (
                .naptr, "0064 000a 01 75 07 4532552b736970 11 215e2e2a24217369703a61406578616d21 00",
                #"100 10 "u" "E2U+sip" "!^.*$!sip:a@exam!" ."#
            ),
            (.https, "0001 00", "1 ."),
            (.svcb, "0010 03666f6f 076578616d706c65 03636f6d 00 0003 0002 0035", "16 foo.example.com. port=53"),
            (.svcb, "0001 03666f6f 00 029b 0005 68656c6c6f", #"1 foo. key667="hello""#),
            (
                .svcb,
                """
                0010 03666f6f 076578616d706c65 036f7267 00 0000 0004 00010004 0001 0009 02 6832 05 68332d3139 0004 0004 \
                c0000201
                """, "16 foo.example.org. mandatory=alpn,ipv4hint alpn=h2,h3-19 ipv4hint=192.0.2.1"
            ),
            // The last vector of RFC 9460 §D.2: the names `f\oo,bar` and `h2`.
            (
                .svcb, "0010 03666f6f 076578616d706c65 036f7267 00 0001 000c 08 665c6f6f2c626172 02 6832",
                #"16 foo.example.org. alpn=f\\\\oo\\,bar,h2"#
            ),
            (.https, "0001 00 0006 0010 20010db8000000000000000000000001", "1 . ipv6hint=2001:db8::1"),
            (.https, "0001 00 0002 0000", "1 . no-default-alpn"),
            (DNSRecordType(rawValue: 62347), "0a000001", "\\# 4 0a000001"),
            (DNSRecordType(rawValue: 731), "", "\\# 0"),
            // Bytes without the format of their type.
            (.caa, "00", "\\# 1 00"), (.caa, "00 00 41", "\\# 3 000041"), (.ds, "00", "\\# 1 00"),
            (.naptr, "0064 000a 01 75 07 45", "\\# 8 0064000a01750745"),
            (.https, "0001 00 0002 0001 00", "\\# 8 0001000002000100"),
            (.svcb, "0001 00 0003 0002 0035 0003 0002 0035", "\\# 15 000100000300020035000300020035"),
        ] as [(DNSRecordType, String, String)])
    func typesThatAreKeptAsBytes(_ type: DNSRecordType, _ data: String, _ text: String) {
        #expect(DNSRecordData.other(type, bytes(data)).presentation == text)
    }

    @Test func decodedTypes() throws {
        let name = try #require(DNSName("mail.example.org"))
        #expect(DNSRecordData.mx(preference: 10, exchange: name).presentation == "10 mail.example.org.")
        #expect(DNSRecordData.txt([Array("a \"b\"".utf8), [0xc3]]).presentation == #""a \"b\"" "\195""#)
        let service = DNSRecordData.srv(priority: 0, weight: 5, port: 993, target: name)
        #expect(service.presentation == "0 5 993 mail.example.org.")
        #expect(service.fields.map(\.name) == ["priority", "weight", "port", "target"])
        #expect(service.fields[2].value == .number(993))
        #expect(DNSRecordData.txt([[97], [98]]).fields.first?.value == .texts(["a", "b"]))
        #expect(DNSRecordData.nsec(next: name, types: [.a, .caa]).presentation == "mail.example.org. A CAA")
    }

    @Test func anyBytes() {
        var generator = SystemRandomNumberGenerator()
        for type in [DNSRecordType.caa, .ds, .tlsa, .naptr, .svcb, .https] {
            for _ in 0..<2000 {
                let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                    Bool.random(using: &generator)
                        ? UInt8.random(in: 0...4, using: &generator) : .random(in: 0...255, using: &generator)
                }
                let text = DNSRecordData.other(type, bytes).presentation
                guard !text.isEmpty, text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
                    Issue.record("\(type), \(bytes): \(text)")
                    return
                }
            }
        }
    }

    @Test func namesOfTypes() {
        #expect(DNSRecordType("https") == .https && DNSRecordType("TYPE65") == .https && DNSRecordType("any") == .any)
        #expect(DNSRecordType("TYPE1234")?.description == "TYPE1234")
        for text in ["", "TYPE", "TYPE65536", "TYPE-1", "TYPE+1", "TYPE-0", "B", "\u{17F}rv"] {
            #expect(DNSRecordType(text) == nil)
        }
    }
}
