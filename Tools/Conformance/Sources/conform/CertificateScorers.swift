import Foundation
import StreamKit

/// Runs the certificate chains of the x509-limbo suite, each in a real handshake.
///
/// A row that we accept and the source rejects is laxer, unless OpenSSL accepts it as well: such rows are about what authorities
/// may issue (the profile of RFC 5280, the CA/Browser Forum's rules), not about which peers to trust. A row that we and the
/// source accept agrees, even if OpenSSL's command line rejects it: such rows trust a certificate that is not a root, which the
/// command does only with an option.
struct ChainScorer: Scorer {
    func runs(file: String) -> Bool { file == "x509-limbo.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let leaf = row.text("peer_certificate_pem"), let expected = row.text("expected_result") else {
            throw CaseError("\(row.name): no certificate or no verdict")
        }
        guard let key = row.text("peer_certificate_key_pem") else {
            return .notComparable(reason: "the row has no private key for the certificate")
        }
        let isFromClient = row.text("validation_kind") == "CLIENT"
        let openSSL = row.object("openssl_verify")?["result"] as? String
        let trial = HandshakeTrial(
            chain: [leaf] + row.texts("untrusted_intermediates_pem"), key: key, roots: row.texts("trusted_certs_pem"),
            revocationLists: row.texts("crls_pem"),
            peerName: isFromClient ? nil : row.object("expected_peer_name")?["value"] as? String,
            time: try row.text("validation_time").map { try Self.seconds($0) }, isFromClient: isFromClient)
        switch try trial.run() {
        case .accepted where expected == "SUCCESS":
            return .agreed
        case .accepted where openSSL == "SUCCESS":
            return .notComparable(reason: "accepted, like OpenSSL: a rule for issuers or of one profile")
        case .accepted:
            return .laxer(detail: "accepted, OpenSSL's verdict is \(openSSL ?? "unknown")")
        case .refused(let error):
            if expected == "FAILURE" { return .agreed }
            return .stricter(rule: openSSL == "FAILURE" ? "openSSLRefuses" : Rules.name(of: error))
        case .notPresented(let error):
            if expected == "FAILURE" { return .agreed }
            return .notComparable(reason: "cannot be presented in TLS: \(error)")
        }
    }

    private static func seconds(_ text: String) throws -> Int64 {
        // Certificates and OpenSSL have no fractions of a second.
        let whole = text.replacing(#/\.\d+/#, with: "")
        guard let date = ISO8601DateFormatter().date(from: whole) else { throw CaseError("invalid date: \(text)") }
        return Int64(date.timeIntervalSince1970)
    }
}

/// Runs the file of server certificates that have one fault each. The rows refer to PEM files.
struct BadCertificateScorer: Scorer {
    func runs(file: String) -> Bool { file == "tls-badcerts.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let expected = row.text("expected") else { throw CaseError("\(row.name): no verdict") }
        guard let chain = text(row, "chain_file"), let key = text(row, "key_file"),
            let root = text(row, "trust_anchor_file")
        else {
            return .notComparable(reason: "its PEM files are missing (\(row.text("reason") ?? ""))")
        }
        let trial = HandshakeTrial(chain: [chain], key: key, roots: [root], peerName: row.text("host"))
        switch try trial.run() {
        case .accepted: return expected == "accept" ? .agreed : .laxer(detail: row.text("reason") ?? "accepted")
        case .refused(let error):
            if expected == "reject" { return .agreed }
            return .stricter(rule: Rules.name(of: error))
        case .notPresented(let error): return .notComparable(reason: "cannot be presented in TLS: \(error)")
        }
    }

    /// Returns the text of a file that the row refers to, relative to the case file's folder or its parent.
    private func text(_ row: CaseRow, _ key: String) -> String? {
        guard let path = row.text(key) else { return nil }
        let folders = [row.folder, row.folder.deletingLastPathComponent()]
        return folders.lazy.compactMap { try? String(contentsOf: $0.appending(path: path), encoding: .utf8) }.first
    }
}

/// A TLS handshake between two ends in this process, in which one end verifies the other's certificates.
struct HandshakeTrial {
    /// The certificates to present in PEM, beginning with the end-entity certificate.
    var chain: [String]
    /// The private key of the end-entity certificate in PEM.
    var key: String
    /// The trusted certificates in PEM.
    var roots: [String]
    /// Certificate revocation lists in PEM. If there are any, every certificate needs one.
    var revocationLists: [String] = []
    /// The host name or address that the certificate must contain. Nil for a client's certificate.
    var peerName: String?
    /// The time at which the certificates must be valid. Nil for the current time.
    var time: Int64?
    /// Whether the client presents the certificates instead of the server.
    var isFromClient = false

    /// The result of a handshake.
    enum Result {
        case accepted
        case refused(StreamError)
        /// The certificates could not be presented: TLS cannot use the key or a certificate.
        case notPresented(StreamError)
    }

    func run() throws -> Result {
        let identity: TLSIdentity
        do throws(StreamError) {
            // The identity finds the end-entity certificate by its key. The order of the others is kept.
            identity = try TLSIdentity(pem: Array(chain.joined(separator: "\n").utf8), key: Array(key.utf8))
        } catch {
            return .notPresented(error)
        }
        var server = TLSConfiguration(server: identity)
        var client = TLSConfiguration()
        var trust = TLSTrust.only(try roots.flatMap { try Certificate.all(in: Array($0.utf8)) })
        let lists = FileManager.default.temporaryDirectory.appending(path: "conform-\(getpid()).crl").path
        defer { unlink(lists) }
        if !revocationLists.isEmpty {
            try revocationLists.joined(separator: "\n").write(toFile: lists, atomically: true, encoding: .utf8)
            trust.revocationLists = [lists]
        }
        if isFromClient {
            // The client does not verify the server's certificate in this case.
            server.clientAuthentication = .required
            server.trust = trust
            server.verificationTime = time
            client.identity = identity
            client.verification = .insecureNone
        } else {
            client.trust = trust
            client.peerName = peerName
            client.verificationTime = time
        }
        // The presenting end must not reject its own weak certificates; only the verifying end decides.
        let weak = "DEFAULT:@SECLEVEL=0"
        if isFromClient { client.cipherList = weak } else { server.cipherList = weak }
        client.resumesSessions = false
        server.resumesSessions = false
        return try shakeHands(client, server)
    }

    private func shakeHands(_ client: TLSConfiguration, _ server: TLSConfiguration) throws -> Result {
        var descriptors: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &descriptors) == 0 else {
            throw CaseError("socketpair: \(String(cString: strerror(errno)))")
        }
        let near = StreamPair(descriptor: descriptors[0], ownership: .owned)
        let far = StreamPair(descriptor: descriptors[1], ownership: .owned)
        defer {
            near.close()
            far.close()
        }
        let (verifier, presenter) = isFromClient ? (far, near) : (near, far)
        do throws(StreamError) {
            try near.set(.tls, to: client)
            try far.set(.tls, to: server)
            try presenter.open()
            try verifier.open()
            try verifier.output.opened()
        } catch {
            // An error that is not in this list is the verifier's verdict. The others are problems of the presenting end.
            let alerts: [TLSFailure] = [.peerHandshakeFailure, .peerInternalError, .closedAbruptly, .badConfiguration]
            return error.tlsFailure.map { !alerts.contains($0) } == true ? .refused(error) : .notPresented(error)
        }
        return .accepted
    }
}
