/// Whom a URL leads to: the host and the port of its authority (RFC 3986 §3.2).
///
/// ```swift
/// let authority = try URLAuthority(of: "http://ann@[fe80::1%25eth0]:8080/x")
/// authority.host                        // "fe80::1%eth0"
/// authority.port                        // 8080
/// ```
///
/// Read from the URL's text, because `URL` leaves out what matters: a port that is too large is none there, and brackets
/// may stand around anything.
public struct URLAuthority: Hashable, Sendable {
    /// The host as it is written, without brackets and escapes; empty if the URL names none. Not checked: see
    /// ``resolvableHost()``.
    public let host: String
    /// The port as it is written, `Int.max` if it is larger than that; nil if the URL names none.
    public let port: Int?

    /// Reads the authority of a URL.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/invalidName`` for brackets around what is no IPv6 address, for escapes in
    ///   place of ASCII characters, which only hide a name, and for a port that is no number.
    public init(of url: String) throws(ResolverError) {
        var rest = Substring(url)
        let isWithin = { (character: Character) in character != "/" && character != "?" && character != "#" }
        let scheme = rest.prefix { $0 != ":" && isWithin($0) }
        guard rest[scheme.endIndex...].hasPrefix("://") else {
            (host, port) = ("", nil)
            return
        }
        rest = rest[scheme.endIndex...].dropFirst(3).prefix(while: isWithin)
        if let user = rest.lastIndex(of: "@") { rest = rest[rest.index(after: user)...] }
        let authority = String(rest)
        func fault(_ detail: String) -> ResolverError { ResolverError(.invalidName, name: authority, detail: detail) }

        if rest.first == "[" {
            guard let end = rest.firstIndex(of: "]"), let literal = Self.literal(rest[..<end].dropFirst()) else {
                throw fault("the text in brackets is not an IPv6 address")
            }
            host = literal
            rest = rest[rest.index(after: end)...]
        } else {
            let name = rest.prefix { $0 != ":" }
            guard let plain = Self.unescaped(name) else {
                throw fault("a percent escape is invalid or encodes an ASCII character")
            }
            host = plain
            rest = rest[name.endIndex...]
        }
        let digits = rest.dropFirst()
        guard rest.isEmpty || rest.first == ":", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw fault("the port is not a number")
        }
        port = digits.isEmpty ? nil : Int(digits) ?? .max
    }

    /// The host as it is looked up and connected to: a name in ASCII and lower case, or an address.
    ///
    /// - Throws: as ``HostName/init(_:)-(String)``.
    public func resolvableHost() throws(ResolverError) -> String {
        let name = try HostName(host)
        return name.address == nil ? name.ascii : host.lowercased()
    }

    /// An IPv6 address, with its zone behind `%25`, or behind `%` as people write it (RFC 6874 §3); nil if it is none.
    private static func literal(_ text: Substring) -> String? {
        guard let percent = text.firstIndex(of: "%") else {
            return IPv6Address(String(text)) == nil ? nil : String(text)
        }
        let address = String(text[..<percent])
        var zone = text[percent...].dropFirst()
        if zone.hasPrefix("25") {
            zone = zone.dropFirst(2)
        } else if zone.utf8.count >= 2, zone.utf8.prefix(2).allSatisfy(isHexadecimal) {
            return nil
        }
        return IPv6Address(address) == nil || zone.isEmpty ? nil : "\(address)%\(zone)"
    }

    /// Without escapes; nil if one of them stands for an ASCII character, or is none.
    private static func unescaped(_ text: Substring) -> String? {
        let parts = text.split(separator: "%", omittingEmptySubsequences: false)
        var bytes = Array(parts[0].utf8)
        for part in parts.dropFirst() {
            // A single digit is below 0x80, too.
            let digits = part.prefix(2)
            guard digits.utf8.allSatisfy(isHexadecimal), let value = UInt8(digits, radix: 16), value >= 0x80 else {
                return nil
            }
            bytes.append(value)
            bytes += part.utf8.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
    }
}
