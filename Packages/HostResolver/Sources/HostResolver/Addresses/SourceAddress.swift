internal import Glibc

/// The kernel's choice of source address for a destination.
enum SourceAddress {
    /// The source address that the kernel would use; nil if there is no route.
    ///
    /// Connects a datagram socket, which sends nothing, and reads the socket's own address. The port is arbitrary.
    static func source(to destination: IPAddress) -> IPAddress? {
        let address = SocketAddress.ip(destination, port: 9)
        let descriptor = socket(address.family, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard address.withSockAddr({ connect(descriptor, $0, $1) }) == 0 else { return nil }
        return SocketAddress.local(of: descriptor)?.ipAddress
    }
}

extension SocketAddress {
    /// The local address of a socket; nil if the kernel reports none.
    static func local(of descriptor: CInt) -> SocketAddress? {
        withUnsafeTemporaryAllocation(byteCount: largestSize, alignment: 8) { buffer in
            var length = socklen_t(buffer.count)
            let pointer = buffer.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            guard getsockname(descriptor, pointer, &length) == 0 else { return nil }
            return try? SocketAddress(sockaddr: UnsafeRawBufferPointer(rebasing: buffer[..<Int(length)]))
        }
    }
}
