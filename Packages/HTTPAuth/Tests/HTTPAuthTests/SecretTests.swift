import HTTPAuth
import Testing

@Suite struct SecretTests {
    @Test func comparesBytes() {
        #expect(Secret("abc") == Secret(bytes: Array("abc".utf8)))
        #expect(Secret("abc") != Secret("abd"))
        #expect(Secret("abc") != Secret("ab"))
        #expect(Secret("") == Secret(bytes: []))
        #expect(Secret("é").withBytes { Array($0) } == [0xC3, 0xA9])
    }

    /// None of Swift's ways to print a value reveals a secret.
    @Test func isNeverPrinted() {
        let space = ProtectionSpace(.origin, scheme: "http", host: "h", port: 80)
        let credential = Credential(user: "joe", password: "hunter2", for: space)
        let secret = Secret("hunter2")
        var texts = ["\(secret)", String(reflecting: secret), "\(credential)", String(reflecting: credential)]
        texts += ["\(credential.proof)", "\([secret])", "\(Optional(secret) as Any)"]
        var dumped = ""
        dump(credential, to: &dumped)
        dump([secret], to: &dumped)
        #expect(!(texts + [dumped]).contains { $0.contains("hunter2") || $0.contains("104, 117") })
        #expect(texts[2] == "joe at origin http://h:80")
    }
}
