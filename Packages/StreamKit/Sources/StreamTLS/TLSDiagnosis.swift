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
            return StreamError(
                .protocolViolation, .notTLS(peer.hostAndPort, answer: answer),
                reason: isReply ? .foreignReply : .foreignProtocol)
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

    /// Whether the peer's first bytes are a reply of FTP or SMTP, which begins with three digits (RFC 959 §4.2, RFC 5321
    /// §4.2).
    private var isReply: Bool {
        beginning.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count == 3
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

/// The meaning of a TLS alert (RFC 8446 §6, RFC 5246 §7.2) for the side that receives it.
private struct TLSAlert {
    let number: CInt

    var failure: TLSFailure {
        switch number {
        case 0: .closedGracefully
        case 10: .peerUnexpectedMessage
        case 20: .peerBadRecordMAC
        case 21: .peerDecryptionFailed
        case 22: .peerRecordOverflow
        case 30: .peerDecompressionFailed
        case 40: .peerHandshakeFailure
        case 42: .peerBadCertificate
        case 43: .peerUnsupportedCertificate
        case 44: .certificateRevoked
        case 45: .peerCertificateExpired
        case 46: .peerCertificateUnknown
        case 47: .illegalParameter
        case 48: .peerUnknownAuthority
        case 49: .peerAccessDenied
        case 50: .peerDecodeError
        case 51: .peerDecryptError
        case 70: .protocolVersion
        case 71: .peerInsufficientSecurity
        case 80: .peerInternalError
        case 86: .inappropriateFallback
        case 90: .peerUserCancelled
        case 100: .peerNoRenegotiation
        case 109: .missingExtension
        case 110: .unsupportedExtension
        case 112: .unrecognizedName
        case 113: .badCertificateStatus
        case 115: .unknownKeyIdentity
        case 116: .certificateRequired
        case 120: .negotiation
        default: .fatalAlert
        }
    }

    /// `handshake failure`.
    var name: String {
        SSL_alert_desc_string_long(number).map { String(cString: $0) } ?? "number \(number)"
    }

    /// A probable cause; empty if there is nothing to add.
    func advice(hasIdentity: Bool) -> String {
        switch number {
        case 40 where !hasIdentity:
            "it supports no cipher of this side, or requires a client certificate, and none was sent"
        case 40: "it supports no cipher of this side, or rejects the client certificate"
        case 42, 43, 46: "it rejects the certificate of this side"
        case 44: "the certificate of this side was revoked"
        case 45: "the certificate of this side has expired"
        case 48: "it does not trust the authority that issued the certificate of this side"
        case 49: "the certificate of this side has no access"
        case 70: "it supports none of the TLS versions allowed on this side"
        case 71: "it requires stronger ciphers"
        case 112: "it does not serve the requested name"
        case 116: "it requires a client certificate, and none was sent"
        case 120: "it supports none of the offered application protocols"
        default: ""
        }
    }
}
