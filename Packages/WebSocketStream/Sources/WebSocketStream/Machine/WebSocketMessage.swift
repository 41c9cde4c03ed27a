public import FoundationEssentials

/// A message: text or bytes.
///
/// ```swift
/// try await socket.send(.text("hello"))
/// try await socket.send(.binary([1, 2, 3]))
/// ```
public enum WebSocketMessage: Hashable, Sendable {
    /// A text, which is sent as UTF-8.
    case text(String)
    /// Bytes.
    case binary([UInt8])

    /// The text; nil for a binary message.
    public var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// The bytes of the message: of a text, its UTF-8.
    public var bytes: [UInt8] {
        switch self {
        case .text(let text): Array(text.utf8)
        case .binary(let bytes): bytes
        }
    }

    /// Makes a text message of a value in JSON.
    ///
    /// ```swift
    /// try await socket.send(.json(Line(user: "ann", text: "hello")))
    /// ```
    ///
    /// - Throws: `EncodingError`.
    public static func json(
        _ value: some Encodable, with encoder: JSONEncoder = JSONEncoder()
    ) throws -> WebSocketMessage {
        .text(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// Decodes the message, of either kind, as JSON.
    ///
    /// ```swift
    /// for try await message in socket.messages { print(try message.decode(Line.self).text) }
    /// ```
    ///
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, with decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: Data(bytes))
    }

    /// The number of ``bytes``.
    var count: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let bytes): bytes.count
        }
    }
}

/// The reason for which a connection is closed, as a number (RFC 6455 §7.4).
public struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable {
    /// The number.
    public let rawValue: UInt16

    /// Makes a code with any number, including those that a Close frame must not contain.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// 1000: the purpose of the connection is fulfilled.
    public static let normalClosure = WebSocketCloseCode(rawValue: 1000)
    /// 1001: the server shuts down, or the user has left the page.
    public static let goingAway = WebSocketCloseCode(rawValue: 1001)
    /// 1002: a frame violates the protocol.
    public static let protocolError = WebSocketCloseCode(rawValue: 1002)
    /// 1003: the type of a message, such as binary, is not accepted.
    public static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
    /// 1005, never sent: the Close frame contained no code.
    public static let noStatusReceived = WebSocketCloseCode(rawValue: 1005)
    /// 1006, never sent: the connection was lost without a Close frame.
    public static let abnormalClosure = WebSocketCloseCode(rawValue: 1006)
    /// 1007: the contents of a message are invalid, such as text that is not UTF-8.
    public static let invalidPayload = WebSocketCloseCode(rawValue: 1007)
    /// 1008: a message violates a policy.
    public static let policyViolation = WebSocketCloseCode(rawValue: 1008)
    /// 1009: a message is too long.
    public static let messageTooBig = WebSocketCloseCode(rawValue: 1009)
    /// 1010: the server did not accept an extension that the client requires.
    public static let missingExtension = WebSocketCloseCode(rawValue: 1010)
    /// 1011: the server failed unexpectedly.
    public static let internalError = WebSocketCloseCode(rawValue: 1011)
    /// 1012: the server restarts.
    public static let serviceRestart = WebSocketCloseCode(rawValue: 1012)
    /// 1013: the server is overloaded; the client should connect later.
    public static let tryAgainLater = WebSocketCloseCode(rawValue: 1013)
    /// 1014: a gateway received an invalid response.
    public static let badGateway = WebSocketCloseCode(rawValue: 1014)

    /// Whether a Close frame may contain the code: a registered one, or one from 3000 to 4999 (RFC 6455 §7.4.2).
    var isSendable: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}

extension WebSocketCloseCode: CustomStringConvertible {
    /// The number.
    public var description: String { "\(rawValue)" }
}

/// The contents of a Close frame.
public struct WebSocketClosure: Hashable, Sendable {
    /// The code; ``WebSocketCloseCode/noStatusReceived`` if the frame contained none.
    public let code: WebSocketCloseCode
    /// The reason as text, at most 123 bytes; often empty.
    public let reason: String

    /// Makes the contents of a Close frame.
    public init(code: WebSocketCloseCode, reason: String = "") {
        self.code = code
        self.reason = reason
    }

    /// The longest reason in bytes.
    static let maximumReasonLength = WebSocketFrame.maximumControlPayloadLength - 2

    /// Parses the payload of a Close frame (RFC 6455 §5.5.1).
    init(payload: [UInt8]) throws(WebSocketError) {
        guard !payload.isEmpty else {
            self.init(code: .noStatusReceived)
            return
        }
        guard payload.count >= 2 else { throw .protocolError("a Close frame has one byte") }
        let code = WebSocketCloseCode(rawValue: UInt16(payload[0]) << 8 | UInt16(payload[1]))
        guard code.isSendable else { throw .protocolError("a Close frame has the invalid code \(code)") }
        var validator = UTF8Validator()
        guard validator.check(payload, from: 2), validator.isComplete else {
            throw .invalidText("the reason of a Close frame")
        }
        self.init(code: code, reason: String(decoding: payload[2...], as: UTF8.self))
    }

    /// The payload of a Close frame with these contents.
    var payload: [UInt8] {
        guard code != .noStatusReceived else { return [] }
        return [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)] + Array(reason.utf8)
    }
}
