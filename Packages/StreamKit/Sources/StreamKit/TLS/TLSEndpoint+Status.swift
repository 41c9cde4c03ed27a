internal import COpenSSL
internal import Glibc

/// OCSP answers that servers send along.
extension TLSEndpoint {
    /// Asks for one, if the configuration wants it.
    func requestStatus() {
        guard context.judgesServers, context.configuration.ocspStapling != .off else { return }
        netkit_SSL_request_ocsp(ssl)
    }

    /// Called by OpenSSL on a client, after the certificates have been verified: whether to go on.
    func judgeStatus() -> Bool {
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
            // Trusted by itself: there is no authority whose word would count.
            return configuration.ocspStapling == .checked || refuse(.badCertificateStatus, .statusMissing(peer.name))
        }
        switch response.verdict(
            about: OpaquePointer(own), issuer: OpaquePointer(issuer), chain: chain,
            store: SSL_CTX_get_cert_store(context.pointer),
            at: configuration.verificationTime ?? Int64(time(nil)))
        {
        case .good: return true
        case .revoked: return refuse(.certificateRevoked, .certificateRevoked(peer.name))
        case .worthless(let reason): return refuse(.badCertificateStatus, .statusWorthless(peer.name, reason))
        }
    }

    private func refuse(_ failure: TLSFailure, _ sentence: Sentence) -> Bool {
        refusePeer(StreamError(failure, sentence))
        return false
    }

    /// Called by OpenSSL on a server whose client asked: false if there is no answer to send.
    func stapleStatus() -> Bool {
        guard let response = context.configuration.ocspResponse, !response.isEmpty else { return false }
        return netkit_SSL_staple_ocsp(ssl, response, response.count) == 1
    }
}
