public import FoundationEssentials
internal import Glibc
internal import HostResolver
internal import StreamKit

/// The origin of a URL: scheme, host and port (RFC 9110 §4.3.1). Data of one origin are not sent to another.
public struct HTTPOrigin: Hashable, Sendable {
    /// `http` or `https`.
    public var scheme: String { isFTP ? "ftp" : isSecure ? "https" : "http" }
    /// The host's name in ASCII and lower case, or its address; IPv6 without brackets.
    public let host: String
    /// The port; 80 or 443 if the URL names none.
    public let port: UInt16
    /// The value of `Host` (RFC 9110 §7.2): the host, in brackets if it is an IPv6 address, and the port if the URL names it.
    let hostField: String
    /// Whether the URL had the form of a ``PlainAuthority``.
    private let isPlain: Bool

    /// Whether the scheme is `https`.
    public let isSecure: Bool

    /// Whether requests are encrypted, or do not leave this machine unless they go through a proxy.
    var isSecureWithoutProxy: Bool {
        isSecure || host == "localhost" || host.hasSuffix(".localhost") || IPAddress(host)?.isLoopback == true
    }

    /// Whether the URL is an `ftp` URL, which an HTTP proxy loads.
    let isFTP: Bool

    /// Makes the origin of a URL.
    ///
    /// - Throws: an error of domain `StreamKit/StreamErrorDomain/http` with code -3 for a scheme other than HTTP, or for a
    ///   missing or invalid host.
    public init(_ url: URL) throws(StreamError) {
        try self.init(url, takesFTP: false)
    }

    /// Makes the origin of a URL to load, which may also be an `ftp` URL for an HTTP proxy.
    init(loading url: URL) throws(StreamError) {
        try self.init(url, takesFTP: true)
    }

    private init(_ url: URL, takesFTP: Bool) throws(StreamError) {
        if let plain = PlainAuthority(url) {
            isSecure = plain.isSecure
            isFTP = false
            host = plain.host
            port = plain.port ?? (plain.isSecure ? 443 : 80)
            hostField = plain.text
            isPlain = true
            return
        }
        guard let scheme = url.scheme?.lowercased(),
            scheme == "http" || scheme == "https" || (takesFTP && scheme == "ftp")
        else {
            throw .badURL("its scheme is neither http nor https.")
        }
        isSecure = scheme == "https"
        isFTP = scheme == "ftp"
        let authority: URLAuthority
        do throws(ResolverError) {
            authority = try URLAuthority(of: url.absoluteString)
            host = authority.host.isEmpty ? "" : try authority.resolvableHost()
        } catch {
            throw .badURL("\(error)", underlying: error)
        }
        if host.isEmpty { throw .badURL("it has no host.") }
        isPlain = false
        guard let port = UInt16(exactly: authority.port ?? (isFTP ? 21 : isSecure ? 443 : 80)), port > 0 else {
            throw .badURL("its port is not between 1 and 65535.")
        }
        self.port = port
        hostField = HTTPOrigin.hostField(host, authority.port == nil ? nil : port)
    }

    private static func hostField(_ host: String, _ port: UInt16?) -> String {
        var name = host
        if host.utf8.contains(UInt8(ascii: ":")) {
            // A zone identifier is meaningful on this machine only.
            name = "[\(Substring(host.utf8.prefix { $0 != UInt8(ascii: "%") }))]"
        }
        return port.map { "\(name):\($0)" } ?? name
    }

    /// Whether a text is a host with an optional port, as `Host` contains it (RFC 9110 §7.2).
    static func isHost(_ text: String) -> Bool {
        let delimiters = "/?#@\\".utf8
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !delimiters.contains($0) }),
            let url = URL(string: "http://\(text)/")
        else { return false }
        return (try? HTTPOrigin(url)) != nil
    }

    /// Makes the origin of `http` URLs with this host and port, which are not checked.
    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
        hostField = HTTPOrigin.hostField(host, port)
        (isSecure, isFTP, isPlain) = (false, false, false)
    }

    /// The beginning of URLs of this origin, written as in the URL that it was made of, such as `http://example.org:8080`. Nil if that was
    /// not in the plain form of ``PlainAuthority``.
    ///
    /// A URL that begins so, and whose authority ends there, has this origin. Another URL may have it as well, in another form.
    var plainPrefix: String? {
        isPlain ? "\(isSecure ? "https" : "http")://\(hostField)" : nil
    }

    /// Compares scheme, host and port. An explicit default port equals an implicit one.
    public static func == (left: HTTPOrigin, right: HTTPOrigin) -> Bool {
        left.isSecure == right.isSecure && left.isFTP == right.isFTP && left.port == right.port
            && left.host == right.host
    }

    /// Hashes scheme, host and port.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(isSecure)
        hasher.combine(host)
        hasher.combine(port)
    }
}

/// Scheme, host and port of a URL in plain form: `http` or `https`, a host of lower-case ASCII or an IPv4 address in its usual
/// form, an optional port, no user.
///
/// Nearly all URLs have this form. Their authority is read from the bytes here, without the full parser, which handles every
/// other URL. Nothing is accepted here that the full parser rejects.
struct PlainAuthority {
    let isSecure: Bool
    let host: String
    let port: UInt16?
    /// Host and port as the URL names them.
    let text: String

    init?(_ url: URL) {
        var text = url.absoluteString
        guard let plain = text.withUTF8({ PlainAuthority($0) }) else { return nil }
        self = plain
    }

    private init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        var position = 4
        guard bytes.count > 10, bytes[0] == 0x68, bytes[1] == 0x74, bytes[2] == 0x74, bytes[3] == 0x70 else {
            return nil
        }
        isSecure = bytes[4] == UInt8(ascii: "s")
        if isSecure { position += 1 }
        guard bytes[position] == UInt8(ascii: ":"), bytes[position + 1] == UInt8(ascii: "/"),
            bytes[position + 2] == UInt8(ascii: "/")
        else { return nil }
        position += 3

        let start = position
        while position < bytes.count, PlainAuthority.isHostByte(bytes[position]) { position += 1 }
        let name = UnsafeBufferPointer(rebasing: bytes[start..<position])
        guard let first = name.first,
            first < 0x3a ? PlainAuthority.isAddress(name) || PlainAuthority.isName(name) : PlainAuthority.isName(name)
        else { return nil }
        host = String(decoding: name, as: UTF8.self)

        var number: UInt16?
        if position < bytes.count, bytes[position] == UInt8(ascii: ":") {
            position += 1
            var value: UInt = 0
            while position < bytes.count, case let digit = bytes[position] &- 0x30, digit < 10 {
                value = value &* 10 &+ UInt(digit)
                // A port does not begin with 0.
                guard value > 0, value <= 65535 else { return nil }
                position += 1
            }
            guard value > 0 else { return nil }
            number = UInt16(value)
        }
        port = number
        text = number == nil ? host : String(decoding: bytes[start..<position], as: UTF8.self)
        if position < bytes.count, !PlainAuthority.isEnd(bytes[position]) { return nil }
    }

    /// Whether a byte ends the authority of a URL.
    @inline(__always)
    static func isEnd(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }

    /// Whether a URL begins with this scheme and authority, and its authority ends there. False for an empty prefix.
    static func isIn(_ url: UnsafeBufferPointer<UInt8>, endingAfter prefix: [UInt8]) -> Bool {
        guard !prefix.isEmpty, prefix.count <= url.count, let start = url.baseAddress,
            memcmp(start, prefix, prefix.count) == 0
        else { return false }
        return prefix.count == url.count || isEnd(url[prefix.count])
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x61...0x7a, 0x30...0x39, 0x2d, 0x2e: true
        default: false
        }
    }

    /// Whether the name consists of labels of letters, digits and inner hyphens. The last label must begin with a letter, so that
    /// the name cannot be a form of an IPv4 address.
    private static func isName(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard name.count <= 253 else { return false }
        var labelStart = 0
        var index = 0
        while true {
            if index == name.count || name[index] == 0x2e {
                guard index > labelStart, index - labelStart <= 63, name[labelStart] != 0x2d, name[index - 1] != 0x2d
                else { return false }
                if index == name.count { return name[labelStart] >= 0x61 }
                labelStart = index + 1
            }
            index += 1
        }
    }

    /// Whether the name consists of four numbers without leading zeros.
    private static func isAddress(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        var dots = 0
        var digits = 0
        var value: UInt = 0
        for byte in name {
            if byte == 0x2e {
                guard digits > 0 else { return false }
                (dots, digits, value) = (dots &+ 1, 0, 0)
                continue
            }
            let digit = byte &- 0x30
            guard digit < 10, digits == 0 || value > 0 else { return false }
            value = value &* 10 &+ UInt(digit)
            digits &+= 1
            guard value < 256 else { return false }
        }
        return dots == 3 && digits > 0
    }
}

extension URL {
    /// The URL without user, password and fragment, for reports and errors.
    var publicText: String {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "" }
        (parts.user, parts.password, parts.fragment) = (nil, nil, nil)
        return parts.string ?? ""
    }
}
