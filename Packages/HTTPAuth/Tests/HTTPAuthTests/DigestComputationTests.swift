import HTTPAuth
import Testing

@Suite struct DigestComputationTests {
    /// RFC 7616 §3.9.1, with both algorithms.
    @Test(arguments: [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ])
    func twoAlgorithms(_ algorithm: String, _ response: String) throws {
        var vector = DigestVector()
        (vector.user, vector.password, vector.realm) = ("Mufasa", "Circle of Life", "http-auth@example.org")
        (vector.uri, vector.algorithm, vector.protection) = ("/dir/index.html", algorithm, "auth")
        vector.nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
        vector.clientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
        #expect(try vector.response() == response)
    }

    /// RFC 7616 §3.9.2, as corrected by erratum 4897.
    @Test func nonASCIINames() throws {
        var vector = DigestVector()
        (vector.user, vector.password, vector.realm) = ("Jäsøn Doe", "Secret, or not?", "api@example.org")
        (vector.uri, vector.algorithm, vector.protection) = ("/doe.json", "SHA-512-256", "auth")
        vector.nonce = "5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK"
        vector.clientNonce = "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v"
        #expect(try vector.response() == "3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5")
    }

    /// RFC 2617 §3.5 and, without `qop`, RFC 2069.
    @Test(arguments: [("auth", "6629fae49393a05397450978507c4ef1"), (nil, "670fd8c2df070c60b045671b8b24ff02")])
    func older(_ protection: String?, _ response: String) throws {
        var vector = DigestVector()
        (vector.user, vector.password, vector.realm) = ("Mufasa", "Circle Of Life", "testrealm@host.com")
        (vector.uri, vector.protection) = ("/dir/index.html", protection)
        (vector.nonce, vector.clientNonce) = ("dcd98b7102dd2f0e8b11d0f600bfb0c093", "0a4f113b")
        #expect(try vector.response() == response)
    }

    /// Computed with Python's hashlib from the formulas of RFC 7616 §3.4.
    @Test(arguments: [
        ("MD5-sess", "auth", "6db385b471693e5862821ec04d4977d8"),
        ("SHA-256-sess", "auth-int", "fa3f833861bfc0c3b58f85da9cb74b11195ae2141171dda9866ffc6d162b66f6"),
        ("sha-512-256-SESS", "auth-int", "ae78d85b6b2b347a4bd727e0b49a2768c11b89128cda3a97ec72e45f36ad9f6c"),
        ("MD5", "auth-int", "f8ede02c2e85b6190317eb9d6b2c7b35"),
    ])
    func sessionsAndIntegrity(_ algorithm: String, _ protection: String, _ response: String) throws {
        var vector = DigestVector()
        (vector.user, vector.password, vector.realm) = ("joe", "pass word", "a, b")
        (vector.method, vector.uri, vector.body) = ("PUT", "/x?y=z", Array("hello".utf8))
        (vector.nonce, vector.clientNonce, vector.count) = ("n1", "c1", "0000000a")
        (vector.algorithm, vector.protection) = (algorithm, protection)
        #expect(try vector.response() == response)
    }

    @Test func unknown() throws {
        var vector = DigestVector()
        // In upper case, U+017F is S.
        for algorithm in ["SHA-1", "\u{17F}HA-256"] {
            vector.algorithm = algorithm
            #expect(try vector.response() == nil)
        }
        (vector.algorithm, vector.protection) = (nil, "auth-conf")
        #expect(try vector.response() == nil)
    }
}
