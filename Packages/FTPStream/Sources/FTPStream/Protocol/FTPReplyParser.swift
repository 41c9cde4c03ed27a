/// A parser for the replies on a control connection (RFC 959 §4.2).
///
/// A reply of several lines begins with `123-` and ends with the first line that begins with `123 `; lines with another code, or
/// without one, are text. A line may also end with LF alone, which old servers send, and an empty line between replies is skipped.
///
/// ```swift
/// var parser = FTPReplyParser()
/// var used = 0
/// while let reply = try parser.parse(received, used: &used) {
///     print(reply)                       // 220 Hello.
///     received = received.dropFirst(used)
/// }
/// ```
///
/// The parser does no I/O. Streams and clients use it; it is public for programs that read a recorded dialogue or implement FTP
/// in another way.
public struct FTPReplyParser: Sendable {
    /// The longest line, in bytes.
    public static let maximumLineLength = 8 * 1024
    /// The longest reply of several lines, in bytes. Replies to FEAT and banners are much shorter.
    public static let maximumReplyLength = 64 * 1024

    /// The most lines of a reply.
    static let maximumLineCount = 1024

    private var line: [UInt8] = []
    private var lines: [[UInt8]] = []
    private var size = 0
    private var code: Int?

    /// Whether the parser is between replies.
    public var isEmpty: Bool { line.isEmpty && code == nil }

    /// Creates a parser that expects the first line of a reply.
    public init() {}

    /// Parses bytes up to the end of a reply.
    ///
    /// - Parameters:
    ///   - bytes: the received bytes, from the first that was not used yet.
    ///   - count: set to the number of bytes that were used.
    /// - Returns: The reply; nil if more bytes are needed.
    /// - Throws: ``FTPError/Code/notAReply``, ``FTPError/Code/replyTooLong``. The dialogue cannot be continued then.
    public mutating func parse(_ bytes: ArraySlice<UInt8>, used count: inout Int) throws(FTPError) -> FTPReply? {
        count = 0
        for byte in bytes {
            count += 1
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                guard line.count <= Self.maximumLineLength else { throw .replyTooLong(Self.maximumLineLength) }
                continue
            }
            while line.last == UInt8(ascii: "\r") { line.removeLast() }
            size += line.count + 1
            guard size <= Self.maximumReplyLength else { throw .replyTooLong(Self.maximumReplyLength) }
            guard lines.count < Self.maximumLineCount else { throw .tooManyLines(Self.maximumLineCount) }
            if let reply = try takeLine() { return reply }
        }
        return nil
    }

    private mutating func takeLine() throws(FTPError) -> FTPReply? {
        defer { line = [] }  // not removeAll(keepingCapacity:): each stored line would have the capacity of the longest
        let number = Self.code(line)
        let mark = line.count > 3 ? line[3] : UInt8(ascii: " ")
        guard let code else {
            if line.isEmpty { return nil }
            guard let number, mark == UInt8(ascii: " ") || mark == UInt8(ascii: "-") else { throw .notAReply(line) }
            lines = [Array(line.dropFirst(4))]
            if mark == UInt8(ascii: " ") { return finish(number) }
            code = number
            return nil
        }
        guard number == code, mark == UInt8(ascii: " ") || mark == UInt8(ascii: "-") else {
            lines.append(line)
            return nil
        }
        lines.append(Array(line.dropFirst(4)))
        return mark == UInt8(ascii: " ") ? finish(code) : nil
    }

    private mutating func finish(_ code: Int) -> FTPReply {
        defer {
            lines = []
            size = 0
            self.code = nil
        }
        return FTPReply(code: code, lines: lines)
    }

    private static func code(_ line: [UInt8]) -> Int? {
        guard line.count >= 3, (0x31...0x35).contains(line[0]), (0x30...0x39).contains(line[1]),
            (0x30...0x39).contains(line[2])
        else { return nil }
        return Int(line[0] - 0x30) * 100 + Int(line[1] - 0x30) * 10 + Int(line[2] - 0x30)
    }
}
