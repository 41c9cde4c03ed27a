internal import Glibc
public import HTTPStream

/// A line for each request, in the formats that log analyzers read.
///
/// ```swift
/// var configuration = HTTPServer.Configuration()
/// configuration.onResponse = AccessLog(.combined) { line in print(line) }.record
/// ```
///
/// Control characters, quotes and backslashes of the client are escaped (`\x0a`), so that no request can write a line of its
/// own or confuse a terminal. Queries are omitted by default, because they may contain secrets. Requests that were refused before
/// a handler, such as malformed ones, have a line as well.
public struct AccessLog: Sendable {
    /// The format of a line.
    public enum Format: Sendable, Hashable {
        /// The Common Log Format: address, time, request line, status, length of the body.
        case common
        /// The Common Log Format, followed by `Referer` and `User-Agent`.
        case combined
    }

    /// The format.
    public let format: Format

    /// Whether the query of the request and of `Referer` is logged. Default false.
    public var includesQueries = false

    private let write: @Sendable (String) -> Void

    /// Makes a log.
    ///
    /// - Parameters:
    ///   - format: The format.
    ///   - write: Receives each line, without a line ending, on any thread; it should not wait.
    public init(_ format: Format = .common, _ write: @escaping @Sendable (String) -> Void) {
        self.format = format
        self.write = write
    }

    /// Writes the line of a response: the observer for `HTTPServer.Configuration.onResponse`.
    public func record(_ record: HTTPServer.Record) {
        write(line(record, at: HTTPDate(secondsSinceEpoch: Int64(Glibc.time(nil)))))
    }

    /// Returns the line of a response.
    func line(_ record: HTTPServer.Record, at now: HTTPDate) -> String {
        let request = record.request.map { request -> String in
            let parts = request.requestLine.utf8.split(separator: UInt8(ascii: " "), maxSplits: 2)
                .map { String(Substring($0)) }
            guard parts.count == 3 else { return AccessLog.escaped(request.requestLine) }
            return AccessLog.escaped("\(parts[0]) \(withoutQuery(parts[1])) \(parts[2])")
        }
        let length = record.bodyLength > 0 ? "\(record.bodyLength)" : "-"
        let status = record.status.map { "\($0.code)" } ?? "-"
        var line = "\(address(record)) - - [\(AccessLog.timestamp(now))] \"\(request ?? "-")\" \(status) \(length)"
        if format == .combined {
            let fields = record.request?.fields
            let referrer = fields?["Referer"].map { AccessLog.escaped(withoutQuery($0)) }
            line += " \"\(referrer ?? "-")\" \"\(fields?[.userAgent].map(AccessLog.escaped) ?? "-")\""
        }
        return line
    }

    private func address(_ record: HTTPServer.Record) -> String {
        record.remoteAddress?.ipAddress?.description ?? "-"
    }

    private func withoutQuery(_ text: String) -> String {
        // By bytes: in text, a `?` beside a combining mark is part of another character.
        includesQueries ? text : String(Substring(text.utf8.prefix { $0 != UInt8(ascii: "?") }))
    }

    /// `06/Nov/1994:08:49:37 +0000`, of the parts of `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func timestamp(_ date: HTTPDate) -> String {
        let parts = date.description.utf8.split(separator: UInt8(ascii: " ")).map { Substring($0) }
        return "\(parts[1])/\(parts[2])/\(parts[3]):\(parts[4]) +0000"
    }

    /// Escapes everything but printable ASCII, as well as `"` and `\`.
    static func escaped(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): result += "\\" + String(UnicodeScalar(byte))
            case 0x20...0x7e: result.unicodeScalars.append(UnicodeScalar(byte))
            default: result += "\\x" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16)
            }
        }
        return result
    }
}
