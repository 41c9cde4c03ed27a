internal import CGSSAPI

/// Owns a buffer that GSSAPI fills.
final class GSSBuffer {
    /// The address that GSSAPI writes its result to. It is valid as long as this object.
    let address: UnsafeMutablePointer<gss_buffer_desc>

    init() {
        address = .allocate(capacity: 1)
        address.initialize(to: gss_buffer_desc(length: 0, value: nil))
    }

    deinit {
        var minor: OM_uint32 = 0
        _ = GSSLibrary.use { gss_release_buffer(&minor, address) }
        address.deallocate()
    }

    /// A copy of the contents.
    var bytes: [UInt8] {
        guard let start = address.pointee.value else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: address.pointee.length))
    }

    /// Calls `body` with a GSSAPI buffer of `bytes`, which GSSAPI only reads.
    static func with<Result>(
        _ bytes: [UInt8], _ body: (UnsafeMutablePointer<gss_buffer_desc>) -> Result
    ) -> Result {
        bytes.withUnsafeBytes { bytes in
            var buffer = gss_buffer_desc(
                length: bytes.count, value: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
            return body(&buffer)
        }
    }
}
