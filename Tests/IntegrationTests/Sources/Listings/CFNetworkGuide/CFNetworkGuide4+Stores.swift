public import NetKit

extension CFNetworkGuide.Chapter4 {
    /// 4-7: looks for credentials in a store. The key has the server, port, scheme and realm.
    ///
    /// For the path the guide's text names an "authentication object" that has none; no path is needed here.
    public static func listing7(
        _ store: any CredentialStore, _ authentication: HTTPAuthentication
    ) throws(HTTPAuthError) -> Credential? {
        try store.find(CredentialQuery(authentication.space))
    }

    /// 4-8: takes a found entry apart.
    public static func listing8(_ entry: Credential) -> Credentials {
        let password = entry.password?.withBytes { String(decoding: $0, as: UTF8.self) }
        return [.username: entry.user, .password: password ?? ""]
    }

    /// 4-9: changes the password of an entry in place: one of the same user for the same space is replaced.
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
