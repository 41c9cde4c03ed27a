import Testing

@testable import HTTPAuth

@Suite struct SecretServiceItemTests {
    private let query = CredentialQuery(
        ProtectionSpace(.origin, scheme: "https", host: "h", port: 443, realm: "r"), user: nil)

    private func item(_ changes: [String: String?]) -> SecretServiceItem {
        var attributes = ["xdg:schema": SecretServiceItem.schema, "server": "h", "protocol": "https", "user": "joe"]
        for (name, value) in changes { attributes[name] = value }
        return SecretServiceItem(path: "/", attributes: attributes, isLocked: false, modified: 0)
    }

    @Test(
        "HA-062: matching entries",
        arguments: [
            ([:], true), (["port": "443"], true), (["port": "80"], false), (["domain": "r"], true),
            (["domain": "s"], false), (["domain": ""], false), (["server": "H"], false), (["protocol": "http"], false),
            (["protocol": "https-proxy"], false), (["user": nil], false), (["xdg:schema": "org.git.Password"], false),
            (["comment": "c"], true),
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
