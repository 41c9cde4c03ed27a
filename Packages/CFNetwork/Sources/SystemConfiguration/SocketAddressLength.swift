// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Glibc

extension sockaddr {
    /// The size of the address in bytes. Apple's systems store it; on Linux, it follows from the family, and setting it has no effect.
    public var sa_len: UInt8 {
        get { size(of: sa_family, MemoryLayout<sockaddr>.size) }
        set {}
    }
}

extension sockaddr_in {
    /// The size of the address in bytes. Apple's systems store it; on Linux, it is constant, and setting it has no effect.
    public var sin_len: UInt8 {
        get { UInt8(MemoryLayout<sockaddr_in>.size) }
        set {}
    }
}

extension sockaddr_in6 {
    /// The size of the address in bytes. Apple's systems store it; on Linux, it is constant, and setting it has no effect.
    public var sin6_len: UInt8 {
        get { UInt8(MemoryLayout<sockaddr_in6>.size) }
        set {}
    }
}

private func size(of family: sa_family_t, _ other: Int) -> UInt8 {
    switch CInt(family) {
    case AF_INET: UInt8(MemoryLayout<sockaddr_in>.size)
    case AF_INET6: UInt8(MemoryLayout<sockaddr_in6>.size)
    default: UInt8(other)
    }
}
