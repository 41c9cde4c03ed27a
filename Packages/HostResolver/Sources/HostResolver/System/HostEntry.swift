internal import Glibc

/// Reverse lookups through the C library. They use `gethostbyaddr_r`, because `getnameinfo` drops the aliases.
enum HostEntry {
    /// The largest buffer for one answer, in bytes.
    private static let largestBuffer = 64 * 1024

    /// Returns the names of an address, the canonical name first, without those that are invalid host names.
    static func names(of address: IPAddress) -> Result<[String], ResolverError> {
        var octets = address.octets
        let family = octets.count == 4 ? AF_INET : AF_INET6
        var size = 1024
        while size <= largestBuffer {
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
                .malformedAnswer, name: address.description, detail: "the answer is larger than \(largestBuffer) bytes")
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
