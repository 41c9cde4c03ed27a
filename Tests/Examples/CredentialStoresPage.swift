import CredentialStores

enum CredentialStoresPage {
    static var authentication: HTTPAuthentication { preconditionFailure("only compiled") }
    static var store: any CredentialStore { MemoryCredentialStore() }
    static var home: String { "" }
    static var typed: String { "" }
}
