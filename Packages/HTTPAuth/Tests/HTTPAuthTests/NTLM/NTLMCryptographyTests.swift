import HTTPAuthTesting
import Testing

@testable import HTTPAuth

@Suite struct MD4Tests {
    /// RFC 1320 appendix A.5.
    @Test(arguments: [
        ("", "31d6cfe0d16ae931b73c59d7e0c089c0"),
        ("a", "bde52cb31de33e46245e05fbdbd6fb24"),
        ("abc", "a448017aaf21d8525fc10ae87aa6729d"),
        ("message digest", "d9130a8164549fe818874806e1c7014b"),
        ("abcdefghijklmnopqrstuvwxyz", "d79e1c308aa5bbcdeea8ed63df412da9"),
        (
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            "043f8582f241db351ce627e153e7f0e4"
        ),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "e33b4ddc9c38f2199c3e7b164fcc0536"
        ),
    ])
    func digestsOfTheRFC(_ text: String, _ digest: String) {
        #expect(hexadecimal(MD4.digest(of: Array(text.utf8))) == digest)
    }

    /// Lengths around which the padding needs another block; the digests agree with OpenSSL's legacy provider.
    @Test(arguments: [
        (55, "c889c81dd86c4d2e025778944ea02881"), (56, "d5f9a9e9257077a5f08b0b92f348b0ad"),
        (63, "7ea3da77432d44c323671097d1348fc8"), (64, "52f5076fabd22680234a3fa9f9dc5732"),
        (65, "330e377bf231f3cacfecc2c182fe7e5b"), (119, "e65dd227ccef97fa1d34d70189120f76"),
        (120, "b03ddbd470b47c013e0c7ab2ddd763db"), (1000, "5f1bf26a8067c9159b91f1440f7c9e8a"),
    ])
    func paddings(_ count: Int, _ digest: String) {
        #expect(hexadecimal(MD4.digest(of: Array(repeating: UInt8(ascii: "a"), count: count))) == digest)
    }
}

@Suite struct RC4Tests {
    /// RFC 6229 section 2: the first 16 bytes of the stream for keys of several lengths.
    @Test(arguments: [
        ("0102030405", "b2396305f03dc027ccc3524a0a1118a8"),
        ("01020304050607", "293f02d47f37c9b633f2af5285feb46b"),
        ("0102030405060708090a0b0c0d0e0f10", "9ac7cc9a609d1ef7b2932899cde41b97"),
        (
            "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20",
            "eaa6bd25880bf93d3f5d1e4ca2611d91"
        ),
    ])
    func streamsOfTheRFC(_ key: String, _ stream: String) {
        var cipher = RC4(key: bytes(key))
        #expect(hexadecimal(cipher.apply(to: Array(repeating: 0, count: 16))) == stream)
    }

    /// Bytes 1008 to 1023 of the first stream, reached in steps of different lengths.
    @Test func streamContinues() {
        var cipher = RC4(key: bytes("0102030405"))
        for count in [1, 7, 500, 500] { _ = cipher.apply(to: Array(repeating: 0, count: count)) }
        #expect(hexadecimal(cipher.apply(to: Array(repeating: 0, count: 16))) == "45129048e6a0ed0b56b490338f078da5")
    }
}
