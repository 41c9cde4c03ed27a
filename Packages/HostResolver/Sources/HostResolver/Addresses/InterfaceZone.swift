internal import Glibc

/// Conversion between a zone's text and the kernel's interface index.
enum InterfaceZone {
    /// An index that no interface has: the kernel counts up from 1.
    static let unknown = UInt32(Int32.max)

    static func index(of zone: String) -> UInt32 {
        let index = if_nametoindex(zone)
        return index != 0 ? index : UInt32(zone) ?? unknown
    }

    static func name(of index: UInt32) -> String {
        // IF_NAMESIZE is 16, including the NUL.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16) { buffer in
            if_indextoname(index, buffer.baseAddress!).map { String(cString: $0) } ?? String(index)
        }
    }
}
