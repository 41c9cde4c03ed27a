/// What a server answered to a command (RFC 959 §4.2).
public struct FTPReply: Sendable, Hashable, CustomStringConvertible {
    /// The three digits: 100 to 599.
    public let code: Int

    /// The text of each line as it came, without code and line end.
    public let lines: [[UInt8]]

    /// Makes a reply, for tests of your own.
    public init(code: Int, lines: [[UInt8]]) {
        self.code = code
        self.lines = lines
    }

    /// The lines as text, UTF-8 or else Latin-1.
    public var text: String {
        lines.map { ListingEntry(nameBytes: $0).name }.joined(separator: "\n")
    }

    /// 1xx: something else follows.
    public var isPreliminary: Bool { code < 200 }
    /// 2xx: done.
    public var isPositive: Bool { (200..<300).contains(code) }
    /// 3xx: the next command of a sequence is wanted.
    public var isIntermediate: Bool { (300..<400).contains(code) }
    /// 4xx, 5xx: refused, for now or for good.
    public var isNegative: Bool { code >= 400 }

    /// The port that the answer to EPSV names (RFC 2428 §3); nil if it names none.
    public var extendedPassivePort: UInt16? { PassiveReply.extendedPort(self) }
    /// The port that the answer to PASV names (RFC 959 §4.1.2), without the address, which nobody should believe; nil if none.
    public var passivePort: UInt16? { PassiveReply.port(self) }

    /// The code and the last line, such as `550 No such file.`: at most 512 bytes of it, without control and format characters, such as
    /// terminal commands and changes of text direction.
    public var description: String {
        let text = lastLine(upTo: FTPReply.shownLimit).lines.last.map { FTPReply.shownText(of: $0) } ?? ""
        return text.isEmpty ? "\(code)" : "\(code) \(text)"
    }

    /// The most bytes of a line in a description or a report. Each refusal makes an error with a description, so a server could
    /// otherwise make the client spend its time on long ones.
    static let shownLimit = 512

    /// Bytes of a server as text that is safe to print.
    static func shownText(of bytes: [UInt8]) -> String {
        if bytes.allSatisfy({ (0x20..<0x7F).contains($0) }) { return String(decoding: bytes, as: UTF8.self) }
        var text = ""
        for scalar in ListingEntry(nameBytes: bytes).name.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: break
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    /// The reply with its last line only, of which at most `limit` bytes, and no part of a UTF-8 sequence, remain.
    func lastLine(upTo limit: Int) -> FTPReply {
        guard let line = lines.last else { return self }
        guard line.count > limit else { return FTPReply(code: code, lines: [line]) }
        var end = limit
        while end > max(0, limit - 3), line[end] & 0xC0 == 0x80 { end -= 1 }
        return FTPReply(code: code, lines: [Array(line[..<end])])
    }
}
