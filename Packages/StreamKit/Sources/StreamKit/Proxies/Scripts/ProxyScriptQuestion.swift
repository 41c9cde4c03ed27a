internal import FoundationEssentials
internal import HostResolver

/// The URL and host that a script is asked about, in letters that cannot be taken for a part of the script.
///
/// As in browsers, the script learns nothing of a URL that a proxy would not see: no user, password or fragment, and
/// for `https`, `ftps` and other schemes no path either, only host and port.
struct ProxyScriptQuestion: Equatable {
    /// A longer URL is sent without path and query.
    static let longestURL = 2048

    let url: String
    let host: String

    /// Returns nil for a URL without a valid host.
    init?(_ url: URL) {
        guard let scheme = url.scheme?.lowercased(), let text = url.host(percentEncoded: false),
            scheme.utf8.allSatisfy({ Self.isPlain($0) })
        else { return nil }
        let name: HostName
        do throws(ResolverError) {
            name = try HostName(text)
        } catch {
            return nil
        }
        let host = name.ascii
        guard !host.isEmpty, host.utf8.allSatisfy({ Self.isPlain($0) || $0 == UInt8(ascii: ":") }) else { return nil }
        let authority = (host.contains(":") ? "[\(host)]" : host) + (url.port.map { ":\($0)" } ?? "")
        var full = "\(scheme)://\(authority)"
        if scheme == "http" || scheme == "ftp" {
            let path = url.path(percentEncoded: true)
            full += path.isEmpty ? "/" : path
            if let query = url.query(percentEncoded: true) { full += "?\(query)" }
            full = Self.escaped(full)
        } else {
            full += "/"
        }
        self.host = host
        self.url = full.utf8.count <= Self.longestURL ? full : "\(scheme)://\(authority)/"
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: "+"):
            true
        default: false
        }
    }

    /// Percent-encodes all characters that could end or continue a JavaScript string.
    private static func escaped(_ text: String) -> String {
        let allowed = Set("/:?#[]@!$&()*+,;=%~.-_".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if isPlain(byte) || allowed.contains(byte) {
                bytes.append(byte)
            } else {
                let digits = Array("0123456789ABCDEF".utf8)
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
