/// The cause of a TLS failure: the code of an error whose domain is ``StreamErrorDomain/ssl``. The numbers are
/// SecureTransport's.
///
/// ```swift
/// do {
///     try await stream.opened()
/// } catch where error.tlsFailure == .hostNameMismatch {
///     print(error)     // The server's certificate is not for www.example.org: it names example.com, *.example.com. …
/// }
/// ```
public struct TLSFailure: RawRepresentable, Sendable, Hashable {
    /// SecureTransport's number.
    public let rawValue: Int

    /// Makes a value of any number, including one without a name here.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    fileprivate init(_ number: Int) {
        rawValue = number
    }

    /// The peer does not speak TLS, or violated its rules (errSSLProtocol).
    public static let protocolViolation = TLSFailure(-9800)
    /// No version, cipher or protocol in common (errSSLNegotiation).
    public static let negotiation = TLSFailure(-9801)
    /// The peer ended the connection in an orderly way during the handshake (errSSLClosedGraceful).
    public static let closedGracefully = TLSFailure(-9805)
    /// The connection ended during the handshake (errSSLClosedAbort).
    public static let closedAbruptly = TLSFailure(-9806)
    /// The chain is not valid, or a pin or a verifier rejected it (errSSLXCertChainInvalid).
    public static let invalidChain = TLSFailure(-9807)
    /// A certificate is malformed, has an invalid signature, or is too weak (errSSLBadCert).
    public static let badCertificate = TLSFailure(-9808)
    /// OpenSSL failed on this side (errSSLInternal).
    public static let internalFailure = TLSFailure(-9810)
    /// The chain ends at a root that is not trusted (errSSLUnknownRootCert).
    public static let unknownRoot = TLSFailure(-9812)
    /// The certificate is self-signed and not trusted (errSSLNoRootCert).
    public static let noRoot = TLSFailure(-9813)
    /// A certificate has expired (errSSLCertExpired).
    public static let certificateExpired = TLSFailure(-9814)
    /// A certificate is not valid yet (errSSLCertNotYetValid).
    public static let certificateNotYetValid = TLSFailure(-9815)
    /// The connection ended without close_notify: the data may be truncated (errSSLClosedNoNotify).
    public static let closedWithoutNotify = TLSFailure(-9816)
    /// The cipher is not one of those offered (errSSLBadCipherSuite).
    public static let badCipherSuite = TLSFailure(-9818)
    /// Alert: no common parameters (errSSLPeerHandshakeFail).
    public static let peerHandshakeFailure = TLSFailure(-9824)
    /// Alert: our certificate is bad (errSSLPeerBadCert).
    public static let peerBadCertificate = TLSFailure(-9825)
    /// A certificate was revoked, according to the peer's alert or to a check on this side (errSSLPeerCertRevoked).
    public static let certificateRevoked = TLSFailure(-9827)
    /// Alert: our certificate has expired (errSSLPeerCertExpired).
    public static let peerCertificateExpired = TLSFailure(-9828)
    /// Alert: the issuer of our certificate is unknown (errSSLPeerUnknownCA).
    public static let peerUnknownAuthority = TLSFailure(-9831)
    /// Alert: our certificate is valid, but does not grant access (errSSLPeerAccessDenied).
    public static let peerAccessDenied = TLSFailure(-9832)
    /// One side does not support the other's version (errSSLPeerProtocolVersion).
    public static let protocolVersion = TLSFailure(-9836)
    /// Alert: our ciphers are too weak (errSSLPeerInsufficientSecurity).
    public static let peerInsufficientSecurity = TLSFailure(-9837)
    /// Alert: an internal error of the peer (errSSLPeerInternalError).
    public static let peerInternalError = TLSFailure(-9838)
    /// The certificate is not for this name (errSSLHostNameMismatch).
    public static let hostNameMismatch = TLSFailure(-9843)
    /// The peer refused the connection (errSSLConnectionRefused).
    public static let connectionRefused = TLSFailure(-9844)
    /// A record was modified in transit (errSSLBadRecordMac).
    public static let badRecordMAC = TLSFailure(-9846)
    /// The configuration cannot work: a missing key, an unreadable file, a wrong cipher list (errSSLBadConfiguration).
    public static let badConfiguration = TLSFailure(-9848)
    /// A stapled OCSP response is not acceptable (errSSLBadCertificateStatusResponse).
    public static let badCertificateStatus = TLSFailure(-9862)
    /// The peer must send a certificate and has none (errSSLCertificateRequired).
    public static let certificateRequired = TLSFailure(-9863)
}

/// The causes that no program distinguishes: the alerts of a peer that has met a fault of one of the two implementations.
extension TLSFailure {
    /// An alert without a number of its own (errSSLFatalAlert).
    package static let fatalAlert = TLSFailure(-9802)
    /// Alert: a message arrived at the wrong time (errSSLPeerUnexpectedMsg).
    package static let peerUnexpectedMessage = TLSFailure(-9819)
    /// Alert: a record's authentication failed (errSSLPeerBadRecordMac).
    package static let peerBadRecordMAC = TLSFailure(-9820)
    /// Alert: decryption failed (errSSLPeerDecryptionFail).
    package static let peerDecryptionFailed = TLSFailure(-9821)
    /// Alert: a record is too long (errSSLPeerRecordOverflow).
    package static let peerRecordOverflow = TLSFailure(-9822)
    /// Alert: decompression failed (errSSLPeerDecompressFail).
    package static let peerDecompressionFailed = TLSFailure(-9823)
    /// Alert: our certificate is of an unsupported kind (errSSLPeerUnsupportedCert).
    package static let peerUnsupportedCertificate = TLSFailure(-9826)
    /// Alert: another fault of our certificate (errSSLPeerCertUnknown).
    package static let peerCertificateUnknown = TLSFailure(-9829)
    /// Alert: a field has an invalid value (errSSLIllegalParam).
    package static let illegalParameter = TLSFailure(-9830)
    /// Alert: a message could not be decoded (errSSLPeerDecodeError).
    package static let peerDecodeError = TLSFailure(-9833)
    /// Alert: a cryptographic step of the handshake failed (errSSLPeerDecryptError).
    package static let peerDecryptError = TLSFailure(-9834)
    /// Alert: cancelled by the user (errSSLPeerUserCancelled).
    package static let peerUserCancelled = TLSFailure(-9839)
    /// Alert: no renegotiation (errSSLPeerNoRenegotiation).
    package static let peerNoRenegotiation = TLSFailure(-9840)
    /// A record is too long (errSSLRecordOverflow).
    package static let recordOverflow = TLSFailure(-9847)
    /// The peer's key exchange is too weak (errSSLWeakPeerEphemeralDHKey).
    package static let weakKeyExchange = TLSFailure(-9850)
    /// An extension that was not requested (errSSLUnsupportedExtension).
    package static let unsupportedExtension = TLSFailure(-9855)
    /// Alert: the peer noticed a version rollback (errSSLInappropriateFallback).
    package static let inappropriateFallback = TLSFailure(-9860)
    /// Alert: a required extension is missing (errSSLMissingExtension).
    package static let missingExtension = TLSFailure(-9861)
    /// Alert: an unknown pre-shared key (errSSLUnknownPSKIdentity).
    package static let unknownKeyIdentity = TLSFailure(-9864)
    /// Alert: the server does not know the requested name (errSSLUnrecognizedName).
    package static let unrecognizedName = TLSFailure(-9865)
}

extension StreamError {
    /// The cause of a TLS failure; nil for an error of another domain.
    public var tlsFailure: TLSFailure? {
        domain == .ssl ? TLSFailure(rawValue: code) : nil
    }

    package init(
        _ failure: TLSFailure, _ sentence: Sentence, reason: StreamErrorReason? = nil, underlying: (any Error)? = nil
    ) {
        self.init(domain: .ssl, code: failure.rawValue, sentence: sentence, reason: reason, underlying: underlying)
    }
}
