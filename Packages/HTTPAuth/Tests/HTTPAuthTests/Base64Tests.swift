import Testing

@testable import HTTPAuth

@Suite struct Base64Tests {
    /// RFC 4648 §10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func vectors(_ text: String, _ encoded: String) {
        #expect(Base64.encode(Array(text.utf8)) == Array(encoded.utf8))
        #expect(Base64.decode(encoded) == Array(text.utf8))
        #expect(Base64.decode(encoded.replacing("=", with: "")) == Array(text.utf8))
    }

    @Test(arguments: [
        "Z", "Zg=", "Zg===", "=Zg=", "Zm9v=", "Zh==", "Zm9=", "Zm 9", "Z-_=", "Zg==Zg==", "é", "=", "====", "Zm9v\n",
        " Zm9v",
    ])
    func rejects(_ text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test func everyByte() {
        let bytes = Array(UInt8.min...UInt8.max)
        #expect(Base64.decode(String(decoding: Base64.encode(bytes), as: UTF8.self)) == bytes)
    }
}
