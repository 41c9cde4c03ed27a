/// Cuts the bytes of a control connection into replies (RFC 959 §4.2).
///
/// A reply of many lines begins with `123-` and ends with the first line that begins with `123 `; what begins with another
/// code, or with none, is text. LF alone ends a line, too: old servers send it.
///
/// ```swift
/// var parser = FTPReplyParser()
/// var used = 0
/// while let reply = try parser.parse(bytes, used: &used) {
///     print(reply)                       // 220 Hello.
///     bytes = bytes.dropFirst(used)
/// }
/// ```
///
/// No I/O. Streams and clients use it; it is here for who reads a recorded dialogue, or speaks FTP in another way.
public struct FTPReplyParser: Sendable {
    /// The longest line, in bytes.
    public static let lineLimit = 8 * 1024
    /// The longest reply of many lines, in bytes. What FEAT and banners need is far less.
    public static let replyLimit = 64 * 1024

    /// The most lines of a reply.
    public static let lineCountLimit = 1024

    private var line: [UInt8] = []
    private var lines: [[UInt8]] = []
    private var size = 0
    private var code: Int?

    /// True between replies: nothing is begun.
    public var isEmpty: Bool { line.isEmpty && code == nil }

    /// A parser at the beginning of a reply.
    public init() {}

    /// Takes bytes up to the end of a reply.
    ///
    /// - Parameters:
    ///   - bytes: what has come, from the first byte that was not used yet.
    ///   - count: how many of them were used.
    /// - Returns: the reply; nil if more bytes are needed.
    /// - Throws: ``FTPError/Code/notAReply``, ``FTPError/Code/replyTooLong``; the dialogue is then out of step for good.
    public mutating func parse(_ bytes: ArraySlice<UInt8>, used count: inout Int) throws(FTPError) -> FTPReply? {
        count = 0
        for byte in bytes {
            count += 1
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                guard line.count <= Self.lineLimit else { throw .replyTooLong(Self.lineLimit) }
                continue
            }
            while line.last == UInt8(ascii: "\r") { line.removeLast() }
            size += line.count + 1
            guard size <= Self.replyLimit else { throw .replyTooLong(Self.replyLimit) }
            guard lines.count < Self.lineCountLimit else { throw .tooManyLines(Self.lineCountLimit) }
            if let reply = try takeLine() { return reply }
        }
        return nil
    }

    private mutating func takeLine() throws(FTPError) -> FTPReply? {
        defer { line = [] }  // a line that is kept would otherwise pass the capacity of the longest to all others
        let number = Self.code(line)
        let mark = line.count > 3 ? line[3] : UInt8(ascii: " ")
        guard let code else {
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
