import Testing

@testable import HTTPAuth

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
