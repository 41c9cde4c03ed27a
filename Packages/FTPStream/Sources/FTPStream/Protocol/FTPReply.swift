/// A server's reply to a command (RFC 959 §4.2).
public struct FTPReply: Sendable, Hashable, CustomStringConvertible {
    /// The three digits: 100 to 599.
    public let code: Int

    /// The text of each line as received, without the code and the line end.
    public let lines: [[UInt8]]

    /// Creates a reply, for example in a test.
    @_spi(Packages) public init(code: Int, lines: [[UInt8]]) {
        self.code = code
        self.lines = lines
    }

    /// The lines as text: UTF-8, otherwise Latin-1.
    public var text: String {
        lines.map { ListingEntry(nameBytes: $0).name }.joined(separator: "\n")
    }

    /// Whether another reply follows (1xx).
    var isPreliminary: Bool { code < 200 }
    /// Whether the command succeeded (2xx).
    public var isPositive: Bool { (200..<300).contains(code) }
    /// Whether the server expects the next command of a sequence (3xx).
    var isIntermediate: Bool { (300..<400).contains(code) }
    /// Whether the server refused the command, temporarily (4xx) or permanently (5xx).
    public var isNegative: Bool { code >= 400 }

    /// The code and the last line, such as `550 No such file.`
    ///
    /// At most 512 bytes of the line are shown, without control and format characters, such as terminal commands and changes of
    /// text direction.
    public var description: String {
        let text = lastLine(upTo: FTPReply.maximumShownLength).lines.last.map { ListingEntry.shownText(of: $0) } ?? ""
        return text.isEmpty ? "\(code)" : "\(code) \(text)"
    }

    /// The most bytes of a line in a description or a report. Each refusal creates an error with a description, so without a
    /// limit a server could make the client spend its time on long lines.
    static let maximumShownLength = 512

    /// The reply with only its last line, cut to at most `limit` bytes, and not within a UTF-8 sequence.
    func lastLine(upTo limit: Int) -> FTPReply {
        guard let line = lines.last else { return self }
        return FTPReply(code: code, lines: [ListingEntry.prefix(of: line, upTo: limit)])
    }
}

// MARK: - Contents

extension FTPReply {
    /// The port in a reply to EPSV (RFC 2428 §3), such as `(|||6446|)` with any delimiter; nil if there is no valid one.
    ///
    /// Some servers pad the port with blanks. Some omit the parentheses; the delimiter is then `|`.
    @_spi(Packages) public var extendedPassivePort: UInt16? {
        guard let line = lines.last else { return nil }
        let text: ArraySlice<UInt8>
        if let open = line.firstIndex(of: UInt8(ascii: "(")) {
            text = line[(open + 1)...].prefix { $0 != UInt8(ascii: ")") }
        } else {
            let bar = UInt8(ascii: "|")
            guard let first = line.firstIndex(of: bar), let last = line.lastIndex(of: bar) else { return nil }
            text = line[first...last]
        }
        guard let delimiter = text.first, (33...126).contains(delimiter), !(0x30...0x39).contains(delimiter) else {
            return nil
        }
        let parts = text.split(separator: delimiter, omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[4].isEmpty else { return nil }
        return FTPReply.port(parts[3].trimmed)
    }

    /// The port in a reply to PASV (RFC 959 §4.1.2), the last two of six numbers; nil if there is no valid one.
    ///
    /// The address, the first four numbers, is ignored: a client that used it could be directed to any host (CVE-2020-8284).
    @_spi(Packages) public var passivePort: UInt16? {
        guard let line = lines.last else { return nil }
        // Some servers omit the parentheses, so the first run of six numbers counts.
        let isPart = { (byte: UInt8) in (0x30...0x39).contains(byte) || byte == UInt8(ascii: ",") || byte == 0x20 }
        for run in line.split(whereSeparator: { !isPart($0) }) {
            let parts = run.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
                .map { $0.filter { $0 != 0x20 } }
            guard parts.count == 6 else { continue }
            let numbers = parts.compactMap { $0.count <= 3 ? UInt8(String(decoding: $0, as: UTF8.self)) : nil }
            guard numbers.count == 6 else { continue }
            let port = UInt16(numbers[4]) << 8 | UInt16(numbers[5])
            return port == 0 ? nil : port
        }
        return nil
    }

    private static func port(_ digits: ArraySlice<UInt8>) -> UInt16? {
        guard digits.allSatisfy({ (0x30...0x39).contains($0) }), (1...5).contains(digits.count),
            let port = UInt16(String(decoding: digits, as: UTF8.self)), port > 0
        else { return nil }
        return port
    }

    /// The path in a reply to PWD (RFC 959 appendix II): in quotation marks, with each one in it doubled; nil if there is none.
    var quotedPath: [UInt8]? {
        let quote = UInt8(ascii: "\"")
        guard let line = lines.last, let start = line.firstIndex(of: quote) else { return nil }
        var path: [UInt8] = []
        var index = start + 1
        while index < line.count {
            if line[index] == quote {
                guard index + 1 < line.count, line[index + 1] == quote else { return path.isEmpty ? nil : path }
                index += 1
            }
            path.append(line[index])
            index += 1
        }
        return nil
    }
}

/// The features of a server beyond RFC 959, from its reply to FEAT (RFC 2389).
struct FTPFeatures: Sendable, Hashable {
    /// Whether the server supports MLSD and MLST.
    var hasFacts = false
    var hasUTF8 = false
    /// The argument of OPTS MLST (RFC 3659 §7.9); nil if the server sends all facts that the parser uses by default.
    private(set) var factsToRequest: [UInt8]?

    init() {}

    init(_ reply: FTPReply) {
        // The first and the last line are not features.
        for line in reply.lines.dropFirst().dropLast() {
            let words = line.split(separator: UInt8(ascii: " ")).map {
                String(decoding: $0, as: UTF8.self).uppercased()
            }
            switch words.first {
            case "MLST", "MLSD":
                hasFacts = true
                if words.count == 2 { noteFacts(words[1]) }
            case "UTF8": hasUTF8 = true
            default: break
            }
        }
    }

    private static let usedFacts: Set<Substring> = [
        "TYPE", "SIZE", "MODIFY", "PERM", "UNIX.MODE", "UNIX.OWNER", "UNIX.OWNERNAME", "UNIX.UID", "UNIX.GROUP",
        "UNIX.GROUPNAME", "UNIX.GID",
    ]

    /// Reads a list of facts, such as `type*;size*;unix.mode;`. Facts with an asterisk are sent by default.
    private mutating func noteFacts(_ list: String) {
        let facts = list.utf8.split(separator: UInt8(ascii: ";")).prefix(64).map { Substring($0) }
        let names = facts.map { $0.hasSuffix("*") ? $0.dropLast() : $0 }
        let isMissing = zip(facts, names).contains { !$0.hasSuffix("*") && Self.usedFacts.contains($1) }
        guard isMissing else { return }
        factsToRequest = names.filter(Self.usedFacts.contains)
            .flatMap { Array($0.lowercased().utf8) + [UInt8(ascii: ";")] }
    }
}
