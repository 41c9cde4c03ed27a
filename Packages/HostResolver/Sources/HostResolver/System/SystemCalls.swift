internal import Glibc

/// The calls into the C library and the kernel that a ``SystemResolver`` makes. Tests replace them.
struct SystemCalls: Sendable {
    /// Returns the addresses of a name in the requested families.
    var addresses: @Sendable (_ name: String, AddressFamilies) -> Result<[IPAddress], ResolverError>
    /// Returns the names of an address, or the canonical name of a name, which has addresses of one of the families; the canonical name
    /// first.
    var names: @Sendable (NameQuery, AddressFamilies) -> Result<[String], ResolverError>
    /// Returns the families in which this machine has an address other than loopback. It is called at every lookup and
    /// must be cheap.
    var configuredFamilies: @Sendable () -> AddressFamilies
    /// Returns the hosts file.
    var hosts: @Sendable () -> HostsFile = { .system }
    /// Whether `hosts` returns soon enough for an event loop.
    var hostsAreQuick: @Sendable () -> Bool = { SystemFiles.hostsAreQuick }

    /// The calls of the C library.
    static let libc = {
        let configuration = ConfiguredFamilies()
        return SystemCalls(addresses: addresses, names: names) { configuration.current() }
    }()

    private static func addresses(of name: String, families: AddressFamilies) -> Result<[IPAddress], ResolverError> {
        // Without AI_ADDRCONFIG, which costs more than the rest of the call. ConfiguredFamilies replaces it.
        return withAddressInfo(of: name, families: families, flags: 0) { list in
            let addresses = Self.addresses(in: list)
            return addresses.isEmpty ? .failure(ResolverError(.noData, name: name)) : .success(addresses)
        }
    }

    /// The addresses of a list, in its order and without duplicates; at most ``UniqueAddresses/maximumPerFamily`` of each
    /// family, because an answer over TCP can hold thousands.
    static func addresses(in list: UnsafeMutablePointer<addrinfo>) -> [IPAddress] {
        var found = UniqueAddresses()
        var counts: [CInt: Int] = [:]
        var next: UnsafeMutablePointer<addrinfo>? = list
        while let info = next?.pointee {
            next = info.ai_next
            let bytes = UnsafeRawBufferPointer(start: info.ai_addr, count: Int(info.ai_addrlen))
            guard counts[info.ai_family, default: 0] < UniqueAddresses.maximumPerFamily,
                let address = SocketAddress(decoding: bytes)?.ipAddress, found.append(address)
            else { continue }
            counts[info.ai_family, default: 0] += 1
        }
        return found.all
    }

    private static func names(of subject: NameQuery, families: AddressFamilies) -> Result<[String], ResolverError> {
        switch subject {
        case .address(let address):
            return HostEntry.names(of: address)
        case .host(let name):
            return withAddressInfo(of: name.ascii, families: families, flags: AI_CANONNAME) { list in
                // Only the first entry has the canonical name.
                let text = list.pointee.ai_canonname.map { String(cString: $0) }
                let canonical = text.flatMap(HostEntry.validated) ?? name.ascii
                return .success(canonical == name.ascii ? [canonical] : [canonical, name.ascii])
            }
        }
    }

    private static func withAddressInfo<Value>(
        of name: String, families: AddressFamilies, flags: CInt,
        _ body: (UnsafeMutablePointer<addrinfo>) -> Result<Value, ResolverError>
    ) -> Result<Value, ResolverError> {
        var hints = addrinfo()
        hints.ai_family =
            switch families {
            case .v4: AF_INET
            case .v6: AF_INET6
            default: AF_UNSPEC
            }
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

/// Reverse lookups through the C library. They use `gethostbyaddr_r`, because `getnameinfo` drops the aliases.
enum HostEntry {
    /// The largest buffer for one answer, in bytes.
    private static let maximumBufferSize = 64 * 1024

    /// Returns the names of an address, the canonical name first, without those that are invalid host names.
    static func names(of address: IPAddress) -> Result<[String], ResolverError> {
        var octets = address.octets
        let family = octets.count == 4 ? AF_INET : AF_INET6
        var size = 1024
        while size <= maximumBufferSize {
            var buffer = [CChar](repeating: 0, count: size)
            var entry = hostent()
            var result: UnsafeMutablePointer<hostent>?
            var failure: CInt = 0
            let names = buffer.withUnsafeMutableBufferPointer { buffer -> [String]? in
                let status = gethostbyaddr_r(
                    &octets, socklen_t(octets.count), family, &entry, buffer.baseAddress, buffer.count, &result,
                    &failure)
                if status == ERANGE { return nil }
                if status != 0 { failure = failure == 0 ? -1 : failure }
                return result.map { Self.names(in: $0.pointee) } ?? []
            }
            if let names, !names.isEmpty { return .success(names) }
            if names != nil { return .failure(error(failure, name: address.description)) }
            size *= 4
        }
        return .failure(
            ResolverError(
                .malformedAnswer, name: address.description,
                detail: "the answer is larger than \(maximumBufferSize) bytes")
        )
    }

    /// Returns the normalized name; nil if it is not a valid host name. The owner of an address controls its reverse
    /// zone, so it may contain arbitrary text.
    static func validated(_ name: String) -> String? {
        guard let host = try? HostName(name), host.address == nil else { return nil }
        return host.ascii
    }

    private static func names(in entry: hostent) -> [String] {
        var names: [String] = []
        if let main = entry.h_name.flatMap({ validated(String(cString: $0)) }) { names.append(main) }
        var next = entry.h_aliases
        while let alias = next?.pointee {
            if let name = validated(String(cString: alias)), !names.contains(name) { names.append(name) }
            next = next?.advanced(by: 1)
        }
        return names
    }

    /// The `h_errno` values of netdb.h: 1 HOST_NOT_FOUND, 2 TRY_AGAIN, 3 NO_RECOVERY, 4 NO_DATA, -1 internal.
    private static func error(_ failure: CInt, name: String) -> ResolverError {
        switch failure {
        case 1: ResolverError(.hostNotFound, name: name)
        case 2: ResolverError(.temporaryFailure, name: name)
        case 3: ResolverError(.serverFailed, name: name)
        case 4, 0: ResolverError(.noData, name: name)
        default: ResolverError(.temporaryFailure, name: name)
        }
    }
}
