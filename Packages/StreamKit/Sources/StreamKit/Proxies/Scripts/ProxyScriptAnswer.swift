internal import HostResolver

/// The parsed answer of a proxy auto-configuration script: `PROXY a:1; SOCKS5 b:2; DIRECT`.
///
/// | entry | meaning |
/// |---|---|
/// | `DIRECT` | no proxy |
/// | `PROXY host:port`, `HTTP host:port` | an HTTP proxy; default port 80 |
/// | `HTTPS host:port` | an HTTP proxy reached through TLS; default port 443 |
/// | `SOCKS host:port`, `SOCKS5 host:port` | SOCKS 5 with names sent to the proxy; default port 1080 |
/// | `SOCKS4 host:port` | SOCKS 4; default port 1080 |
///
/// As in browsers, letter case is ignored, a blank answer means `DIRECT`, and an entry of an unknown kind is skipped.
/// An answer with only such entries is an error, where browsers connect directly.
struct ProxyScriptAnswer {
    /// The maximum number of entries.
    static let mostEntries = 64

    let choices: [ProxyChoice]

    init(_ text: String) throws(StreamError) {
        var choices: [ProxyChoice] = []
        var unknown: String?
        var isEmpty = true
        for (index, part) in text.split(separator: ";").enumerated() {
            guard index < ProxyScriptAnswer.mostEntries else {
                throw .script(.scriptAnswerTooMany(ProxyScriptAnswer.mostEntries))
            }
            let words = part.split { $0 == " " || $0 == "\t" || $0.isNewline }
            guard let kind = words.first else { continue }
            isEmpty = false
            if let choice = ProxyScriptAnswer.choice(kind, words.dropFirst()) {
                if !choices.contains(choice) { choices.append(choice) }
            } else if unknown == nil {
                unknown = words.joined(separator: " ")
            }
        }
        if isEmpty { choices = [.direct] }
        if choices.isEmpty { throw .script(.scriptAnswerUnknown(unknown ?? text)) }
        self.choices = choices
    }

    private static func choice(_ name: Substring, _ rest: ArraySlice<Substring>) -> ProxyChoice? {
        let kind: ProxyServer.Kind
        switch name.uppercased() {
        case "DIRECT": return rest.isEmpty ? .direct : nil
        case "PROXY", "HTTP": kind = .http
        case "HTTPS": kind = .https
        case "SOCKS", "SOCKS5": kind = .socks5h
        case "SOCKS4": kind = .socks4
        default: return nil
        }
        guard let hostAndPort = rest.first, rest.count == 1 else { return nil }
        // Users and paths are not allowed here, although ProxyServer's text may contain them.
        if hostAndPort.contains(where: { "@/?#".contains($0) }) { return nil }
        do throws(StreamError) {
            return .server(try ProxyServer("\(kind.rawValue)://\(hostAndPort)"))
        } catch {
            return nil
        }
    }
}
