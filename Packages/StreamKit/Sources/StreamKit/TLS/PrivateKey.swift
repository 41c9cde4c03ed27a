internal import COpenSSL

/// The owner of a private key of OpenSSL's, which wipes it when it is freed.
final class PrivateKey {
    private let pointer: OpaquePointer

    /// Takes over one reference.
    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        EVP_PKEY_free(pointer)
    }

    /// Lends the pointer. It is good only inside: a bare copy would outlive the last use of this object.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(self) { body(pointer) }
    }

    /// True if this is the key of the certificate.
    func belongs(to certificate: Certificate) -> Bool {
        guard let handle = X509Handle(der: certificate.der) else { return false }
        defer { ERR_clear_error() }
        return handle.withPointer { certificate in withPointer { X509_check_private_key(certificate, $0) == 1 } }
    }
}

// The key is never changed after it was read, and OpenSSL locks the caches inside it and counts references atomically.
extension PrivateKey: @unchecked Sendable {}
