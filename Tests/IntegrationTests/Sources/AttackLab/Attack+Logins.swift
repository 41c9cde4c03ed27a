internal import CredentialStores
internal import Foundation
internal import NetKit

/// Servers that request a password, or more than they are entitled to.
extension Attack {
    /// Servers that require a login, and origins that receive requests meant for another one.
    public static let logins: [Attack] = [
        Attack("login-body", "a 401 whose body has no end", on: .client { try await session($0) }),
        Attack(
            "login-body-drip", "a 401 whose body comes at 50 bytes a second",
            on: .client { try await session($0) }),
        Attack(
            "login-rounds", "a new challenge for each answer, without an end", on: .client { try await session($0) }),
        Attack(
            "login-weaker-scheme", "a Digest challenge, and Basic once the user has answered", origin: "CVE-2026-5545",
            on: .client { try await session($0) }),
        Attack(
            "login-weaker-digest", "a SHA-256 challenge with qop, and MD5 without it once the user has answered",
            on: .client { try await session($0) }),
        Attack(
            "login-open-prompt",
            "a login for which the user never answers, beside one of another origin in the session",
            ending: .success,
            on: .client { scene in
                var configuration = HTTPSession.Configuration()
                configuration.options.pool = HTTPConnectionPool()
                configuration.options.totalTimeout = AttackScene.limit
                let isAsked = OneShot<Void>()
                configuration.prompt = { prompt in
                    guard prompt.space.host == "127.0.0.1" else { return .init(user: "ann", password: "secret") }
                    isAsked.provide(())
                    try? await EventLoop.shared.sleep(for: AttackScene.limit * 2)
                    return nil
                }
                let session = HTTPSession(configuration)
                guard let open = URL(string: "http://127.0.0.1:\(scene.port)/"),
                    let other = URL(string: "http://localhost:\(scene.port)/")
                else { return }
                async let unanswered = session.get(open)
                try await isAsked.value()
                let answered = try await session.get(other)
                guard answered.status == .ok else { throw Breach(description: "the other login failed") }
                guard (try? await unanswered) == nil else { throw Breach(description: "the login had no answer") }
            }),
        Attack(
            "login-netrc-default", "a redirect to a host that requires a login",
            origin: "CVE-2025-0167, CVE-2022-27774",
            on: .client { scene in
                let path = "\(scene.folder)/netrc"
                guard
                    FileManager.default.createFile(
                        atPath: path, contents: Data("default login ann password secret\n".utf8),
                        attributes: [.posixPermissions: 0o600])
                else { return }
                let file = try NetrcFile(path: path)
                try await session(scene) {
                    $0.prompt = nil
                    $0.stores.origins = [file]
                }
            }),
        Attack(
            "redirect-secrets", "a redirect to another origin, which inspects the request",
            origin: "CVE-2018-1000007, CVE-2022-27776, CVE-2025-14524",
            on: .client { scene in
                try await session(
                    scene, method: .post,
                    write: { request in
                        let names: [HTTPFieldName] = [
                            "X-Api-Key", "PRIVATE-TOKEN", "Cookie", "Cookie2", "Authorization",
                        ]
                        for name in names { try request.fields.append("secret", for: name) }
                        request.body = Array("secret".utf8)
                    })
            }),
    ]

    /// Loads the peer's URL in a separate session whose user has a password.
    static func session(
        _ scene: AttackScene, method: HTTPMethod = .get,
        _ change: (inout HTTPSession.Configuration) throws -> Void = { _ in },
        write: (inout HTTPRequest) throws -> Void = { _ in }
    ) async throws {
        var configuration = HTTPSession.Configuration()
        configuration.options.followsRedirects = true
        configuration.options.pool = HTTPConnectionPool()
        // A user who agrees to no weaker scheme.
        configuration.prompt = { $0.downgrade == nil ? .init(user: "ann", password: "secret") : nil }
        configuration.options.totalTimeout = AttackScene.limit
        try change(&configuration)
        guard let url = URL(string: "http://127.0.0.1:\(scene.port)/") else { return }
        var request = try HTTPRequest(method: method, url: url)
        try write(&request)
        let session = HTTPSession(configuration)
        try await scene.drain(session.open(request))
    }
}
