internal import COpenSSL

/// Owns a table of BIO callbacks.
final class BIOMethod {
    let pointer: OpaquePointer

    /// Returns nil if OpenSSL is out of memory.
    init?(name: String, _ setUp: (OpaquePointer) -> Void) {
        guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, name) else { return nil }
        setUp(method)
        pointer = method
    }

    deinit {
        BIO_meth_free(pointer)
    }
}

// OpenSSL only reads the table, and nothing changes it after init.
extension BIOMethod: @unchecked Sendable {}
