internal import HostResolver

extension HTTPServer.Configuration {
    /// The hosts for which a server responds. See ``HTTPServer/Configuration/hosts``.
    public enum Hosts: Hashable, Sendable {
        /// Every host.
        case any
        /// `localhost`, the names below it, and IP addresses.
        case local
        /// These names, and those of ``local``. The case of letters and the port make no difference.
        case names(Set<String>)
    }
}

extension HTTPServer.Configuration.Hosts {
    /// Whether a host is accepted. A request without one is: browsers always send it.
    ///
    /// - Parameter authority: the host of a request, with an optional port.
    func accepts(_ authority: String?) -> Bool {
        guard self != .any, let authority else { return true }
        let host = Self.host(of: authority)
        if host == "localhost" || host.hasSuffix(".localhost") || IPAddress(host) != nil { return true }
        guard case .names(let names) = self else { return false }
        return names.contains { Self.host(of: $0) == host }
    }

    /// The host without the port, the brackets of an address and the dot at the end, in lower case.
    private static func host(of authority: String) -> String {
        var bytes = Array(authority.utf8)[...]
        if bytes.first == UInt8(ascii: "[") {
            bytes = bytes.dropFirst().prefix { $0 != UInt8(ascii: "]") }
        } else {
            bytes = bytes.prefix { $0 != UInt8(ascii: ":") }
            if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
        }
        return String(decoding: bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
