/// The reason for a RST_STREAM or GOAWAY frame (RFC 9113 §7).
///
/// Unknown codes are values like any other; they have the same effect as ``internalError``.
///
/// ```swift
/// ErrorCode.refusedStream.description  // "REFUSED_STREAM"
/// ErrorCode(rawValue: 99).description  // "error code 99"
/// ```
public struct ErrorCode: RawRepresentable, Hashable, Sendable, BitwiseCopyable {
    /// The number in the frame.
    public let rawValue: UInt32

    /// Creates a code from its number in a frame.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// NO_ERROR: a graceful end.
    public static let noError = ErrorCode(rawValue: 0x00)
    /// PROTOCOL_ERROR: a violation of the protocol without a code of its own.
    public static let protocolError = ErrorCode(rawValue: 0x01)
    /// INTERNAL_ERROR: the sender cannot go on.
    public static let internalError = ErrorCode(rawValue: 0x02)
    /// FLOW_CONTROL_ERROR: more data than the window allowed, or a window above 2^31 - 1.
    public static let flowControlError = ErrorCode(rawValue: 0x03)
    /// SETTINGS_TIMEOUT: settings were not acknowledged in time.
    public static let settingsTimeout = ErrorCode(rawValue: 0x04)
    /// STREAM_CLOSED: a frame on a stream that its sender had ended.
    public static let streamClosed = ErrorCode(rawValue: 0x05)
    /// FRAME_SIZE_ERROR: a frame whose length its type or the settings do not allow.
    public static let frameSizeError = ErrorCode(rawValue: 0x06)
    /// REFUSED_STREAM: the request was not processed and may be repeated (RFC 9113 §8.7).
    public static let refusedStream = ErrorCode(rawValue: 0x07)
    /// CANCEL: the stream is no longer needed.
    public static let cancel = ErrorCode(rawValue: 0x08)
    /// COMPRESSION_ERROR: a header block that cannot be decoded.
    public static let compressionError = ErrorCode(rawValue: 0x09)
    /// CONNECT_ERROR: the connection behind a CONNECT was reset (RFC 9113 §8.5).
    public static let connectError = ErrorCode(rawValue: 0x0A)
    /// ENHANCE_YOUR_CALM: the peer causes excessive load.
    public static let enhanceYourCalm = ErrorCode(rawValue: 0x0B)
    /// INADEQUATE_SECURITY: TLS does not meet the requirements of RFC 9113 §9.2.
    public static let inadequateSecurity = ErrorCode(rawValue: 0x0C)
    /// HTTP_1_1_REQUIRED: the request must be repeated over HTTP/1.1.
    public static let http11Required = ErrorCode(rawValue: 0x0D)
}

extension ErrorCode: CustomStringConvertible {
    /// The name of RFC 9113 §7, or the number of an unknown code.
    public var description: String {
        let names = [
            "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
            "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
        ]
        return rawValue < UInt32(names.count) ? names[Int(rawValue)] : "error code \(rawValue)"
    }
}
