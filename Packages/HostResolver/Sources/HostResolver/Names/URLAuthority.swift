internal import IPAddresses

/// The host and the port of a URL's authority (RFC 3986 §3.2).
///
/// ```swift
/// let authority = try URLAuthority(of: "http://ann@[fe80::1%25eth0]:8080/x")
/// authority.host                        // "fe80::1%eth0"
/// authority.port                        // 8080
/// ```
///
/// Parses the URL's text, because Foundation's `URL` is too lenient: it drops a port that is too large, and accepts any
/// text in brackets.
public struct URLAuthority: Hashable, Sendable {
    /// The host as written, without brackets and escapes; empty if the URL has no host. It is not validated; see
    /// ``resolvableHost()``.
    public let host: String
    /// The port as written, or `Int.max` if it is larger than that; nil if the URL has no port.
    public let port: Int?

    /// Parses the authority of a URL. A URL without `//` after its scheme has an empty host and no port.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/invalidName`` for brackets without an IPv6 address, for invalid
    ///   percent escapes and those that encode ASCII characters, which only disguise a name, and for a port that is not
    ///   a number.
    public init(of url: String) throws(ResolverError) {
        // By bytes: a delimiter beside a combining mark is part of another `Character`, and another part would be the host.
        var rest = url.utf8[...]
        let isWithin = { (byte: UInt8) in !"/?#".utf8.contains(byte) }
        let scheme = rest.prefix { $0 != UInt8(ascii: ":") && isWithin($0) }
        guard rest[scheme.endIndex...].starts(with: "://".utf8) else {
            (host, port) = ("", nil)
            return
        }
        rest = rest[scheme.endIndex...].dropFirst(3).prefix(while: isWithin)
        if let user = rest.lastIndex(of: UInt8(ascii: "@")) { rest = rest[user...].dropFirst() }
        let authority = String(Substring(rest))
        func fault(_ detail: String) -> ResolverError { ResolverError(.invalidName, name: authority, detail: detail) }

        if rest.first == UInt8(ascii: "[") {
            guard let end = rest.firstIndex(of: UInt8(ascii: "]")),
                let literal = Self.literal(String(Substring(rest[..<end].dropFirst())))
            else { throw fault("the text in brackets is not an IPv6 address") }
            host = literal
            rest = rest[end...].dropFirst()
        } else {
            let name = rest.prefix { $0 != UInt8(ascii: ":") }
            guard let plain = Self.unescaped(name) else {
                throw fault("a percent escape is invalid or encodes an ASCII character")
            }
            host = plain
            rest = rest[name.endIndex...]
        }
        let digits = rest.dropFirst()
        guard rest.isEmpty || rest.first == UInt8(ascii: ":"), digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw fault("the port is not a number")
        }
        port = digits.isEmpty ? nil : Int(Substring(digits)) ?? .max
    }

    /// Returns the host in the form for lookups and connections: a name in lower-case ASCII, or an address.
    ///
    /// - Throws: The errors of ``HostName/init(_:)-(String)``.
    public func resolvableHost() throws(ResolverError) -> String {
        let name = try HostName(host)
        return name.address == nil ? name.ascii : host.lowercased()
    }

    /// Returns a host as it is written before a port: an IPv6 address gets brackets (RFC 3986 §3.2.2). The host must have none yet.
    @_spi(Packages) public static func bracketed(_ host: String) -> String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    }

    /// Parses an IPv6 address, with a zone after `%25`, or after a bare `%` as people write it (RFC 6874 §3).
    private static func literal(_ text: String) -> String? {
        guard let percent = text.utf8.firstIndex(of: UInt8(ascii: "%")) else {
            return IPv6Address(text) == nil ? nil : text
        }
        let address = String(text[..<percent])
        var zone = text.utf8[percent...].dropFirst()
        if zone.starts(with: "25".utf8) {
            zone = zone.dropFirst(2)
        } else if zone.count >= 2, zone.prefix(2).allSatisfy({ $0.hexadecimalDigit != nil }) {
            return nil
        }
        return IPv6Address(address) == nil || zone.isEmpty ? nil : "\(address)%\(Substring(zone))"
    }

    /// Decodes percent escapes; nil if one is invalid or encodes an ASCII character, or if the result is not UTF-8.
    private static func unescaped(_ text: Substring.UTF8View) -> String? {
        PercentEscapes.decode(text) { $0 >= 0x80 }.flatMap { String(validating: $0, as: UTF8.self) }
    }
}
