import Peers
import StreamKit

/// TLS that trusts the tests' own authority and nobody else.
func trustingPeers(_ change: (inout TLSConfiguration) throws -> Void = { _ in }) throws -> TLSConfiguration {
    var configuration = TLSConfiguration()
    configuration.trust = .only(file: try CertificateAuthority.shared().root)
    try change(&configuration)
    return configuration
}
