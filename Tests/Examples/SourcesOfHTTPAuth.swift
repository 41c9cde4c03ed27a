import Foundation

@testable import HTTPAuth

enum SourcesOfHTTPAuth {
    /// A message of another client.
    struct Message {
        struct Status { var code: Int }
        struct Headers {
            func map<Value>(_ transform: ((name: String, value: String)) -> Value) -> [Value] { [] }
            func replaceOrAdd(name: String, value: String) {}
        }
        var status: Status
        var headers: Headers
    }
    static var reply: Message { preconditionFailure("only compiled") }
    static var next: Message { reply }
    static var response: HTTPResponse { preconditionFailure("only compiled") }
    static var authentication: HTTPAuthentication { preconditionFailure("only compiled") }
    static var login: HTTPAuthentication { authentication }
    static var credential: Credential { preconditionFailure("only compiled") }
    static var keyRing: any CredentialStore { store }
    static var file: any CredentialStore { store }
    static var store: MemoryCredentialStore { MemoryCredentialStore() }
    static var account: NTLMAccount { preconditionFailure("only compiled") }
    static var fields: [(String, String)] { [] }
    static var signed: HTTPRequest { request }
    static var url: URL { URL(fileURLWithPath: "/") }
    static var bytes: [UInt8] { [] }
    static var challenge: [UInt8] { [] }
    static var random: [UInt8] { [] }
    static var now: UInt64 { 0 }
    static var home: String { "" }
    static var path: String { "" }
    static var typed: String { "" }
    static var request: HTTPRequest {
        get { preconditionFailure("only compiled") }
        set {}
    }
    static var policy: AuthenticationPolicy {
        get { AuthenticationPolicy() }
        set {}
    }
    static func send(_ request: HTTPRequest) async throws -> HTTPResponse { response }
    static func use(_ response: HTTPResponse) {}
    static func hash(_ bytes: UnsafeRawBufferPointer) {}
}
