public import FoundationEssentials
public import StreamKit

/// One event of a stream of server-sent events (`text/event-stream`, WHATWG HTML §9.2).
///
/// A client receives events by `ReadStream.serverSentEvents(limit:lastEventID:)`; the product HTTPServerKit sends them.
public struct ServerSentEvent: Sendable, Hashable {
    /// The text; it may have several lines.
    public var data: String

    /// The type, which `addEventListener` of a browser names; nil for `message`.
    public var event: String?

    /// The identifier, which a client that reconnects sends in `Last-Event-ID`.
    ///
    /// In a received event, this is the last identifier that the server has sent, with this event or an earlier one.
    public var id: String?

    /// The time after which a client that was disconnected reconnects; nil for the client's own.
    ///
    /// In a received event, this is the time that the server has sent since the event before.
    public var retry: Duration?

    /// Makes an event.
    public init(_ data: String, event: String? = nil, id: String? = nil, retry: Duration? = nil) {
        self.data = data
        self.event = event
        self.id = id
        self.retry = retry
    }

    /// Makes an event with a value in JSON.
    ///
    /// ```swift
    /// try await events.send(ServerSentEvent(json: note, event: "note", id: "\(note.id)"))
    /// ```
    ///
    /// - Throws: `EncodingError`.
    public init(
        json value: some Encodable, event: String? = nil, id: String? = nil, retry: Duration? = nil,
        encoder: JSONEncoder = JSONEncoder()
    ) throws {
        self.init(String(decoding: try encoder.encode(value), as: UTF8.self), event: event, id: id, retry: retry)
    }

    /// Decodes ``data`` as JSON.
    ///
    /// ```swift
    /// let note = try event.decode(Note.self)
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - decoder: The decoder.
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, with decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: Data(data.utf8))
    }

    /// Returns the event as it is sent, including the empty line that ends it.
    ///
    /// Each line of ``data``, whether it ends in LF, CR or CR LF, becomes a `data:` line, so that no text can begin another field.
    ///
    /// - Throws: `EINVAL` for a type or an identifier with a line ending or NUL.
    public func serialized() throws(StreamError) -> [UInt8] {
        var text = ""
        for (name, value) in [("event", event), ("id", id)] {
            guard let value else { continue }
            guard !value.unicodeScalars.contains(where: { ["\r", "\n", "\0"].contains($0) }) else {
                throw StreamError(
                    posix: 22,  // EINVAL
                    Sentence("kit.event", "The %1 of an event must not contain line endings or NUL.", name))
            }
            text += "\(name): \(value)\n"
        }
        if let retry {
            let (seconds, fraction) = retry.components
            text +=
                "retry: \(max(0, seconds.multipliedReportingOverflow(by: 1000).partialValue + fraction / 1_000_000_000_000_000))\n"
        }
        for line in ServerSentEvent.lines(data) { text += "data: \(line)\n" }
        return Array((text + "\n").utf8)
    }

    private static func lines(_ text: String) -> [String] {
        var lines = [""]
        var afterReturn = false
        for scalar in text.unicodeScalars {
            if scalar == "\n", afterReturn {
                afterReturn = false
                continue
            }
            afterReturn = scalar == "\r"
            if scalar == "\n" || scalar == "\r" {
                lines.append("")
            } else {
                lines[lines.count - 1].unicodeScalars.append(scalar)
            }
        }
        return lines
    }
}
