internal import Glibc

/// The calls into the C library and the kernel that a ``SystemResolver`` makes. Tests replace them.
struct SystemCalls: Sendable {
    /// Returns the addresses of a name in the requested families.
    var addresses: @Sendable (_ name: String, AddressFamilies) -> Result<[IPAddress], ResolverError>
    /// Returns the names of an address, or the canonical name of a name; the canonical name first.
    var names: @Sendable (NameSubject) -> Result<[String], ResolverError>
    /// Returns the families in which this machine has an address other than loopback. It is called at every lookup and
    /// must be cheap.
    var configuredFamilies: @Sendable () -> AddressFamilies

    /// The calls of the C library.
    static let libc = {
        let configuration = ConfiguredFamilies()
        return SystemCalls(addresses: addresses, names: names) { configuration.current() }
    }()

    private static func addresses(of name: String, families: AddressFamilies) -> Result<[IPAddress], ResolverError> {
        let family =
            switch families {
            case .v4: AF_INET
            case .v6: AF_INET6
            default: AF_UNSPEC
            }
        // Without AI_ADDRCONFIG, which costs more than the rest of the call. ConfiguredFamilies replaces it.
        return withAddressInfo(of: name, family: family, flags: 0) { list in
            var addresses: [IPAddress] = []
            var next: UnsafeMutablePointer<addrinfo>? = list
            while let info = next?.pointee {
                next = info.ai_next
                let bytes = UnsafeRawBufferPointer(start: info.ai_addr, count: Int(info.ai_addrlen))
                guard let address = SocketAddress(decoding: bytes)?.ipAddress, !addresses.contains(address) else {
                    continue
                }
                addresses.append(address)
            }
            return addresses.isEmpty ? .failure(ResolverError(.noData, name: name)) : .success(addresses)
        }
    }

    private static func names(of subject: NameSubject) -> Result<[String], ResolverError> {
        switch subject {
        case .address(let address):
            return HostEntry.names(of: address)
        case .host(let name):
            return withAddressInfo(of: name.ascii, family: AF_UNSPEC, flags: AI_CANONNAME) { list in
                // Only the first entry has the canonical name.
                let text = list.pointee.ai_canonname.map { String(cString: $0) }
                let canonical = text.flatMap(HostEntry.validated) ?? name.ascii
                return .success(canonical == name.ascii ? [canonical] : [canonical, name.ascii])
            }
        }
    }

    private static func withAddressInfo<Value>(
        of name: String, family: CInt, flags: CInt,
        _ body: (UnsafeMutablePointer<addrinfo>) -> Result<Value, ResolverError>
    ) -> Result<Value, ResolverError> {
        var hints = addrinfo()
        hints.ai_family = family
        // Request one socket type; otherwise each address is returned three times.
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        hints.ai_flags = flags
        var list: UnsafeMutablePointer<addrinfo>?
        // Not `getaddrinfo(name, …)`: converting a String argument to a pointer implicitly copies it to the heap.
        let failure = name.withCString { getaddrinfo($0, nil, &hints, &list) }
        guard failure == 0, let list else {
            return .failure(ResolverError(addressInfoFailure: failure, errno: errno, name: name))
        }
        defer { freeaddrinfo(list) }
        return body(list)
    }
}
