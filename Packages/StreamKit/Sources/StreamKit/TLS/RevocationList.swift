internal import COpenSSL

/// Reads certificate revocation lists (RFC 5280 §5) into a store.
enum RevocationList {
    /// Adds all lists in PEM text, or one in DER. Returns how many were added.
    static func add(_ bytes: [UInt8], to store: OpaquePointer) -> Int {
        defer { ERR_clear_error() }
        return bytes.withUnsafeBytes { memory in
            let bio = BIO_new_mem_buf(memory.baseAddress, CInt(clamping: memory.count))
            defer { BIO_free(bio) }
            var count = 0
            while let list = bytes.first == 0x30
                ? d2i_X509_CRL_bio(bio, nil) : PEM_read_bio_X509_CRL(bio, nil, nil, nil)
            {
                if X509_STORE_add_crl(store, list) == 1 { count += 1 }
                X509_CRL_free(list)
            }
            return count
        }
    }
}
