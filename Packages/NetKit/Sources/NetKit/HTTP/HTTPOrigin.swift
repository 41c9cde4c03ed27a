public import FoundationEssentials
internal import HostResolver
internal import StreamKit

/// Scheme, host and port of a URL: who answers it (RFC 9110 §4.3.1). What belongs to one origin is not sent to another.
public struct HTTPOrigin: Hashable, Sendable {
    /// `http` or `https`.
    public var scheme: String { isFTP ? "ftp" : isSecure ? "https" : "http" }
    /// The host's name in ASCII and lower case, or its address; IPv6 without brackets.
    public let host: String
    /// The port, 80 or 443 if the URL names none.
    public let port: UInt16
    /// The port was written in the URL.
    let namesPort: Bool

    /// True for `https`.
    public let isSecure: Bool

    /// An FTP server, which an HTTP proxy fetches from.
    let isFTP: Bool

    /// The origin of a URL.
    ///
    /// - Throws: an error of domain `StreamKit/StreamErrorDomain/http` with code -3 for a scheme that is not HTTP, or for
    ///   a missing or impossible host.
    public init(_ url: URL) throws(StreamError) {
        try self.init(url, takesFTP: false)
    }

    /// The origin of a URL that is to be loaded, which an HTTP proxy can do for `ftp`, too.
    init(loading url: URL) throws(StreamError) {
        try self.init(url, takesFTP: true)
    }

    private init(_ url: URL, takesFTP: Bool) throws(StreamError) {
        if let plain = PlainAuthority(url) {
            isSecure = plain.isSecure
            isFTP = false
            host = plain.host
            port = plain.port ?? (plain.isSecure ? 443 : 80)
            namesPort = plain.port != nil
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
        namesPort = authority.port != nil
        guard let port = UInt16(exactly: authority.port ?? (isFTP ? 21 : isSecure ? 443 : 80)), port > 0 else {
            throw .badURL("its port is not between 1 and 65535.")
        }
        self.port = port
    }

    /// Who takes the requests for all `http` origins that go this way.
    init(_ proxy: HTTPProxy) {
        host = proxy.host
        port = proxy.port
        (isSecure, isFTP, namesPort) = (false, false, true)
    }

    /// Writes what the `Host` field says: the port only if the URL names one (RFC 9110 §7.2).
    func writeHost(to lines: inout LineWriter) {
        var host = host
        host.withUTF8 { name in
            guard name.contains(UInt8(ascii: ":")) else { return lines.write(UnsafeRawBufferPointer(name)) }
            lines.write("[")
            // A zone means something on this machine only.
            for byte in name.prefix(while: { $0 != UInt8(ascii: "%") }) { lines.write(byte) }
            lines.write("]")
        }
        guard namesPort else { return }
        lines.write(":")
        lines.write(decimal: UInt64(port))
    }

    /// Compares scheme, host and port, written or not.
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
