internal import COpenSSL
internal import EventLoops
public import HostResolver

/// An X.509 certificate (RFC 5280), as a value.
///
/// ```swift
/// if let certificate = stream[.tlsInformation]?.peerCertificates.first {
///     print(certificate.subject, certificate.names, certificate.publicKeySHA256)
/// }
/// ```
///
/// A certificate that can be parsed is not necessarily genuine. Two certificates are equal if their DER encodings are.
/// Replaces `SecCertificateRef`.
public struct Certificate: Sendable, Hashable {
    private let content: Content

    /// The DER encoding of the certificate.
    public var der: [UInt8] { content.parts.der }

    /// The subject in the notation of RFC 4514: `CN=www.example.org,O=Example`. May be empty.
    public var subject: String { content.parts.subject }

    /// The issuer in the same notation.
    public var issuer: String { content.parts.issuer }

    /// The common name of the subject (CN), the last one if there are several; nil if there is none. Verification ignores it.
    public var commonName: String? { subjectText(NID_commonName) }

    /// A short name to show to the user: the common name, else the unit or the organization of the subject, else the first of
    /// ``names``, else the serial number. Never proof of an identity.
    public var summary: String {
        commonName ?? subjectText(NID_organizationalUnitName) ?? subjectText(NID_organizationName)
            ?? names.first?.description ?? X509Text.hexadecimal(serialNumber)
    }

    /// The names that the certificate is valid for: its subject alternative names (RFC 5280 §4.2.1.6).
    public var names: [CertificateName] { content.parts.names }

    /// The serial number, big-endian.
    public var serialNumber: [UInt8] { content.parts.serialNumber }

    /// The beginning of the validity period, in seconds since 1970-01-01 00:00 UTC.
    public var notBefore: Int64 { content.parts.notBefore }

    /// The end of the validity period, in seconds since 1970-01-01 00:00 UTC.
    public var notAfter: Int64 { content.parts.notAfter }

    /// The fingerprint: SHA-256 of ``der``.
    public var sha256: [UInt8] { content.parts.sha256 }

    /// SHA-256 of the public key (its SubjectPublicKeyInfo): the value of a ``TLSPin``.
    public var publicKeySHA256: [UInt8] { content.parts.publicKeySHA256 }

    /// Whether issuer and subject are equal, as in a root or any self-signed certificate.
    public var isSelfIssued: Bool {
        content.handle.withPointer { X509_NAME_cmp(X509_get_subject_name($0), X509_get_issuer_name($0)) == 0 }
    }

    /// Reads one certificate from its DER encoding, which ``der`` returns again. OpenSSL reads other encodings of BER as well, but not
    /// every other program does, and the signature is that of DER (RFC 5280 §4.1).
    ///
    /// - Throws: domain ``StreamErrorDomain/ssl``, code ``TLSFailure/badConfiguration``.
    public init(der: [UInt8]) throws(StreamError) {
        if let handle = X509Handle(der: der) {
            self.init(handle)
            if self.der == der { return }
        }
        throw StreamError(.badConfiguration, .certificateUnreadable("the given bytes", reason: "expected DER"))
    }

    /// Reads all certificates in PEM text, in order, or one in DER. A block that cannot be read is skipped (``unreadableBlocks(in:)``).
    ///
    /// - Throws: domain ``StreamErrorDomain/ssl``, code ``TLSFailure/badConfiguration``, also if there is no
    ///   certificate.
    public static func all(in bytes: [UInt8]) throws(StreamError) -> [Certificate] {
        try all(in: bytes, source: "the given bytes")
    }

    /// Reads all certificates in a file, on the calling thread: any number in PEM, or one in DER. A block that cannot be read is skipped.
    ///
    /// ``TLSTrust/files`` are read on another thread, when the first connection needs them.
    ///
    /// - Throws: domain ``StreamErrorDomain/ssl``, code ``TLSFailure/badConfiguration``.
    public static func all(file path: String) throws(StreamError) -> [Certificate] {
        var bytes = try SecretFile.read(path)
        defer { SecretFile.wipe(&bytes) }
        return try all(in: bytes, source: path)
    }

    package static func all(in bytes: [UInt8], source: String) throws(StreamError) -> [Certificate] {
        if bytes.first == 0x30, let handle = X509Handle(der: bytes) { return [Certificate(handle)] }
        let blocks = PEMReader.certificates(in: bytes)
        let found = blocks.compactMap(\.self)
        if found.isEmpty {
            let reason =
                blocks.isEmpty ? "found neither PEM nor DER certificates" : "each of its certificates is damaged"
            throw StreamError(.badConfiguration, .certificateUnreadable(source, reason: reason))
        }
        return found
    }

    /// The certificates in PEM text that ``all(in:)`` skips because they cannot be read, by their numbers: the first certificate is number 1.
    ///
    /// For a warning: one that is damaged costs no other, wherever it is.
    public static func unreadableBlocks(in bytes: [UInt8]) -> [Int] {
        let blocks = PEMReader.certificates(in: bytes)
        return blocks.indices.filter { blocks[$0] == nil }.map { $0 + 1 }
    }

    /// Wraps a certificate that OpenSSL has parsed.
    init(_ handle: X509Handle) {
        content = Content(handle)
    }

    /// Compares the DER encodings.
    public static func == (left: Certificate, right: Certificate) -> Bool {
        left.content.handle == right.content.handle || left.der == right.der
    }

    /// Hashes the fingerprint.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(sha256)
    }
}

extension Certificate: CustomStringConvertible {
    /// The subject; if it is empty, the first name.
    public var description: String {
        subject.isEmpty ? names.first?.description ?? "a certificate without a subject" : subject
    }

    /// Whether the certificate names itself as its issuer, by subject and by key identifier. The signature itself is
    /// not verified.
    var isSelfSigned: Bool {
        content.handle.withPointer { X509_self_signed($0, 0) == 1 }
    }

    /// Calls `body` with OpenSSL's certificate, which is valid only during the call.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result { content.handle.withPointer(body) }

    /// The last value of an attribute of the subject; nil if there is none, or it is not text.
    private func subjectText(_ identifier: CInt) -> String? {
        withPointer { pointer in
            let name = X509_get_subject_name(pointer)
            var (last, next): (CInt, CInt) = (-1, -1)
            repeat {
                last = next
                next = X509_NAME_get_index_by_NID(name, identifier, last)
            } while next >= 0
            guard last >= 0, let entry = X509_NAME_get_entry(name, last) else { return nil }
            var bytes: UnsafeMutablePointer<UInt8>?
            let count = ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(entry))
            defer { CRYPTO_free(bytes, nil, 0) }
            guard count > 0, let bytes else {
                ERR_clear_error()
                return nil
            }
            return String(validating: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
        }
    }

    /// Whether ``subject`` is not empty. Decodes nothing else, because every handshake asks for it.
    var hasSubject: Bool {
        content.handle.withPointer { X509_NAME_entry_count(X509_get_subject_name($0)) > 0 }
    }

    /// The mail addresses among the names. Decodes nothing else, because every handshake asks for it.
    var mailNames: [String] {
        content.handle.withPointer { CertificateName.all(of: $0, type: GEN_EMAIL) }.map(\.description)
    }

    /// The first eight host names and addresses, for messages.
    var hostNames: String {
        names.filter(\.isHost).prefix(8).map(\.description).joined(separator: ", ")
    }
}

extension Certificate {
    /// The parsed certificate and its decoded fields. The fields are decoded on first use: most certificates are never
    /// inspected, and decoding takes up to a tenth of the time of a handshake.
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

/// A name that a certificate is valid for (RFC 5280 §4.2.1.6).
public enum CertificateName: Sendable, Hashable, CustomStringConvertible {
    /// A host name. Its first label may be `*`.
    case host(String)
    /// An IP address.
    case address(IPAddress)
    /// A mail address.
    case mail(String)
    /// A URI.
    case uri(String)

    /// The name without its kind.
    public var description: String {
        switch self {
        case .host(let name), .mail(let name), .uri(let name): name
        case .address(let address): address.description
        }
    }

    var isHost: Bool {
        switch self {
        case .host, .address: true
        case .mail, .uri: false
        }
    }

    /// Returns the names of these kinds, or only those of one type (`GEN_EMAIL`, …). Names of other kinds are skipped.
    package static func all(of certificate: OpaquePointer, type: CInt? = nil) -> [CertificateName] {
        guard let found = X509_get_ext_d2i(certificate, NID_subject_alt_name, nil, nil) else {
            ERR_clear_error()
            return []
        }
        let stack = OpaquePointer(found)
        defer { GENERAL_NAMES_free(stack) }
        return (0..<max(0, OPENSSL_sk_num(stack))).compactMap { index in
            guard let entry = OPENSSL_sk_value(stack, index) else { return nil }
            let name = entry.assumingMemoryBound(to: GENERAL_NAME.self).pointee
            return type == nil || name.type == type ? CertificateName(name) : nil
        }
    }

    private init?(_ name: GENERAL_NAME) {
        switch name.type {
        case GEN_DNS: self = .host(CertificateName.text(name.d.dNSName))
        case GEN_EMAIL: self = .mail(CertificateName.text(name.d.rfc822Name))
        case GEN_URI: self = .uri(CertificateName.text(name.d.uniformResourceIdentifier))
        case GEN_IPADD:
            let octets = X509Text.bytes(name.d.iPAddress)
            if octets.count == 4 {
                self = .address(.v4(IPv4Address(octets[0], octets[1], octets[2], octets[3])))
            } else if let address = IPv6Address(octets: octets) {
                self = .address(.v6(address))
            } else {
                return nil
            }
        default: return nil
        }
    }

    /// Escapes every byte that is not printable ASCII: forged names hide behind NUL and other control characters.
    private static func text(_ string: UnsafePointer<ASN1_STRING>?) -> String {
        X509Text.bytes(string).reduce(into: "") { text, byte in
            if (0x20..<0x7F).contains(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "\\" + X509Text.hexadecimal([byte])
            }
        }
    }
}
