import Testing

@_spi(Packages) @testable import DNSWire

@Suite struct DNSMessageTests {
    private static let name = DNSName("www.example.org")!

    /// A message like a server's, with one record of each type.
    static let rich = DNSMessage(
        header: DNSHeader(id: 0xBEEF, bits: 0x8580),
        questions: [DNSQuestion(name, .a)],
        answers: [
            DNSRecord(name, timeToLive: 60, .cname(DNSName("web.example.org")!)),
            DNSRecord(DNSName("web.example.org")!, timeToLive: 61, .a(IPv4Address("192.0.2.1")!)),
            DNSRecord(DNSName("web.example.org")!, timeToLive: 62, .aaaa(IPv6Address("2001:db8::1")!)),
            DNSRecord(name, timeToLive: 63, .mx(preference: 10, exchange: DNSName("mail.example.org")!)),
            DNSRecord(name, timeToLive: 64, .txt([Array("one".utf8), [], [0, 255]])),
            DNSRecord(name, timeToLive: 65, .srv(priority: 1, weight: 2, port: 3, target: DNSName("a.example.org")!)),
            DNSRecord(name, timeToLive: 66, .ptr(DNSName("b.example.org")!)),
            DNSRecord(
                name, timeToLive: 67, .nsec(next: name, types: [.a, .aaaa, .srv, DNSRecordType(rawValue: 0x1234)])),
            DNSRecord(name, timeToLive: 67, .other(DNSRecordType(rawValue: 257), [0, 5, 1, 2, 3])),
        ],
        authorities: [
            DNSRecord(DNSName("example.org")!, timeToLive: 68, .ns(DNSName("ns.example.org")!)),
            DNSRecord(
                DNSName("example.org")!, timeToLive: 69,
                .soa(
                    DNSStartOfAuthority(
                        primary: DNSName("ns.example.org")!, mailbox: DNSName("admin.example.org")!, serial: 1,
                        refresh: 2,
                        retry: 3, expire: 4, minimum: 5))),
        ],
        additionals: [DNSRecord(.root, type: .opt, recordClass: 1232, timeToLive: 0, .other(.opt, []))])

    @Test func encodesAndDecodesAllRecordTypes() throws {
        let bytes = try Self.rich.wireForm()
        #expect(try DNSMessage(wire: bytes) == Self.rich)
        #expect(try DNSMessage(wire: bytes).wireForm() == bytes)
        // Compression works: "example.org" occurs only once.
        #expect(bytes.count < 400)
    }

    @Test func addressIsNilForOtherTypes() {
        #expect(Self.rich.answers.compactMap(\.data.address) == [IPAddress("192.0.2.1")!, IPAddress("2001:db8::1")!])
    }

    @Test func compressesMoreForMulticast() throws {
        let name = DNSName("a.local")!
        let message = DNSMessage(
            header: DNSHeader(id: 0),
            answers: [
                DNSRecord(name, timeToLive: 1, .srv(priority: 0, weight: 0, port: 1, target: name)),
                DNSRecord(name, timeToLive: 1, .nsec(next: name, types: [.a])),
            ])
        let multicast = try message.multicastWireForm()
        #expect(try message.wireForm().count - multicast.count == 2 * (name.wireForm.count - 2))
        #expect(try DNSMessage(wire: multicast) == message)
        // RFC 6762 §6.1: a restricted NSEC record, here for A alone.
        #expect(Array(multicast.suffix(5)) == [0xC0, 0x0C, 0, 1, 0x40])
    }

    @Test func encodesAsManyRecordsAsFit() throws {
        let name = DNSName("_http._tcp.local")!
        func record(_ number: Int) -> DNSRecord {
            DNSRecord(name, timeToLive: 1, .ptr(DNSName("service \(number)._http._tcp.local")!))
        }
        let whole = DNSMessage(
            header: DNSHeader(id: 0), questions: [DNSQuestion(name, .ptr)], answers: (100..<110).map(record),
            authorities: [record(110)], additionals: [record(111), record(112)])
        let bytes = try whole.multicastWireForm()
        #expect(try whole.multicastWireForm(fitting: bytes.count) == (bytes, 13))
        // Each record takes 26 bytes: a pointer, 10 bytes, a label of 11 with its length, and a pointer.
        for count in 0..<13 {
            var part = whole
            part.answers = Array(whole.answers.prefix(count))
            part.authorities = count > 10 ? whole.authorities : []
            part.additionals = Array(whole.additionals.prefix(max(0, count - 11)))
            let expected = try part.multicastWireForm()
            for size in [expected.count, expected.count + 25] {
                #expect(try whole.multicastWireForm(fitting: size) == (expected, count))
            }
            #expect(try whole.multicastWireForm(fitting: 0, least: count) == (expected, count))
            #expect(try DNSMessage(wire: expected) == part)
        }
    }

    @Test(arguments: [[0, 0], [0, 33], [0, 2, 1], [1, 1, 1, 0, 1, 1], [0]])
    func rejectsInvalidBitMaps(map: [UInt8]) throws {
        let whole = DNSMessage(
            header: DNSHeader(id: 0), answers: [DNSRecord(DNSName("a")!, timeToLive: 1, .other(.nsec, [0] + map))])
        let bytes = try whole.wireForm()
        #expect(throws: DNSWireError.self) { try DNSMessage(wire: bytes) }
    }

    @Test func skipsInvalidDataOnRequest() throws {
        let good = DNSRecord(DNSName("a")!, timeToLive: 1, .a(IPv4Address(rawValue: 1)))
        let bad = DNSRecord(DNSName("a")!, timeToLive: 1, .other(.nsec, [0, 0, 0]))
        let message = DNSMessage(
            header: DNSHeader(id: 0), answers: [bad, good, bad], authorities: [bad, good], additionals: [good, bad])
        let bytes = try message.wireForm()
        #expect(throws: DNSWireError.self) { try DNSMessage(wire: bytes) }
        let read = try DNSMessage(wire: bytes, skipsUnreadable: true)
        #expect([read.answers, read.authorities, read.additionals] == [[good], [good], [good]])
        // A record that extends beyond the end is always an error.
        for length in 0..<bytes.count {
            let start = Array(bytes.prefix(length))
            #expect(throws: DNSWireError.self) { try DNSMessage(wire: start, skipsUnreadable: true) }
        }
    }

    @Test func encodesAQuery() throws {
        let query = DNSMessage(query: DNSQuestion(DNSName("a.b")!, .aaaa), id: 0x1234, payloadSize: 1232)
        #expect(
            try query.wireForm() == [
                0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1,
                1, 97, 1, 98, 0, 0, 28, 0, 1,
                0, 0, 41, 0x04, 0xD0, 0, 0, 0, 0, 0, 0,
            ])
    }

    @Test func rejectsEveryPrefix() throws {
        let bytes = try Self.rich.wireForm()
        for length in 0..<bytes.count {
            #expect(throws: DNSWireError.self, "\(length) bytes") { try DNSMessage(wire: Array(bytes.prefix(length))) }
        }
        #expect(try DNSMessage(wire: bytes + [1, 2, 3]) == Self.rich)
    }

    @Test func survivesEveryChangedByte() throws {
        let bytes = try Self.rich.wireForm()
        for place in bytes.indices {
            for value: UInt8 in [0, 1, 0x3F, 0x40, 0x80, 0xC0, 0xFF, bytes[place] ^ 1] {
                var changed = bytes
                changed[place] = value
                if let message = try? DNSMessage(wire: changed) { _ = try? message.wireForm() }
                if let message = try? DNSMessage(wire: changed, skipsUnreadable: true) { _ = try? message.wireForm() }
            }
        }
    }

    @Test func survivesRandomBytes() {
        var random = SeededRandom(seed: 3)
        for _ in 0..<20_000 {
            var bytes = random.bytes(upTo: 120)
            // Small counts; otherwise nearly all messages would claim too many records.
            for place in stride(from: 4, to: min(12, bytes.count), by: 2) { bytes[place] = 0 }
            if let message = try? DNSMessage(wire: bytes) { _ = try? message.wireForm() }
            if let message = try? DNSMessage(wire: bytes, skipsUnreadable: true) { _ = try? message.wireForm() }
        }
    }

    private static func question(_ name: [UInt8]) -> [UInt8] {
        [0, 0, 0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0] + name + [0, 1, 0, 1]
    }

    @Test(arguments: [
        [0xC0, 12], [0xC0, 13, 0], [0xC0, 0xFF], [1, 97, 0xC0, 12], [0x40, 97, 0], [0x80, 97, 0], [0xC0],
    ])
    func rejectsLoopsAndInvalidLabels(name: [UInt8]) {
        #expect(throws: DNSWireError.self) { try DNSMessage(wire: Self.question(name)) }
    }

    /// Names in the data of types without a case of their own: their pointers mean nothing outside of the message.
    @Test(
        arguments: [
            // MB, DNAME; MINFO, RP; AFSDB, KX; SIG; PX; NAPTR. 0 stands for a name.
            (7, [0]), (39, [0]), (14, [0, 0]), (17, [0, 0]), (18, [2, 0]), (36, [2, 0]), (24, [18, 0, 3]),
            (26, [2, 0, 0]),
            (35, [4, -1, -2, -3, 0]),
        ] as [(UInt16, [Int])])
    func namesInOtherDataAreUncompressed(type: UInt16, parts: [Int]) throws {
        func data(_ name: [UInt8]) -> [UInt8] {
            var data: [UInt8] = []
            for part in parts {
                if part < 0 { data.append(UInt8(-part)) }
                data += part == 0 ? name : [UInt8](repeating: 0xC0, count: abs(part))
            }
            return data
        }
        func message(_ data: [UInt8]) -> [UInt8] {
            var message: [UInt8] = [0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0x78, 1, 0x79, 0]
            message += [0, UInt8(type), 0, 1, 0, 0, 0, 9, 0, UInt8(data.count)] as [UInt8]
            return message + data
        }
        let full: [UInt8] = [1, 0x7A, 1, 0x79, 0]
        // "z" and a pointer to "y", which is at byte 14.
        for name in [full, [1, 0x7A, 0xC0, 14]] {
            let record = try DNSMessage(wire: message(data(name))).answers[0]
            #expect(record.data == .other(DNSRecordType(rawValue: type), data(full)))
        }
        // A name that ends after its record, or never.
        for name: [UInt8] in [[], [1], [0xC0], [0xC0, 100]] {
            #expect(throws: DNSWireError.self) { try DNSMessage(wire: message(data(name))) }
        }
    }

    /// CVE-2023-4408 of BIND, FreeBSD eed1a411: names with many pointers waste processor time.
    @Test func boundsThePointersOfAName() throws {
        func message(pointers: Int) -> [UInt8] {
            // A record of unknown type whose data are a root and a chain of pointers, each to the previous one.
            var data: [UInt8] = [0]
            let start = 12 + 11
            for index in 0..<pointers {
                let target = index == 0 ? start : start + 1 + 2 * (index - 1)
                data += [0xC0 | UInt8(target >> 8), UInt8(target & 255)]
            }
            let last = start + 1 + 2 * (pointers - 1)
            return [0, 0, 0x80, 0, 0, 0, 0, 2, 0, 0, 0, 0]
                + [0, 0xFF, 0xFE, 0, 1, 0, 0, 0, 0, UInt8(data.count >> 8), UInt8(data.count & 255)] + data
                + [0xC0 | UInt8(last >> 8), UInt8(last & 255), 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4]
        }
        #expect(try DNSMessage(wire: message(pointers: DNSDecoder.maximumPointers - 1)).answers[1].name == .root)
        #expect(throws: DNSWireError.self) { try DNSMessage(wire: message(pointers: DNSDecoder.maximumPointers)) }
    }

    @Test func rejectsNamesThatPointersMakeTooLong() {
        let label = [63] + [UInt8](repeating: 97, count: 63)
        let longest = label + label + label + [61] + [UInt8](repeating: 98, count: 61) + [0]
        #expect(throws: Never.self) { try DNSMessage(wire: Self.question(longest)) }
        var bytes = Self.question(longest) + [1, 97, 0xC0, 12, 0, 1, 0, 1]
        bytes[5] = 2
        #expect(throws: DNSWireError.self) { try DNSMessage(wire: bytes) }
    }

    /// CVE-2020-22217 of c-ares: data read past the record's end.
    @Test(arguments: [DNSRecordType.a, .aaaa, .mx, .srv, .soa, .ns, .ptr, .cname, .txt])
    func rejectsEveryOtherDataLength(type: DNSRecordType) throws {
        let records = Self.rich.answers + Self.rich.authorities
        let record = try #require(records.first { $0.type == type })
        let message = DNSMessage(header: DNSHeader(id: 1, bits: 0x8000), answers: [record])
        let bytes = try message.wireForm()
        let lengthPlace = 12 + record.name.wireForm.count + 8
        let right = Int(bytes[lengthPlace + 1])
        for length in 0...255 where length != right {
            var wrong = bytes + [UInt8](repeating: 0, count: 256)
            wrong[lengthPlace + 1] = UInt8(length)
            if type == .txt, (try? DNSMessage(wire: wrong)) != nil {
                // A TXT record has any number of texts; the zeros after it are empty texts.
                #expect(length > right || length == 4 || length == 5 || length == 0)
            } else {
                #expect(throws: DNSWireError.self, "\(length)") { try DNSMessage(wire: wrong) }
            }
        }
    }

    @Test func joinsTheExtendedResponseCode() throws {
        var message = DNSMessage(header: DNSHeader(id: 1, bits: 0x8000))
        #expect(message.responseCode == .noError)
        message.additionals = [DNSRecord(.root, type: .opt, recordClass: 512, timeToLive: 1 << 24, .other(.opt, []))]
        #expect(message.responseCode == .badVersion)
        message.additionals += message.additionals
        let bytes = try message.wireForm()
        #expect(throws: DNSWireError.self) { try DNSMessage(wire: bytes) }
    }

    @Test func rejectsMessagesThatAreTooLarge() {
        let text = DNSRecord(
            .root, timeToLive: 0, .txt(Array(repeating: [UInt8](repeating: 1, count: 255), count: 200)))
        let message = DNSMessage(header: DNSHeader(id: 1), answers: [text, text])
        #expect(throws: DNSWireError.self) { try message.wireForm() }
        let long = DNSRecord(.root, timeToLive: 0, .txt([[UInt8](repeating: 1, count: 256)]))
        #expect(throws: DNSWireError.self) { try DNSMessage(header: DNSHeader(id: 1), answers: [long]).wireForm() }
    }
}

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
        #expect(try #require(DNSName(longest)).wireForm.count == 255)
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
