internal import HPACK

/// The header of a frame (RFC 9113 §4.1): nine bytes.
///
///     +-----------------------------------------------+
///     |                 Length (24)                   |
///     +---------------+---------------+---------------+
///     |   Type (8)    |   Flags (8)   |
///     +-+-------------+---------------+-------------------------------+
///     |R|                 Stream Identifier (31)                      |
///     +=+=============================================================+
struct FrameHeader: Hashable, Sendable, BitwiseCopyable {
    /// The number of bytes of a frame's header.
    static let size = 9

    /// The number of bytes that follow the header.
    var length: Int
    var kind: FrameKind
    var flags: FrameFlags
    var stream: StreamID

    init(_ kind: FrameKind, flags: FrameFlags = [], on stream: StreamID, length: Int) {
        self.kind = kind
        self.flags = flags
        self.stream = stream
        self.length = length
    }

    /// Reads the header at the front of `bytes`, which contain at least ``size`` bytes.
    init(_ bytes: RawSpan) {
        length = Int(bytes.byte(at: 0)) << 16 | Int(bytes.byte(at: 1)) << 8 | Int(bytes.byte(at: 2))
        kind = FrameKind(rawValue: bytes.byte(at: 3))
        flags = FrameFlags(rawValue: bytes.byte(at: 4))
        stream = StreamID(bytes.bigEndian32(at: 5))
    }

    /// Whether the frame ends its stream. Only DATA and HEADERS have this flag.
    var endsStream: Bool { flags.contains(.endStream) }

    /// Whether the frame ends its header block.
    var endsHeaders: Bool { flags.contains(.endHeaders) }
}

/// The type of a frame (RFC 9113 §6, RFC 9218 §7.1).
struct FrameKind: RawRepresentable, Hashable, Sendable, BitwiseCopyable {
    let rawValue: UInt8

    static let data = FrameKind(rawValue: 0x00)
    static let headers = FrameKind(rawValue: 0x01)
    static let priority = FrameKind(rawValue: 0x02)
    static let resetStream = FrameKind(rawValue: 0x03)
    static let settings = FrameKind(rawValue: 0x04)
    static let pushPromise = FrameKind(rawValue: 0x05)
    static let ping = FrameKind(rawValue: 0x06)
    static let goAway = FrameKind(rawValue: 0x07)
    static let windowUpdate = FrameKind(rawValue: 0x08)
    static let continuation = FrameKind(rawValue: 0x09)
    static let priorityUpdate = FrameKind(rawValue: 0x10)
}

extension FrameKind {
    /// The section that defines frames of this type.
    var section: String {
        switch self {
        case .priorityUpdate: "RFC 9218 §7.1"
        case _ where rawValue <= FrameKind.continuation.rawValue: "RFC 9113 §6.\(rawValue + 1)"
        default: "RFC 9113 §5.5"
        }
    }
}

extension FrameKind: CustomStringConvertible {
    /// The name of RFC 9113 §6, or the number of an unknown type.
    var description: String {
        switch self {
        case .data: "DATA"
        case .headers: "HEADERS"
        case .priority: "PRIORITY"
        case .resetStream: "RST_STREAM"
        case .settings: "SETTINGS"
        case .pushPromise: "PUSH_PROMISE"
        case .ping: "PING"
        case .goAway: "GOAWAY"
        case .windowUpdate: "WINDOW_UPDATE"
        case .continuation: "CONTINUATION"
        case .priorityUpdate: "PRIORITY_UPDATE"
        default: "frame of type \(rawValue)"
        }
    }
}

/// The flags of a frame. Their meaning depends on the type; undefined flags are ignored (RFC 9113 §4.1).
struct FrameFlags: OptionSet, Hashable, Sendable, BitwiseCopyable {
    let rawValue: UInt8

    /// DATA, HEADERS: the last frame of the message.
    static let endStream = FrameFlags(rawValue: 0x01)
    /// SETTINGS, PING: an acknowledgment.
    static let acknowledgment = FrameFlags(rawValue: 0x01)
    /// HEADERS, PUSH_PROMISE, CONTINUATION: the end of the header block.
    static let endHeaders = FrameFlags(rawValue: 0x04)
    /// DATA, HEADERS, PUSH_PROMISE: the payload begins with the length of the padding at its end.
    static let padded = FrameFlags(rawValue: 0x08)
    /// HEADERS: the deprecated priority fields of RFC 7540 precede the block.
    static let priority = FrameFlags(rawValue: 0x20)
}

extension RawSpan {
    /// The number in the four bytes from an offset.
    func bigEndian32(at offset: Int) -> UInt32 {
        UInt32(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// The number in the eight bytes from an offset.
    func bigEndian64(at offset: Int) -> UInt64 {
        UInt64(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}
