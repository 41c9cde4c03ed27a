@testable import StreamKit

/// An authority and a server made once, for all tests without special needs.
struct SharedAuthority: Sendable {
    let client: TLSConfiguration
    let server: TLSConfiguration
    let certificate: Certificate

    init() {
        let authority = TestAuthority()
        let issued = authority.issue()
        guard let identity = try? issued.identity() else { preconditionFailure("no identity") }
        client = authority.client
        server = TLSConfiguration(server: identity)
        certificate = issued.certificate
    }
}
