internal import COpenSSL
internal import EventLoops

/// An X.509 certificate (RFC 5280), as a value.
///
/// ```swift
/// if let certificate = stream[.tlsInformation]?.peerCertificates.first {
///     print(certificate.subject, certificate.names, certificate.publicKeySHA256)
/// }
/// ```
///
/// That a certificate can be read says nothing about its truth. Two are equal if their bytes are. Replaces
/// `SecCertificateRef`.
public struct Certificate: Sendable, Hashable {
    private let content: Content

    /// The encoded certificate.
    public var der: [UInt8] { content.parts.der }

    /// Whom it is for, as RFC 4514 writes names: `CN=www.example.org,O=Example`. May be empty.
    public var subject: String { content.parts.subject }

    /// Who signed it.
    public var issuer: String { content.parts.issuer }

    /// The names it is good for: its subject alternative names (RFC 5280 §4.2.1.6).
    public var names: [CertificateName] { content.parts.names }

    /// The serial number, big-endian.
    public var serialNumber: [UInt8] { content.parts.serialNumber }

    /// The first moment it is valid, in seconds since 1970-01-01 00:00 UTC.
    public var notBefore: Int64 { content.parts.notBefore }

    /// The last moment it is valid, in seconds since 1970-01-01 00:00 UTC.
    public var notAfter: Int64 { content.parts.notAfter }

    /// The fingerprint: SHA-256 of ``der``.
    public var sha256: [UInt8] { content.parts.sha256 }

    /// SHA-256 of the public key (its SubjectPublicKeyInfo), which is what a ``TLSPin`` holds.
    public var publicKeySHA256: [UInt8] { content.parts.publicKeySHA256 }

    /// Issuer and subject are the same: a root, or signed by itself.
    public var isSelfIssued: Bool {
        content.handle.withPointer { X509_NAME_cmp(X509_get_subject_name($0), X509_get_issuer_name($0)) == 0 }
    }

    /// Reads one certificate from its DER encoding.
    ///
    /// - Throws: domain ``StreamErrorDomain/ssl``, code ``TLSFailure/badConfiguration``.
    public init(der: [UInt8]) throws(StreamError) {
        guard let handle = X509Handle(der: der) else {
            throw StreamError(.badConfiguration, .certificateUnreadable("the given bytes", reason: "not in DER"))
        }
        self.init(handle)
    }

    /// Reads all certificates in PEM text, in their order, or one in DER.
    ///
    /// - Throws: domain ``StreamErrorDomain/ssl``, code ``TLSFailure/badConfiguration``, also if there is none.
    public static func all(in bytes: [UInt8]) throws(StreamError) -> [Certificate] {
        try all(in: bytes, source: "the given bytes")
    }

    /// Reads all certificates in a file: any number in PEM, or one in DER.
    ///
    /// - Throws: domain ``StreamErrorDomain/ssl``, code ``TLSFailure/badConfiguration``.
    public static func all(file path: String) throws(StreamError) -> [Certificate] {
        var bytes = try SecretFile.read(path)
        defer { SecretFile.wipe(&bytes) }
        return try all(in: bytes, source: path)
    }

    static func all(in bytes: [UInt8], source: String) throws(StreamError) -> [Certificate] {
        if bytes.first == 0x30, let handle = X509Handle(der: bytes) { return [Certificate(handle)] }
        let found = PEMReader.certificates(in: bytes)
        if found.isEmpty {
            throw StreamError(
                .badConfiguration, .certificateUnreadable(source, reason: "neither PEM nor DER with a certificate"))
        }
        return found
    }

    /// What OpenSSL has parsed.
    init(_ handle: X509Handle) {
        content = Content(handle)
    }

    /// Compares the encoded forms.
    public static func == (left: Certificate, right: Certificate) -> Bool {
        left.content.handle == right.content.handle || left.der == right.der
    }

    /// Hashes the fingerprint.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(sha256)
    }
}

extension Certificate: CustomStringConvertible {
    /// The subject, or the first name if there is none.
    public var description: String {
        subject.isEmpty ? names.first?.description ?? "a certificate without a subject" : subject
    }

    /// Issuer and subject are the same, and so are the keys that they name; the signature itself is not looked at.
    var isSelfSigned: Bool {
        content.handle.withPointer { X509_self_signed($0, 0) == 1 }
    }

    /// False if ``subject`` is empty. Reads nothing else, as every handshake asks.
    var hasSubject: Bool {
        content.handle.withPointer { X509_NAME_entry_count(X509_get_subject_name($0)) > 0 }
    }

    /// The mail addresses among the names. Reads nothing else, as every handshake asks.
    var mailNames: [String] {
        content.handle.withPointer { CertificateName.all(of: $0, type: GEN_EMAIL) }.map(\.description)
    }

    /// The names of hosts, for sentences.
    var hostNames: String {
        names.filter(\.isHost).prefix(8).map(\.description).joined(separator: ", ")
    }
}

extension Certificate {
    /// The certificate, and what is in it: read once, but not before anybody asks. Of most certificates nobody does, and
    /// reading takes as long as a tenth of a handshake.
    private final class Content: Sendable {
        let handle: X509Handle
        private let read = Locked<Parts?>(nil)

        init(_ handle: X509Handle) {
            self.handle = handle
        }

        var parts: Parts {
            read.withLock { read in
                if let read { return read }
                let parts = handle.withPointer { Parts($0) }
                read = parts
                return parts
            }
        }
    }

    private struct Parts {
        let der: [UInt8]
        let subject: String
        let issuer: String
        let names: [CertificateName]
        let serialNumber: [UInt8]
        let notBefore: Int64
        let notAfter: Int64
        let sha256: [UInt8]
        let publicKeySHA256: [UInt8]

        init(_ pointer: OpaquePointer) {
            der = X509Handle.der(of: pointer)
            subject = X509Text.name(X509_get_subject_name(pointer))
            issuer = X509Text.name(X509_get_issuer_name(pointer))
            names = CertificateName.all(of: pointer)
            serialNumber = X509Text.bytes(X509_get0_serialNumber(pointer))
            notBefore = X509Text.seconds(X509_get0_notBefore(pointer))
            notAfter = X509Text.seconds(X509_get0_notAfter(pointer))
            sha256 = X509Text.sha256(der)
            publicKeySHA256 = X509Text.sha256(
                X509Handle.encoded { i2d_X509_PUBKEY(X509_get_X509_PUBKEY(pointer), $0) })
        }
    }
}
