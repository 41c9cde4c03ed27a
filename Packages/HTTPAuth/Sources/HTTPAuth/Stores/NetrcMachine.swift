extension NetrcParser {
    /// The server of a netrc entry: `[scheme://]host[:port]`, an IPv6 address with a port in brackets.
    struct Machine: Hashable, Sendable {
        /// In lower case, without brackets and the dot behind a name.
        let host: String
        /// In lower case; nil for any.
        let scheme: String?
        /// The port that is named, or the usual one of the scheme that is named; nil for any.
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
            // One colon only: an address without brackets has several.
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
    /// Whether the entry is for a server.
    ///
    /// - Parameters:
    ///   - host: The host, normalized.
    ///   - port: The port; nil if it is not known.
    ///   - scheme: The scheme in lower case; nil if there is none.
    ///   - isNamed: Whether the application named the server. One that a redirect led to gets only what is meant for it:
    ///     over https, on the port of the entry or else the usual one; over anything else, if the entry names that scheme.
    func fits(_ host: String, _ port: Int?, _ scheme: String?, isNamed: Bool) -> Bool {
        guard let machine else { return isNamed }
        guard machine.host == host, machine.scheme == nil || machine.scheme == scheme,
            machine.port == nil || machine.port == port
        else { return false }
        if isNamed || machine.scheme != nil { return true }
        return scheme == "https" && (machine.port ?? 443) == port
    }
}
