import Foundation
import StreamKit

/// Chains of certificates of the x509-limbo suite, each in a real handshake.
///
/// Laxer is a row that we accept although the source refuses it, unless OpenSSL accepts it as well and the name is right:
/// those rows are about what authorities may issue (RFC 5280's profile, the CA/Browser Forum's rules), not about whom to
/// believe. A row that the source accepts and OpenSSL's command line does not is no laxer either: it needs what the
/// command does only when told, to trust a certificate that is no root.
struct ChainScorer: Scorer {
    func runs(file: String) -> Bool { file == "x509-limbo.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let leaf = row.text("peer_certificate_pem"), let expected = row.text("expected_result") else {
            throw CaseError("\(row.name): no certificate or no verdict")
        }
        guard let key = row.text("peer_certificate_key_pem") else {
            return .notComparable(reason: "there is no key to show the certificate with")
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
            return .notComparable(reason: "accepted, as OpenSSL does: a rule for who issues, or of one profile")
        case .accepted:
            return .laxer(detail: "accepted, OpenSSL's verdict is \(openSSL ?? "unknown")")
        case .refused(let error):
            if expected == "FAILURE" { return .agreed }
            return .stricter(rule: openSSL == "FAILURE" ? "openSSLRefuses" : Rules.name(of: error))
        case .notShown(let error):
            if expected == "FAILURE" { return .agreed }
            return .notComparable(reason: "TLS does not show it: \(error)")
        }
    }

    private static func seconds(_ text: String) throws -> Int64 {
        // Fractions of a second count for nothing: neither certificates nor OpenSSL know them.
        let whole = text.replacing(#/\.\d+/#, with: "")
        guard let date = ISO8601DateFormatter().date(from: whole) else { throw CaseError("no date: \(text)") }
        return Int64(date.timeIntervalSince1970)
    }
}
