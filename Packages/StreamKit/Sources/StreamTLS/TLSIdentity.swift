internal import COpenSSL
@_spi(Packages) internal import EventLoops

/// This side's certificates, and the private key of the first one.
///
/// ```swift
/// configuration.identity = try TLSIdentity(file: "client.pem", keyFile: "client.key", password: "…")
/// ```
///
/// Everything is read and checked at initialization, so that a wrong password or file is reported at once. The password
/// is not kept. The key never leaves OpenSSL, which wipes it in the end. Two identities are equal if their certificates
/// are. Replaces `SecIdentityRef` and the array of `kCFStreamSSLCertificates`.
public struct TLSIdentity: Sendable, Hashable {
    /// This side's own certificate, then those of the authorities between it and the root.
    public let certificates: [Certificate]

    package let key: PrivateKey

    /// Reads PEM text (RFC 7468) with certificates in any order, and a private key in the same text or separately.
    ///
    /// - Parameters:
    ///   - pem: the certificates, and the private key unless `key` is given. A single certificate may also be in DER.
    ///   - key: the private key, in PEM or DER.
    ///   - password: the password of an encrypted key.
    /// - Throws: domain ``StreamErrorDomain/ssl``, code ``TLSFailure/badConfiguration``: nothing readable, a wrong or
    ///   missing password, or a key that matches none of the certificates.
    public init(pem: [UInt8], key: [UInt8]? = nil, password: String? = nil) throws(StreamError) {
        try self.init(
            certificates: Certificate.all(in: pem), keyBytes: key ?? pem, source: "the given bytes", password: password)
    }

    /// Reads files, as ``init(pem:key:password:)`` reads bytes, on the calling thread. ``read(file:keyFile:password:within:)`` does
    /// not block it.
    ///
    /// - Throws: the same errors; domain ``StreamErrorDomain/posix`` if a file cannot be read.
    public init(file path: String, keyFile: String? = nil, password: String? = nil) throws(StreamError) {
        var bytes = try SecretFile.read(path)
        defer { SecretFile.wipe(&bytes) }
        let certificates = try Certificate.all(in: bytes, source: path)
        if let keyFile {
            SecretFile.wipe(&bytes)
            bytes = try SecretFile.read(keyFile)
        }
        try self.init(certificates: certificates, keyBytes: bytes, source: keyFile ?? path, password: password)
    }

    /// Reads files, as ``init(file:keyFile:password:)`` does, on another thread.
    ///
    /// ```swift
    /// let identity = try await TLSIdentity.read(file: "/mnt/certificates/server.pem")
    /// ```
    ///
    /// For programs whose certificates are on a network file system, which may stop responding: a task that reads a file itself then
    /// keeps a thread of all tasks, or of an event loop.
    ///
    /// - Parameter limit: the time limit. A call that the system does not end occupies one of eight threads until it returns.
    /// - Throws: the same errors; `ETIMEDOUT` at the limit; ``StreamError/cancelled`` at once if the task is cancelled.
    public nonisolated(nonsending) static func read(
        file path: String, keyFile: String? = nil, password: String? = nil, within limit: Duration = .seconds(75)
    ) async throws(StreamError) -> TLSIdentity {
        try await BlockingThreads.certificates.certificateResult(within: limit) { () throws(StreamError) in
            try TLSIdentity(file: path, keyFile: keyFile, password: password)
        }
    }

    /// Reads a PKCS#12 bundle (`.p12`, `.pfx`; RFC 7292).
    ///
    /// - Throws: domain ``StreamErrorDomain/ssl``, code ``TLSFailure/badConfiguration``. Bundles that older programs
    ///   encrypted with RC2 or RC4 can be read only with OpenSSL's legacy provider. A bundle whose keys take more than 10,000,000 iterations to
    ///   derive is refused: it would occupy the thread for minutes or years.
    public init(pkcs12: [UInt8], password: String) throws(StreamError) {
        OpenSSLSetup.perform()
        ERR_clear_error()
        let (key, certificates): (PrivateKey?, [Certificate])
        do throws(PKCS12Reader.Fault) {
            let reader = try PKCS12Reader(pkcs12, password: password)
            (key, certificates) = (reader.key, reader.certificates)
        } catch {
            let errors = OpenSSLErrors.take()
            switch error {
            case .passwordWrong: throw Self.unreadableBundle("the password is wrong", .wrongPassword)
            case .tooMuchWork: throw Self.unreadableBundle("its keys take too many iterations to derive")
            case .unreadable: throw Self.unreadableBundle(errors.text)
            }
        }
        ERR_clear_error()
        guard let key, !certificates.isEmpty else {
            throw Self.unreadableBundle("it has no private key, or no certificate")
        }
        try self.init(certificates: certificates, key: key)
    }

    private static func unreadableBundle(_ reason: String, _ code: StreamErrorReason? = nil) -> StreamError {
        StreamError(.badConfiguration, .keyUnreadable("the PKCS#12 bundle", reason: reason), reason: code)
    }

    private init(
        certificates: [Certificate], keyBytes: [UInt8], source: String, password: String?
    ) throws(StreamError) {
        let key: PrivateKey
        do {
            key = try PEMReader.privateKey(in: keyBytes, password: password)
        } catch {
            let (text, reason): (String, StreamErrorReason?) =
                switch error {
                case .absent: ("no private key found", nil)
                case .passwordNeeded: ("it is encrypted and no password was given", .encryptedKey)
                case .passwordWrong: ("the password is wrong", .wrongPassword)
                case .tooMuchWork: ("its key takes too many iterations to derive", nil)
                case .unreadable(let text): (text, nil)
                }
            throw StreamError(.badConfiguration, .keyUnreadable(source, reason: text), reason: reason)
        }
        try self.init(certificates: certificates, key: key)
    }

    private init(certificates: [Certificate], key: PrivateKey) throws(StreamError) {
        guard let own = certificates.firstIndex(where: key.belongs(to:)) else {
            throw StreamError(.badConfiguration, .keyDoesNotMatch())
        }
        var others = certificates
        others.remove(at: own)
        self.certificates = [certificates[own]] + others
        self.key = key
    }

    private init(sorted certificates: [Certificate], key: PrivateKey) {
        self.certificates = certificates
        self.key = key
    }

    /// Returns the identity with further certificates of authorities, which a connection sends after its own.
    public func adding(_ authorities: [Certificate]) -> TLSIdentity {
        TLSIdentity(sorted: certificates + authorities.filter { !certificates.contains($0) }, key: key)
    }

    /// Compares the certificates. The key of the first one is then the same.
    public static func == (left: TLSIdentity, right: TLSIdentity) -> Bool {
        left.certificates == right.certificates
    }

    /// Hashes the certificates.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(certificates)
    }
}

extension TLSIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The description of the first certificate.
    public var description: String { certificates.first?.description ?? "" }

    /// The description of the first certificate.
    public var debugDescription: String { description }

    /// The certificates, never the key.
    public var customMirror: Mirror { Mirror(self, children: ["certificates": certificates]) }
}
