internal import COpenSSL

/// Owns a private key of OpenSSL, which wipes the key when it is freed.
final class PrivateKey {
    private let pointer: OpaquePointer

    /// Takes ownership of one reference.
    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        EVP_PKEY_free(pointer)
    }

    /// Calls `body` with the pointer, which is valid only during the call: outside of it, Swift may release this object
    /// before the pointer's last use.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(self) { body(pointer) }
    }

    /// Whether this is the private key of the certificate.
    func belongs(to certificate: Certificate) -> Bool {
        guard let handle = X509Handle(der: certificate.der) else { return false }
        defer { ERR_clear_error() }
        return handle.withPointer { certificate in withPointer { X509_check_private_key(certificate, $0) == 1 } }
    }
}

// The key does not change after it is read. OpenSSL locks the caches inside it and counts references atomically.
extension PrivateKey: @unchecked Sendable {}
