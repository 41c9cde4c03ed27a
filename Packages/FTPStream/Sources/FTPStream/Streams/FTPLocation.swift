internal import FoundationEssentials
@_spi(Packages) internal import StreamKit

/// The contents of an FTP URL (RFC 1738 §3.2).
struct FTPLocation: Sendable, Hashable {
    var host: String
    var port: UInt16
    var user: [UInt8]?
    var password: [UInt8]?
    /// Relative to the login directory; absolute if it begins with a slash, which is `%2F` in a URL.
    var path: [UInt8]
    /// Whether the path ended in a slash, or is the login directory.
    var isDirectory: Bool
    /// The letter of `;type=`, in lower case.
    var type: Character?
    /// Whether the scheme is ftps.
    var isSecure: Bool

    /// The port of FTP.
    static let plainPort: UInt16 = 21
    /// The port of FTP over TLS from the first byte.
    static let securePort: UInt16 = 990

    init(_ url: URL) throws(FTPError) {
        guard let scheme = url.scheme?.lowercased(), scheme == "ftp" || scheme == "ftps" else {
            throw .badURL("its scheme is neither ftp nor ftps.")
        }
        isSecure = scheme == "ftps"
        let authority: URLAuthority
        do throws(ResolverError) {
            authority = try URLAuthority(of: url.absoluteString)
            host = authority.host.isEmpty ? "" : try authority.resolvableHost()
        } catch {
            throw .badURL("\(error)")
        }
        if host.isEmpty { throw .badURL("it has no host.") }
        guard let port = UInt16(exactly: authority.port ?? Int(isSecure ? Self.securePort : Self.plainPort)), port > 0
        else {
            throw .badURL("its port is not between 1 and 65535.")
        }
        self.port = port
        user = try url.user(percentEncoded: true).map { text throws(FTPError) in try Self.decoded(text, "user name") }
        password = try url.password(percentEncoded: true)
            .map { text throws(FTPError) in try Self.decoded(text, "password") }
        var text = url.path(percentEncoded: true)
        if text.hasPrefix("/") { text.removeFirst() }
        if let mark = text.utf8.lastIndex(of: UInt8(ascii: ";")), text[mark...].lowercased().hasPrefix(";type=") {
            let letter = text[mark...].dropFirst(";type=".count).lowercased()
            guard letter == "a" || letter == "i" || letter == "d" else {
                throw .badURL("its type is neither a, i nor d.")
            }
            type = letter.first
            text = String(text[..<mark])
        }
        isDirectory = text.isEmpty || text.hasSuffix("/") || type == "d"
        var path = try Self.decoded(text, "path")
        if path.count > 1, path.last == UInt8(ascii: "/") { path.removeLast() }
        if text.lowercased() == "%2f" { isDirectory = true }
        self.path = path
    }

    /// The text without percent-encoding.
    ///
    /// - Throws: ``FTPError/Code/badURL`` for bytes that could turn one command into two.
    private static func decoded(_ text: String, _ part: String) throws(FTPError) -> [UInt8] {
        guard let bytes = PercentEscapes.decode(text.utf8) else {
            throw .badURL("its \(part) has an invalid % escape.")
        }
        guard !bytes.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) else {
            throw .badURL("its \(part) contains a line end or NUL.")
        }
        return bytes
    }
}
