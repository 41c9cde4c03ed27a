internal import FoundationEssentials
@_spi(Packages) internal import HostResolver

/// This process's side of the conversation with the process that runs a script: bytes go in, the next step comes out.
///
/// `CProxyScript.h` describes the frames.
struct ProxyScriptConversation {
    /// The next step.
    enum Step: Equatable {
        /// Read, then call ``receive(_:)`` with the bytes; no bytes mean the end.
        case receive
        /// Write these bytes.
        case send([UInt8])
        /// Look up a name that the script asks for, or this machine's own name if nil; then call ``found(_:)``.
        case lookUp(String?)
        /// The script has answered.
        case finish([ProxyChoice])
    }

    private static let headLength = 5

    private let request: [UInt8]
    private var received: [UInt8] = []
    /// The engine that the process has loaded, once it is ready.
    private var engine: ProxyScriptEngine?
    private var hasEnded = false
    private var names = 0
    private var wantsOwnName = false

    /// Makes a conversation about one question.
    init(_ script: String, _ question: ProxyScriptQuestion) {
        request = ProxyScriptConversation.frame(
            "Q", Array(question.url.utf8) + [0] + question.host.utf8 + [0] + script.utf8)
    }

    /// Processes bytes from the process. No bytes mean that it has closed its end.
    mutating func receive(_ bytes: some Collection<UInt8>) {
        received += bytes
        hasEnded = hasEnded || bytes.isEmpty
    }

    /// Returns the frame with the result of a lookup; empty if the name has no address.
    mutating func found(_ addresses: [IPAddress]) -> [UInt8] {
        // A script cannot use a zone, and only digits, dots and colons may enter its text.
        let isHarmless: (String) -> Bool = { $0.utf8.allSatisfy { ($0 | 0x20).isHexDigit || $0 == 0x2E || $0 == 0x3A } }
        var texts = addresses.map { "\($0)" }.filter(isHarmless)
        if texts.isEmpty, wantsOwnName { texts = ["127.0.0.1"] }
        return ProxyScriptConversation.frame("L", Array(texts.joined(separator: ";").utf8))
    }

    /// Returns the next step.
    ///
    /// - Throws: domain `http`, code 308, if the script cannot be run, failed, asked for too many names or returned an
    ///   invalid answer.
    mutating func next() throws(StreamError) -> Step {
        guard let (letter, text) = try takeFrame() else {
            if hasEnded { throw .script(engine == nil ? .scriptNotStarted : .scriptEndedEarly) }
            return .receive
        }
        guard let engine else {
            if letter == "M" { throw .script(.scriptsNeedEngine, reason: .scriptNotRunnable) }
            engine = ProxyScriptEngine.allCases.first { letter == "R" && $0.name == text }
            if engine == nil { throw .script(.scriptNotStarted) }
            return .send(request)
        }
        switch letter {
        case "N", "O":
            names += 1
            if names > ProxyScript.maximumNames { throw .script(.scriptNamesTooMany(ProxyScript.maximumNames)) }
            wantsOwnName = letter == "O"
            return .lookUp(wantsOwnName ? nil : text)
        case "A": return .finish(try ProxyScriptAnswer(text).choices)
        case "P" where engine == .pacparser:
            // An engine of today may be able to read it.
            throw .script(.scriptUnreadableByOldEngine(text), reason: .scriptNotRunnable)
        case "P": throw .script(.scriptUnreadable(text), reason: .scriptInvalid)
        default: throw .script(engine == .pacparser ? .scriptFailedInOldEngine(text) : .scriptFailed(text))
        }
    }

    /// Removes the next complete frame from the received bytes.
    private mutating func takeFrame() throws(StreamError) -> (letter: Unicode.Scalar, text: String)? {
        guard received.count >= ProxyScriptConversation.headLength else { return nil }
        let length = received[1..<5].reversed().reduce(0) { $0 << 8 | Int($1) }
        if length > ProxyScript.maximumAnswerLength {
            throw .script(.scriptAnswerTooLong(ProxyScript.maximumAnswerLength))
        }
        let end = ProxyScriptConversation.headLength + length
        guard received.count >= end else { return nil }
        let text = String(decoding: received[ProxyScriptConversation.headLength..<end], as: UTF8.self)
        let letter = Unicode.Scalar(received[0])
        received.removeFirst(end)
        return (letter, text)
    }

    /// A letter, the length of the text in four bytes, the text.
    static func frame(_ letter: Unicode.Scalar, _ text: [UInt8]) -> [UInt8] {
        let length = UInt32(clamping: text.count)
        return [UInt8(ascii: letter)] + (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + text
    }
}

extension UInt8 {
    /// Whether this is a digit, or a lower-case letter from a to f.
    fileprivate var isHexDigit: Bool { (0x30...0x39).contains(self) || (0x61...0x66).contains(self) }
}

/// The URL and host that a script is asked about, in letters that cannot be taken for a part of the script.
///
/// As in browsers, the script learns nothing of a URL that a proxy would not see: no user, password or fragment, and
/// for `https`, `ftps` and other schemes no path either, only host and port.
struct ProxyScriptQuestion: Equatable {
    /// A longer URL is sent without path and query.
    static let maximumURLLength = 2048

    let url: String
    let host: String

    init(url: String, host: String) { (self.url, self.host) = (url, host) }

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
        let authority = URLAuthority.bracketed(host) + (url.port.map { ":\($0)" } ?? "")
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
        self.url = full.utf8.count <= Self.maximumURLLength ? full : "\(scheme)://\(authority)/"
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
    static let maximumEntries = 64

    let choices: [ProxyChoice]

    init(_ text: String) throws(StreamError) {
        var choices: [ProxyChoice] = []
        var unknown: String?
        var isEmpty = true
        for (index, part) in text.unicodeScalars.split(separator: ";").enumerated() {
            guard index < ProxyScriptAnswer.maximumEntries else {
                throw .script(.scriptAnswerTooMany(ProxyScriptAnswer.maximumEntries))
            }
            let words = part.split { $0 == " " || ("\t"..."\r").contains($0) }.map { Substring($0) }
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
        if hostAndPort.utf8.contains(where: { "@/?#".utf8.contains($0) }) { return nil }
        do throws(StreamError) {
            return .server(try ProxyServer("\(kind.rawValue)://\(hostAndPort)"))
        } catch {
            return nil
        }
    }
}
