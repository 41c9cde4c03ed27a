extension NetrcParser {
    /// The server of a netrc entry: `[scheme://]host[:port]`. An IPv6 address with a port is in brackets.
    struct Machine: Hashable, Sendable {
        /// The host in lower case, without brackets and a trailing dot.
        let host: String
        /// The scheme in lower case; nil matches any scheme.
        let scheme: String?
        /// The port, or the default port of the scheme; nil matches any port.
        let port: Int?

        init(_ text: String) {
            var rest = text.lowercased()[...]
            var scheme: String?
            if let mark = rest.firstRange(of: "://") {
                scheme = String(rest[..<mark.lowerBound])
                rest = rest[mark.upperBound...]
                if rest.hasSuffix("/") { rest.removeLast() }
            }
            self.scheme = scheme
            // Exactly one colon: an address without brackets has several.
            let colons = rest.utf8.count { $0 == UInt8(ascii: ":") }
            if let colon = rest.lastIndex(of: ":"), colons == 1 || rest[..<colon].hasSuffix("]"),
                let port = UInt16(rest[rest.index(after: colon)...])
            {
                self.port = Int(port)
                rest = rest[..<colon]
            } else {
                port = scheme.flatMap { Self.defaultPorts[$0] }
            }
            host = ProtectionSpace.normalized(host: String(rest))
        }

        private static let defaultPorts = ["http": 80, "https": 443, "ftp": 21, "ftps": 990]
    }
}

extension NetrcParser.Entry {
    /// Returns whether the entry matches a server.
    ///
    /// - Parameters:
    ///   - host: The host, normalized.
    ///   - port: The port; nil if it is unknown.
    ///   - scheme: The scheme in lower case; nil if there is none.
    ///   - isNamed: Whether the application named the server. After a redirect, an entry without a scheme is valid only
    ///     for https, on its own port or 443.
    func matches(_ host: String, _ port: Int?, _ scheme: String?, isNamed: Bool) -> Bool {
        guard let machine else { return isNamed }
        guard machine.host == host, machine.scheme == nil || machine.scheme == scheme,
            machine.port == nil || machine.port == port
        else { return false }
        if isNamed || machine.scheme != nil { return true }
        return scheme == "https" && (machine.port ?? 443) == port
    }
}
