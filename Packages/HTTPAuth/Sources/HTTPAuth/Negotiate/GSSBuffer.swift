internal import CGSSAPI

/// Owns a buffer that GSSAPI fills.
final class GSSBuffer {
    /// Where a call puts its result. The memory is of this object's and valid as long as it lives.
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

    /// A copy of what was put there.
    var bytes: [UInt8] {
        guard let start = address.pointee.value else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: address.pointee.length))
    }

    /// Calls `body` with a buffer that shows `bytes`; GSSAPI does not write to its input.
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
