internal import COpenSSL

/// The owner of a table of BIO callbacks.
final class BIOMethod {
    let pointer: OpaquePointer

    /// Nil if OpenSSL has no memory.
    init?(name: String, _ setUp: (OpaquePointer) -> Void) {
        guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, name) else { return nil }
        setUp(method)
        pointer = method
    }

    deinit {
        BIO_meth_free(pointer)
    }
}

// Never changed after init; OpenSSL only reads it.
extension BIOMethod: @unchecked Sendable {}
