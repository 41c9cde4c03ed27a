internal import COpenSSL

/// What the alerts of TLS (RFC 8446 §6, RFC 5246 §7.2) mean to the one who receives them.
struct TLSAlert {
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

    /// What one can do about it; empty if there is nothing to say.
    func advice(hasIdentity: Bool) -> String {
        switch number {
        case 40 where !hasIdentity:
            "it shares no cipher with this side, or wants a client certificate, and none was given"
        case 40: "it shares no cipher with this side, or does not accept the client certificate"
        case 42, 43, 46: "it does not accept the certificate of this side"
        case 44: "the certificate of this side was revoked"
        case 45: "the certificate of this side has expired"
        case 48: "it does not know the authority that signed the certificate of this side"
        case 49: "the certificate of this side gives no access"
        case 70: "it speaks none of the versions of TLS that are allowed here"
        case 71: "it demands stronger ciphers"
        case 112: "it does not serve the name it was told"
        case 116: "it requires a client certificate, and none was given"
        case 120: "it speaks none of the application protocols that were offered"
        default: ""
        }
    }
}
