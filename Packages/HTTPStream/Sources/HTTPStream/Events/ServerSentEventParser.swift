public import StreamKit

/// A parser for the received bytes of a stream of server-sent events (WHATWG HTML §9.2.6).
///
/// The bytes may be appended in pieces of any size. An event is returned as soon as the empty line after it has arrived, and an
/// event without that line is dropped at the end, as the specification requires. Most programs use
/// `ReadStream.serverSentEvents(limit:lastEventID:)` instead.
///
/// ```swift
/// var parser = ServerSentEventParser()
/// parser.append(Array("id: 7\ndata: hello\n\n".utf8))
/// while let event = try parser.next() { print(event.id ?? "-", event.data) }   // 7 hello
/// ```
public struct ServerSentEventParser: Sendable {
    /// The maximum number of bytes of an identifier, which the client sends back when it reconnects. A longer one is ignored, as
    /// one with a control character is, which no field can carry: the identifier before it then stays.
    static let maximumIDLength = 8192

    /// The maximum number of bytes of an event that is being received; a longer one is an error.
    public let maximumEventLength: Int

    /// The identifier for `Last-Event-ID` when the client reconnects; empty for none.
    public private(set) var lastEventID: String

    /// The time after which the client should reconnect, as the server has sent it; nil if it has not.
    public private(set) var reconnectionTime: Duration?

    private var buffer: [UInt8] = []
    private var position = 0
    /// The beginning of a line whose end has not arrived.
    private var line: [UInt8] = []
    /// Whether the line ended with CR: an LF that follows belongs to it, although it may arrive much later.
    private var isAfterReturn = false
    private var isFirstLine = true
    private var hasFailed = false

    /// The number of bytes that are kept, for tests.
    var keptCount: Int { buffer.count + line.count + data.count }

    // The event that is being received.
    private var data: [UInt8] = []
    private var hasData = false
    private var type = ""
    private var id: String
    private var retry: Duration?

    /// Makes a parser.
    ///
    /// - Parameters:
    ///   - maximumEventLength: The maximum number of bytes of an event.
    ///   - lastEventID: The identifier with which the client has reconnected.
    public init(maximumEventLength: Int = 1 << 20, lastEventID: String? = nil) {
        self.maximumEventLength = maximumEventLength
        self.lastEventID = lastEventID ?? ""
        id = lastEventID ?? ""
    }

    /// Appends received bytes, which ``next()`` parses. After its error they are dropped.
    public mutating func append(_ bytes: some Collection<UInt8>) {
        if hasFailed { return }
        if position == buffer.count {
            buffer.removeAll(keepingCapacity: true)
        } else {
            buffer.removeFirst(position)
        }
        position = 0
        buffer += bytes
    }

    /// Returns the next event; nil if more bytes are needed.
    ///
    /// - Throws: `EMSGSIZE` for an event beyond ``maximumEventLength``; every further call then throws it as well.
    public mutating func next() throws(StreamError) -> ServerSentEvent? {
        if hasFailed { throw .eventTooLong(maximumEventLength) }
        while position < buffer.count {
            if isAfterReturn {
                isAfterReturn = false
                if buffer[position] == UInt8(ascii: "\n") {
                    position += 1
                    continue
                }
            }
            let end = buffer[position...].firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            guard line.count + data.count + (end ?? buffer.count) - position <= maximumEventLength else {
                hasFailed = true
                (buffer, line, data, position) = ([], [], [], 0)
                throw .eventTooLong(maximumEventLength)
            }
            line += buffer[position..<(end ?? buffer.count)]
            position = end.map { $0 + 1 } ?? buffer.count
            guard let end else { return nil }
            isAfterReturn = buffer[end] == UInt8(ascii: "\r")
            if let event = endLine() { return event }
        }
        return nil
    }

    /// Processes the line; returns the event if it is the empty line after one.
    private mutating func endLine() -> ServerSentEvent? {
        defer { line.removeAll(keepingCapacity: true) }
        var text = line[...]
        if isFirstLine {
            isFirstLine = false
            // A byte order mark may precede the stream.
            if text.starts(with: [0xef, 0xbb, 0xbf]) { text = text.dropFirst(3) }
        }
        if text.isEmpty { return dispatch() }
        let colon = text.firstIndex(of: UInt8(ascii: ":"))
        if colon == text.startIndex { return nil }  // a comment
        var value = colon.map { text[($0 + 1)...] } ?? []
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: text[..<(colon ?? text.endIndex)], as: UTF8.self) {
        case "data":
            if hasData { data.append(UInt8(ascii: "\n")) }
            data += value
            hasData = true
        case "event": type = String(decoding: value, as: UTF8.self)
        case "id": if ServerSentEventParser.canBeSentBack(value) { id = String(decoding: value, as: UTF8.self) }
        case "retry":
            guard !value.isEmpty, value.allSatisfy({ (0x30...0x39).contains($0) }) else { break }
            // A number beyond 64 bits is a time that never comes.
            retry = .milliseconds(Int64(String(decoding: value, as: UTF8.self)) ?? .max)
            reconnectionTime = retry
        default: break  // Other fields are ignored, for later versions of the format.
        }
        return nil
    }

    /// Whether `Last-Event-ID` can carry an identifier. The specification ignores those with a NUL.
    private static func canBeSentBack(_ id: ArraySlice<UInt8>) -> Bool {
        id.count <= maximumIDLength && id.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == UInt8(ascii: "\t") }
    }

    /// Ends an event. Without data there is none, but its identifier is kept.
    private mutating func dispatch() -> ServerSentEvent? {
        lastEventID = id
        defer {
            data = []
            hasData = false
            type = ""
        }
        guard hasData else { return nil }
        defer { retry = nil }
        return ServerSentEvent(
            String(decoding: data, as: UTF8.self), event: type.isEmpty ? nil : type, id: id.isEmpty ? nil : id,
            retry: retry)
    }
}

extension StreamError {
    fileprivate static func eventTooLong(_ limit: Int) -> StreamError {
        StreamError(
            posix: 90,  // EMSGSIZE
            Sentence("events.tooLong", "The server has sent an event of more than %1 bytes.", "\(limit)"))
    }
}
