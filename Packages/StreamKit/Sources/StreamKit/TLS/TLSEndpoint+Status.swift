internal import COpenSSL
internal import Glibc

/// OCSP responses that servers staple to the handshake.
extension TLSEndpoint {
    /// Requests a response, if the configuration says so.
    func requestStatus() {
        guard context.verifiesServers, context.configuration.ocspStapling != .off else { return }
        netkit_SSL_request_ocsp(ssl)
    }

    /// Returns whether to continue. OpenSSL calls it on a client, after verifying the certificates.
    func verifyStatus() -> Bool {
        let configuration = context.configuration
        guard configuration.ocspStapling != .off, configuration.verification != .insecureNone else { return true }
        var bytes: UnsafePointer<UInt8>?
        let count = netkit_SSL_get_ocsp_response(ssl, &bytes)
        guard count > 0, let bytes else {
            return configuration.ocspStapling == .checked || refuse(.badCertificateStatus, .statusMissing(peer.name))
        }
        let response = OCSPResponse(der: Array(UnsafeBufferPointer(start: bytes, count: count)))
        let chain = SSL_get0_verified_chain(ssl)
        guard let own = chain.flatMap({ OPENSSL_sk_value($0, 0) }),
            let issuer = chain.flatMap({ OPENSSL_sk_value($0, 1) })
        else {
            // The certificate is trusted by itself: there is no issuer whose response would count.
            return configuration.ocspStapling == .checked || refuse(.badCertificateStatus, .statusMissing(peer.name))
        }
        switch response.verdict(
            about: OpaquePointer(own), issuer: OpaquePointer(issuer), chain: chain,
            store: SSL_CTX_get_cert_store(context.pointer),
            at: configuration.verificationTime ?? Int64(time(nil)))
        {
        case .good: return true
        case .revoked: return refuse(.certificateRevoked, .certificateRevoked(peer.name))
        case .unusable(let reason): return refuse(.badCertificateStatus, .statusUnusable(peer.name, reason))
        }
    }

    private func refuse(_ failure: TLSFailure, _ sentence: Sentence) -> Bool {
        rejectPeer(StreamError(failure, sentence))
        return false
    }

    /// Staples the response. OpenSSL calls it on a server whose client asked for one. Returns false if there is none to
    /// send.
    func stapleStatus() -> Bool {
        guard let response = context.configuration.ocspResponse, !response.isEmpty else { return false }
        return netkit_SSL_staple_ocsp(ssl, response, response.count) == 1
    }
}
