import HTTPAuthTesting
import Testing

@testable import CredentialStores

/// Messages written by the Python package jeepney.
@Suite struct DBusMessageTests {
    static let call = """
        6c01000134000000070000009300000001016f00180000002f6f72672f667265656465736b746f702f736563726574730000000000000000
        020173001e0000006f72672e667265656465736b746f702e5365637265742e536572766963650000030173000b0000005365617263684974
        656d73000000000006017300170000006f72672e667265656465736b746f702e73656372657473000801670005617b73737d000000000000
        2c0000000000000006000000736572766572000007000000c3a92e7465737400040000007573657200000000030000006a6f6500
        """
    static let bigEndianReply = """
        42020001000000ac000000090000001e05017500000000070801670010617b73767d286f6179617973297864620000000000005e00000000
        000000064c6f636b65640001620000000000000100000000000000084d6f646966696564000174000000011f71fb04cb0000000a41747472
        6962757465730005617b73737d0000000000000e0000000000000001610000000000000162000000000000042f732f310000000000000002
        0102000000000002707700000000000a746578742f706c61696e000000000000fffffffffffffffb3ff800000000000000000001
        """

    @Test func writesAndReadsACall() throws {
        var message = DBusMessage.call(
            "SearchItems", "org.freedesktop.Secret.Service", at: "/org/freedesktop/secrets",
            of: "org.freedesktop.secrets", [.dictionary(["user": "joe", "server": "é.test"])])
        message.serial = 7
        #expect(hexadecimal(message.encoded()) == hexadecimal(bytes(Self.call)))
        var read = try #require(try DBusMessage.decode(bytes(Self.call)))
        #expect(read.fields.removeValue(forKey: .signature) == .signature("a{ss}"))
        #expect(read == message)
    }

    @Test func readsTheOtherByteOrder() throws {
        let message = try #require(try DBusMessage.decode(bytes(Self.bigEndianReply)))
        #expect(message.kind == .reply && message.serial == 9 && message.fields[.replySerial]?.bits == 7)
        let values = message.body
        let dictionary = try #require(values.first?.dictionary)
        #expect(dictionary["Locked"]?.content?.isTrue == true)
        #expect(dictionary["Modified"]?.content?.bits == 1_234_567_890_123)
        #expect(dictionary["Attributes"]?.content?.dictionary?.compactMapValues(\.string) == ["a": "b"])
        #expect(values[1].members?[0].path == "/s/1" && values[1].members?[2].bytes == Secret("pw"))
        #expect(values[2].bits == UInt64(bitPattern: -5) && values[3].bits == (1.5).bitPattern)
        #expect(values[4].isTrue == true)
    }

    /// A truncated message throws, and a damaged one never traps.
    @Test func damaged() throws {
        var damage = Damage(seed: 5)
        for message in [bytes(Self.call), bytes(Self.bigEndianReply)] {
            for count in 0..<message.count {
                #expect(
                    failure(of: { _ = try DBusMessage.decode(Array(message[..<count])) })?.code == .storeUnavailable)
            }
            var read = 0
            for _ in 0..<8000 {
                let damaged = damage.applied(to: message)
                if damaged.count >= 16 { _ = try? DBusMessage.length(ofPrefix: Array(damaged[..<16])) }
                if let message = try? DBusMessage.decode(damaged) {
                    read += 1
                    _ = message.encoded()
                }
            }
            #expect(read > 100)
        }
    }

    @Test func limits() throws {
        var prefix = Array(bytes(Self.call)[..<16])
        prefix[6] = 0x10  // 1 MiB more
        #expect(failure(of: { _ = try DBusMessage.length(ofPrefix: prefix) })?.code == .storeUnavailable)
        for signature in [
            String(repeating: "a", count: 40) + "y", String(repeating: "(", count: 40) + "y", "a", "(", "()", "(y",
            "{sv}",
            "a{s}", "a{svs}", "z", ")", String(repeating: "y", count: 256), "é",
        ] {
            #expect(failure(of: { _ = try DBusType.parse(signature) })?.code == .storeUnavailable, "\(signature)")
        }
        for signature in ["", "aay", "a{sv}(oayays)xdb", "a{o(oayays)}", "((((y))))v"] {
            #expect(try DBusType.parse(signature).map(\.text).joined() == signature)
        }
        // Nested variants: each has a signature of two bytes and a NUL.
        var nested: [UInt8] = []
        for _ in 0..<100 { nested += [1, UInt8(ascii: "v"), 0] }
        var reader = DBusReader(nested[...], isBigEndian: false)
        #expect(failure(of: { _ = try reader.value(.variant) })?.detail?.contains("nested too deeply") == true)
    }

    /// Values that the specification forbids and that other implementations may interpret differently.
    @Test func rejectsInvalidValues() throws {
        func read(_ type: DBusType, _ bytes: [UInt8]) -> HTTPAuthError? {
            var reader = DBusReader(bytes[...], isBigEndian: false)
            return failure(of: { _ = try reader.value(type) })
        }
        func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count), 0, 0, 0] + text.utf8 + [0] }
        for path in ["/", "/a", "/org/x_1/Z9"] { #expect(read(.path, text(path)) == nil) }
        for path in ["", "a", "//", "/a/", "/a//b", "/a'", "/a,type='signal'", "/é", "/a b", "/a\0"] {
            #expect(read(.path, text(path)) != nil, "\(path)")
        }
        #expect(read(.string, text("a\0b")) != nil)
        #expect(read(.number(.boolean), [2, 0, 0, 0]) != nil)
        #expect(read(.structure([.byte, .number(.uint32)]), [1, 0, 0, 0, 2, 0, 0, 0]) == nil)
        #expect(read(.structure([.byte, .number(.uint32)]), [1, 0, 9, 0, 2, 0, 0, 0]) != nil)
        // 64 MiB announced in eight bytes, with elements of different sizes.
        #expect(read(.array(.variant), [0, 0, 0, 4, 0, 0, 0, 0]) != nil)
        #expect(read(.array(.byte), [0, 0, 0, 4, 0, 0, 0, 0]) != nil)
    }

    @Test func busErrorsAreOneLine() {
        let error = HTTPAuthError.busError("test.Error", "\u{1B}[2Jone\ntwo" + String(repeating: "x", count: 500))
        let detail = error.detail ?? ""
        #expect(detail.hasPrefix("test.Error:  [2Jone two") && detail.hasSuffix("x…") && detail.count == 201)
    }

    @Test(arguments: [
        ("unix:path=/run/user/0/bus,guid=12", [DBusAddress.path("/run/user/0/bus")]),
        ("tcp:host=localhost,port=1;unix:abstract=/tmp/a%2cb", [.abstract("/tmp/a,b")]),
        ("unix:runtime=yes;unix:tmpdir=/tmp;unix:path=/b", [.path("/home/run/bus"), .path("/b")]),
        ("unix:path=%zz;unix:path=%2;unix:path=%+5;unix:path=%00;unix:;unix;;autolaunch:", []),
    ])
    func addresses(_ list: String, _ addresses: [DBusAddress]) {
        #expect(DBusAddress.parse(list, runtimeFolder: "/home/run") == addresses)
    }
}
