import HTTPAuthTesting
import Testing

@testable import CredentialStores

/// The expected values come from the Python package secretstorage.
@Suite struct SecretServiceSessionTests {
    private static let random = Secret(bytes: bytes(String(repeating: "1234567890abcdef", count: 16)))
    private static let ours = """
        779252ad02ec9bf5f49437c89a6018113aec1cc48ee1f4c36c166c13e829d54fdb1814858eacad25f1707702454b72cf9cb7038e12ca28a4
        9d0a8be48b883c25241b2c90695326a70baf8be54ae41a4f7c5a7c403e7040d3506b2cef6871d45fd576a6ab548f973273b6fe7cf4fbeaec
        a66db684c36c96de951b2a7ab0046f63
        """
    private static let theirs = """
        103e8b8bff8f94ad516137a9328237f2eeef4a9991201e2ca9a81caa56af525de95c1720dce86a1cdc701a8cbe0c98389eec9fdb62709166
        3e7ded5af3b179a0c4b768b420cba03828488de059cce1ae03ae4b250f9b4058254e96b4c6e6d340dbc93131b8744af4cde5ce13b48f7eb4
        d83a449ca110ab6c7a6710a5f75fa065
        """
    private static let prime = """
        FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B
        302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7EDEE386BFB5A899FA5AE9F24117C4B1FE6
        49286651ECE65381FFFFFFFFFFFFFFFF
        """

    @Test func agreesOnAKey() throws {
        let agreement = try SecretServiceSession.KeyAgreement(random: Self.random)
        #expect(agreement.publicKey == bytes(Self.ours))
        let key = try agreement.key(with: Secret(bytes: bytes(Self.theirs)))
        #expect(key == Secret(bytes: bytes("accaadc52fb48b74fd40c8a238d390c2")))
        let session = SecretServiceSession(path: "/s", key: key)
        let (iv, value) = (Secret(bytes: 0..<16), bytes("a8328bb06c017c4e9f04cd533427c922"))
        #expect(try session.decrypted(iv, Secret(bytes: value)) == Secret("open sesame"))
        for secret in [Secret(""), Secret("a"), Secret("0123456789abcdef"), Secret(String(repeating: "é", count: 99))] {
            let parts = try #require(try session.encrypted(secret).members)
            let (iv, value) = (try #require(parts[1].bytes), try #require(parts[2].bytes))
            #expect(value.count % 16 == 0 && value.count > secret.count)
            #expect(try session.decrypted(iv, value) == secret)
        }
        let wrong = [(Secret(""), value), (iv, Array(value[1...])), (iv, []), (iv, [UInt8](repeating: 1, count: 16))]
        for (iv, value) in wrong {
            #expect(failure(of: { _ = try session.decrypted(iv, Secret(bytes: value)) })?.code == .storeUnavailable)
        }
    }

    /// Public keys that would lead to a key known to everyone.
    @Test func rejectsWeakPublicKeys() throws {
        let agreement = try SecretServiceSession.KeyAgreement(random: Self.random)
        var less = bytes(Self.prime)
        less[127] -= 1
        for number in [[], [0], [1], [0, 0, 1], less, bytes(Self.prime), bytes(Self.prime) + [0]] {
            #expect(failure(of: { _ = try agreement.key(with: Secret(bytes: number)) })?.code == .storeUnavailable)
        }
    }
}

@Suite struct SecretServiceItemTests {
    private let query = CredentialQuery(
        ProtectionSpace(.origin, scheme: "https", host: "h", port: 443, realm: "r"), user: nil)

    private func item(_ changes: [String: String?]) -> SecretServiceItem {
        var attributes = ["xdg:schema": SecretServiceItem.schema, "server": "h", "protocol": "https", "user": "joe"]
        for (name, value) in changes { attributes[name] = value }
        return SecretServiceItem(path: "/", attributes: attributes, isLocked: false, modified: 0)
    }

    // Parity: HA-062, HA-066
    @Test(
        "HA-062, HA-066: matching entries, whatever their path and scheme",
        arguments: [
            ([:], true), (["port": "443"], true), (["port": "80"], false), (["domain": "r"], true),
            (["domain": "s"], false), (["domain": ""], false), (["server": "H"], false), (["protocol": "http"], false),
            (["protocol": "https-proxy"], false), (["user": nil], false), (["xdg:schema": "org.git.Password"], false),
            (["comment": "c"], true), (["object": "/private"], true), (["authtype": "Digest"], true),
        ] as [([String: String?], Bool)])
    func matches(_ changes: [String: String?], _ isMatch: Bool) {
        #expect(item(changes).matches(query) == isMatch)
    }

    @Test func oneUser() {
        #expect(item([:]).matches(CredentialQuery(query.space, user: "joe")))
        #expect(!item([:]).matches(CredentialQuery(query.space, user: "ann")))
    }

    /// No description of a bus message shows a secret.
    @Test func secretsAreNotShown() {
        let value = DBusValue.structure([.bytes(Secret("hunter2"))])
        let message = DBusMessage(kind: .reply, body: [value])
        var dumped = ""
        dump(message, to: &dumped)
        #expect(!("\(message)" + String(reflecting: message) + dumped).contains("hunter2"))
    }
}
