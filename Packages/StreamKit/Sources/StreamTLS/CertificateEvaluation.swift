internal import COpenSSL
internal import Glibc

extension TLSConfiguration {
    /// The use of a certificate that a verification without a connection requires.
    public enum CertificatePurpose: Sendable, Hashable {
        /// A TLS server's certificate.
        case server
        /// A TLS client's certificate.
        case client
        /// Any use that the certificate allows.
        case any
    }

    /// Verifies certificates as a connection with this configuration verifies those of its peer, and returns the chain.
    ///
    /// ```swift
    /// var configuration = TLSConfiguration()
    /// configuration.peerName = "www.example.org"
    /// let chain = try configuration.verifiedChain(of: try Certificate.all(file: "received.pem"))
    /// ```
    ///
    /// The settings for trust, the name, the time, relaxations, pins and the verifier apply; the verdicts and errors are those of
    /// a handshake. Reads the files of ``trust`` on the calling thread, unless one of the last verifications has read them.
    ///
    /// - Parameters:
    ///   - certificates: the peer's own certificate, then those of authorities, in any order.
    ///   - purpose: the use of the peer's own certificate.
    /// - Returns: the peer's own certificate, followed by those of the authorities up to a trusted one.
    /// - Throws: domain ``StreamErrorDomain/ssl``; ``TLSFailure/badConfiguration`` without a certificate, or if
    ///   ``verification`` is full and ``peerName`` is nil. Replaces `SecTrustEvaluateWithError`.
    public func verifiedChain(
        of certificates: [Certificate], for purpose: CertificatePurpose = .server
    ) throws(StreamError) -> [Certificate] {
        var client = self
        client.role = .client
        guard let own = certificates.first else {
            throw StreamError(.badConfiguration, .certificateUnreadable("the peer", reason: "there is none"))
        }
        let peer = try TLSPeer(client, streamName: nil, port: nil)
        let context = try TLSContextCache.verifications.context(for: client)
        let evaluation = CertificateEvaluation(context, peer)
        return try evaluation.chain(of: own, certificates.dropFirst(), for: purpose)
    }
}

/// Owns an `X509_STORE_CTX`: one verification without a connection. It sets up OpenSSL as OpenSSL itself does for a handshake.
private final class CertificateEvaluation {
    private let context: TLSContext
    private let peer: TLSPeer
    private let verification: PeerVerification
    private let store = X509_STORE_CTX_new()
    private let untrusted = OPENSSL_sk_new_null()

    init(_ context: TLSContext, _ peer: TLSPeer) {
        self.context = context
        self.peer = peer
        verification = PeerVerification(context, peer)
    }

    deinit {
        X509_STORE_CTX_free(store)
        // The certificates have other owners.
        OPENSSL_sk_free(untrusted)
    }

    func chain(
        of own: Certificate, _ others: ArraySlice<Certificate>, for purpose: TLSConfiguration.CertificatePurpose
    ) throws(StreamError) -> [Certificate] {
        OpenSSLErrors.clear()
        defer {
            OpenSSLErrors.clear()
            withExtendedLifetime((own, others, self)) {}
        }
        // As in a handshake, the peer's own certificate is among them: a pin counts it if nothing is verified.
        for certificate in [own] + others {
            let count = certificate.withPointer { OPENSSL_sk_push(untrusted, UnsafeRawPointer($0)) }
            guard count > 0 else { throw failed() }
        }
        let roots = SSL_CTX_get_cert_store(context.pointer)
        guard let store, own.withPointer({ X509_STORE_CTX_init(store, roots, $0, untrusted) }) == 1,
            X509_STORE_CTX_set_ex_data(store, 0, Unmanaged.passUnretained(self).toOpaque()) == 1,
            setParameters(of: store, for: purpose)
        else { throw failed() }
        X509_STORE_CTX_set_verify_cb(store) { accepted, store in
            guard accepted != 1 else { return 1 }
            guard let store, let evaluation = X509_STORE_CTX_get_ex_data(store, 0) else { return 0 }
            return Unmanaged<CertificateEvaluation>.fromOpaque(evaluation).takeUnretainedValue()
                .verification.allowError(in: store) ? 1 : 0
        }
        guard verification.verify(store) else {
            throw verification.failure
                ?? StreamError(.invalidChain, .badCertificate(peer.name, reason: "it is not valid"))
        }
        let chain = X509Handle.values(of: X509_STORE_CTX_get0_chain(store))
        return chain.isEmpty ? [own] + others : chain
    }

    private func setParameters(of store: OpaquePointer, for purpose: TLSConfiguration.CertificatePurpose) -> Bool {
        let name: String? =
            switch purpose {
            case .server: "ssl_server"
            case .client: "ssl_client"
            case .any: nil
            }
        if let name, X509_STORE_CTX_set_default(store, name) != 1 { return false }
        guard let parameters = X509_STORE_CTX_get0_param(store) else { return false }
        X509_VERIFY_PARAM_set_auth_level(parameters, SSL_CTX_get_security_level(context.pointer))
        guard let common = SSL_CTX_get0_param(context.pointer), X509_VERIFY_PARAM_set1(parameters, common) == 1 else {
            return false
        }
        return context.configuration.verification != .full || peer.require(in: parameters)
    }

    private func failed() -> StreamError {
        StreamError(.internalFailure, .internalFailure(OpenSSLErrors.take().text))
    }
}
