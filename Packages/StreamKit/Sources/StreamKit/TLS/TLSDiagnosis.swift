internal import COpenSSL

/// Determines why OpenSSL failed, and describes the failure in terms of the peer.
struct TLSDiagnosis {
    let errors: OpenSSLErrors
    let peer: TLSPeer
    let configuration: TLSConfiguration
    /// The first bytes that the peer sent.
    let beginning: [UInt8]
    let isHandshake: Bool

    var error: StreamError {
        if let number = errors.alert {
            let alert = TLSAlert(number: number)
            let advice = alert.advice(hasIdentity: configuration.identity != nil)
            return StreamError(alert.failure, .alert(peer.hostAndPort, alert.name, advice: advice))
        }
        if isHandshake, let answer = foreignProtocol {
            return StreamError(.protocolViolation, .notTLS(peer.hostAndPort, answer: answer))
        }
        for (reason, failure) in TLSDiagnosis.reasons where errors.contains(reason) {
            return StreamError(failure, sentence(for: failure))
        }
        let isOurs = !errors.entries.contains { $0.library == ERR_LIB_SSL }
        return isOurs
            ? StreamError(.internalFailure, .internalFailure(errors.text))
            : StreamError(.protocolViolation, .protocolViolated(peer.hostAndPort, reason: errors.text))
    }

    /// Errors that OpenSSL found here; alerts from the peer are handled above. Every other error is a protocol
    /// violation.
    private static let reasons: [(CInt, TLSFailure)] = [
        (SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, .badRecordMAC),
        (SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, .certificateRequired),
        (SSL_R_UNSUPPORTED_PROTOCOL, .protocolVersion),
        (SSL_R_WRONG_SSL_VERSION, .protocolVersion),
        (SSL_R_VERSION_TOO_LOW, .protocolVersion),
        (SSL_R_INAPPROPRIATE_FALLBACK, .inappropriateFallback),
        (SSL_R_NO_PROTOCOLS_AVAILABLE, .badConfiguration),
        (SSL_R_NO_CIPHERS_AVAILABLE, .badConfiguration),
        (SSL_R_NO_SHARED_CIPHER, .negotiation),
        (SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, .negotiation),
        (SSL_R_NO_SUITABLE_KEY_SHARE, .negotiation),
        (SSL_R_NO_SHARED_GROUPS, .negotiation),
        (SSL_R_NO_APPLICATION_PROTOCOL, .negotiation),
        (SSL_R_UNKNOWN_CIPHER_RETURNED, .badCipherSuite),
        (SSL_R_WRONG_CIPHER_RETURNED, .badCipherSuite),
        (SSL_R_DH_KEY_TOO_SMALL, .weakKeyExchange),
        (SSL_R_PACKET_LENGTH_TOO_LONG, .recordOverflow),
        (SSL_R_ENCRYPTED_LENGTH_TOO_LONG, .recordOverflow),
        (SSL_R_DATA_LENGTH_TOO_LONG, .recordOverflow),
        (SSL_R_INVALID_STATUS_RESPONSE, .badCertificateStatus),
    ]

    private func sentence(for failure: TLSFailure) -> Sentence {
        switch failure {
        case .badRecordMAC: .recordAltered(peer.name)
        case .certificateRequired: .clientCertificateMissing()
        case .protocolVersion:
            .versionRefused(peer.hostAndPort, configuration.minimumVersion, configuration.maximumVersion)
        case .negotiation: .noCommonParameters(peer.name, reason: errors.text)
        case .badConfiguration: .internalFailure(errors.text)
        default: .protocolViolated(peer.hostAndPort, reason: errors.text)
        }
    }

    /// The protocol that the peer speaks, if its first bytes do not begin a TLS record (RFC 8446 §5.1); otherwise nil.
    private var foreignProtocol: String? {
        guard let first = beginning.first else { return nil }
        if (20...23).contains(first), beginning.count < 2 || beginning[1] == 3 { return nil }
        func begins(with text: String) -> Bool { beginning.starts(with: text.utf8) }
        if begins(with: "HTTP/") || begins(with: "<") { return "plain HTTP" }
        for method in ["GET ", "POST ", "HEAD ", "PUT ", "OPTIONS ", "CONNECT "] where begins(with: method) {
            return "a plain HTTP request"
        }
        if begins(with: "220") { return "the greeting of an FTP or mail server" }
        if begins(with: "SSH-") { return "SSH" }
        if begins(with: "* OK") { return "the greeting of an IMAP server" }
        if begins(with: "+OK") { return "the greeting of a POP3 server" }
        let text = beginning.prefix { (0x20..<0x7F).contains($0) }
        return text.count >= 4 ? "“\(String(decoding: text, as: UTF8.self))”" : "bytes that are not a TLS record"
    }
}
