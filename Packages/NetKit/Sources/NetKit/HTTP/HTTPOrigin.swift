public import FoundationEssentials
internal import HostResolver
internal import StreamKit

/// Scheme, host and port of a URL: who answers it (RFC 9110 §4.3.1). What belongs to one origin is not sent to another.
public struct HTTPOrigin: Hashable, Sendable {
    /// `http` or `https`.
    public let scheme: String
    /// The host's name in ASCII and lower case, or its address; IPv6 without brackets.
    public let host: String
    /// The port, 80 or 443 if the URL names none.
    public let port: UInt16
    /// The port was written in the URL.
    let namesPort: Bool

    /// True for `https`.
    public var isSecure: Bool { scheme == "https" }

    /// The origin of a URL.
    ///
    /// - Throws: an error of domain `StreamKit/StreamErrorDomain/http` with code -3 for a scheme that is not HTTP, or for
    ///   a missing or impossible host.
    public init(_ url: URL) throws(StreamError) {
        if let plain = PlainAuthority(url) {
            scheme = plain.isSecure ? "https" : "http"
            host = plain.host
            port = plain.port ?? (plain.isSecure ? 443 : 80)
            namesPort = plain.port != nil
            return
        }
        guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw .badURL("its scheme is neither http nor https.")
        }
        guard let host = url.host(percentEncoded: false), !host.isEmpty else { throw .badURL("it names no host.") }
        self.scheme = scheme
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        do throws(ResolverError) {
            let name = try HostName(bare)
            self.host = name.address == nil ? name.ascii.lowercased() : bare.lowercased()
        } catch {
            throw .badURL("\(error)", underlying: error)
        }
        namesPort = url.port != nil
        guard let port = UInt16(exactly: url.port ?? (scheme == "https" ? 443 : 80)), port > 0 else {
            throw .badURL("its port is not between 1 and 65535.")
        }
        self.port = port
    }

    /// Appends what the `Host` field says: the port only if the URL names one (RFC 9110 §7.2).
    func appendHost(to output: inout [UInt8]) {
        let isIPv6 = host.utf8.contains(UInt8(ascii: ":"))
        if isIPv6 { output.append(UInt8(ascii: "[")) }
        // A zone means something on this machine only.
        output.append(contentsOf: isIPv6 ? host.utf8.prefix { $0 != UInt8(ascii: "%") } : host.utf8[...])
        if isIPv6 { output.append(UInt8(ascii: "]")) }
        guard namesPort else { return }
        output.append(UInt8(ascii: ":"))
        var divisor = port >= 10000 ? 10000 : port >= 1000 ? 1000 : port >= 100 ? 100 : port >= 10 ? 10 : 1
        while divisor > 0 {
            output.append(UInt8(ascii: "0") + UInt8(Int(port) / divisor % 10))
            divisor /= 10
        }
    }

    /// Compares scheme, host and port, written or not.
    public static func == (left: HTTPOrigin, right: HTTPOrigin) -> Bool {
        left.scheme == right.scheme && left.host == right.host && left.port == right.port
    }

    /// Hashes scheme, host and port.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(scheme)
        hasher.combine(host)
        hasher.combine(port)
    }
}
