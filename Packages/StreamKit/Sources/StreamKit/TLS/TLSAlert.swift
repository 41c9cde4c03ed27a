internal import COpenSSL

/// The meaning of a TLS alert (RFC 8446 §6, RFC 5246 §7.2) for the side that receives it.
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
