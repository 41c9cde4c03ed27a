import Peers
import StreamKit

/// TLS that trusts only the tests' own authority.
func trustingPeers(_ change: (inout TLSConfiguration) throws -> Void = { _ in }) throws -> TLSConfiguration {
    var configuration = TLSConfiguration()
    configuration.trust = .only(file: try CertificateAuthority.shared().root)
    try change(&configuration)
    return configuration
}

extension ReadStream {
    /// Trusts the tests' own authority if the URL is an https URL: for http, `tls` is refused unless redirects are followed.
    func trustPeers() throws {
        if self[.urlDemandsTLS] == true { try set(.tls, to: try trustingPeers()) }
    }
}
