import Foundation
import Peers

/// The realm and the servers, one of each for all tests of this target.
struct AuthenticationPeers {
    let realm: KerberosRealm
    private let silent: UnansweredPort
    let apache: NegotiateApache
    let acceptor: NegotiateAcceptor
    /// The hash of the acceptor's certificate, computed by openssl.
    let certificateHash: String
    /// A credential cache with a ticket of alice.
    let cache: String

    private static let shared = Task { try await AuthenticationPeers() }

    static func get() async throws -> AuthenticationPeers { try await shared.value }

    private init() async throws {
        silent = try UnansweredPort()
        realm = KerberosRealm(silentPort: silent.port)
        try realm.start()
        apache = NegotiateApache(realm: realm)
        try apache.start()
        acceptor = NegotiateAcceptor(realm: realm)
        try acceptor.start()
        cache = try await realm.ticket(of: "alice")
        let chain = try CertificateAuthority.shared().server(.good).chain
        let hash = try await Command(
            "sh", "-c", "openssl x509 -in \"$0\" -outform DER | openssl dgst -sha256 -r", chain
        ).run()
        certificateHash = String(hash.text.prefix(64))
    }

    /// Runs `login` with this environment and returns its output.
    func login(_ url: String, _ options: [String: String] = [:], cache: String? = nil, skew: Bool = false) async throws
        -> String
    {
        try await login(url, options, environment: try realm.environment(cache ?? self.cache, skew: skew))
    }

    func login(_ url: String, _ options: [String: String], environment: [String: String], clock: String? = nil)
        async throws -> String
    {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = URL(fileURLWithPath: program).deletingLastPathComponent().appendingPathComponent("login").path
        let arguments = [path, url] + options.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
        var command =
            if let clock {
                Command(Program("faketime"), ["-f", clock] + arguments)
            } else {
                Command(Program("env", package: "coreutils"), arguments)
            }
        command.environment = environment
        let result = try await command.run()
        // Standard error matters if the program failed, which it must not, whatever the result of the login.
        let text = result.status == 0 ? result.text : "status \(result.status): \(result.text)\(result.errors)"
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
