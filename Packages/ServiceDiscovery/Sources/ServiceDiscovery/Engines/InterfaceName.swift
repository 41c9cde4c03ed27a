internal import Glibc

/// The names of network interfaces.
package enum InterfaceName {
    /// Returns the name of the interface with this index; nil if there is none.
    ///
    /// - Throws: as ``index(of:)``.
    package static func of(_ index: UInt32) throws(ServiceDiscoveryError) -> String? {
        var failure: CInt = 0
        let name = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(IF_NAMESIZE)) { buffer -> String? in
            if let start = buffer.baseAddress, if_indextoname(index, start) != nil { return String(cString: start) }
            failure = errno
            return nil
        }
        // Without a descriptor, the kernel cannot be asked.
        guard name != nil || failure == ENXIO else { throw ServiceDiscoveryError(errno: failure) }
        return name
    }

    /// Returns the index of an interface; nil if there is none with this name.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/system`` if the kernel cannot be asked, for example because the process has
    ///   no descriptors left.
    static func index(of name: String) throws(ServiceDiscoveryError) -> UInt32? {
        let index = if_nametoindex(name)
        if index != 0 { return index }
        // The call needs a socket, and does not say so if it gets none.
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw ServiceDiscoveryError(errno: errno) }
        close(descriptor)
        return nil
    }
}
