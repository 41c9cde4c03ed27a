public import NetKit

extension CFNetworkGuide.Chapter4 {
    /// 4-7: searches a store for credentials. The key consists of server, port, scheme and realm.
    ///
    /// For the path, the guide's text names an "authentication object", which has none; no path is needed here.
    public static func listing7(
        _ store: any CredentialStore, _ authentication: HTTPAuthentication
    ) throws(HTTPAuthError) -> Credential? {
        try store.find(CredentialQuery(authentication.space))
    }

    /// 4-8: reads the parts of an entry.
    public static func listing8(_ entry: Credential) -> Credentials {
        let password = entry.password?.withBytes { String(decoding: $0, as: UTF8.self) }
        return [.username: entry.user, .password: password ?? ""]
    }

    /// 4-9: changes the password of an entry in place: an entry of the same user for the same protection space is replaced.
    public static func listing9(
        _ store: any CredentialStore, _ entry: Credential, password: String
    ) throws(HTTPAuthError) {
        try store.save(Credential(user: entry.user, password: password, for: entry.space))
    }

    /// 4-10: adds an entry.
    public static func listing10(
        _ store: any CredentialStore, _ authentication: HTTPAuthentication, user: String, password: String
    ) throws(HTTPAuthError) {
        try store.save(Credential(user: user, password: password, for: authentication.space))
    }
}
