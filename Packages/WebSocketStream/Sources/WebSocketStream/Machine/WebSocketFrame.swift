/// The header of a frame (RFC 6455 §5.2), and the bytes of frames.
///
/// The header's rules that depend on one frame alone are here; those that connect frames are in ``WebSocketMachine``.
struct WebSocketFrame: Equatable {
    /// The operation codes (RFC 6455 §11.8). All other numbers are reserved.
    enum Opcode: UInt8 {
        case continuation = 0x0
        case text = 0x1
        case binary = 0x2
        case close = 0x8
        case ping = 0x9
        case pong = 0xA

        var isControl: Bool { rawValue >= 0x8 }
    }

    /// The longest header: two bytes, eight of length, four of the masking key.
    static let maximumHeaderLength = 14

    /// The longest payload of a control frame (RFC 6455 §5.5).
    static let maximumControlPayloadLength = 125

    var opcode: Opcode
    /// Whether it is the last frame of its message.
    var isFinal: Bool
    /// The first reserved bit: the message is compressed (RFC 7692 §6).
    var isCompressed = false
    /// The masking key; nil for a frame of a server.
    var mask: WebSocketMask?
    var length: Int

    /// Parses the header at the front of `bytes`. Returns it and its length; nil if more bytes are needed.
    ///
    /// Each rule is checked as soon as the byte that it concerns has arrived.
    ///
    /// - Parameters:
    ///   - isMasked: whether the sender is a client, which masks all of its frames (RFC 6455 §5.1).
    ///   - permitsCompression: whether the first reserved bit has a meaning.
    ///   - limit: the longest payload of a frame.
    static func parse(
        _ bytes: RawSpan, isMasked: Bool, permitsCompression: Bool, limit: Int
    ) throws(WebSocketError) -> (frame: WebSocketFrame, count: Int)? {
        guard bytes.byteCount >= 1 else { return nil }
        let first = bytes[0]
        guard let opcode = Opcode(rawValue: first & 0x0F) else { throw .protocolError("the opcode is reserved") }
        if first & 0x30 != 0 { throw .protocolError("a reserved bit is set") }
        let isCompressed = first & 0x40 != 0
        if isCompressed, !permitsCompression || opcode.isControl || opcode == .continuation {
            throw .protocolError("the first reserved bit is set on a frame that cannot be compressed")
        }
        let isFinal = first & 0x80 != 0
        if opcode.isControl, !isFinal { throw .protocolError("a control frame is fragmented") }
        guard bytes.byteCount >= 2 else { return nil }
        let second = bytes[1]
        guard (second & 0x80 != 0) == isMasked else {
            throw .protocolError(isMasked ? "a client's frame is not masked" : "a server's frame is masked")
        }
        let short = Int(second & 0x7F)
        if opcode.isControl, short > maximumControlPayloadLength { throw .protocolError("a control frame is too long") }
        guard let (length, end) = try payloadLength(short, in: bytes) else { return nil }
        guard length <= UInt64(max(0, limit)) else { throw .tooLong("a frame of \(length) bytes", limit: limit) }
        var frame = WebSocketFrame(
            opcode: opcode, isFinal: isFinal, isCompressed: isCompressed, length: Int(length))
        guard isMasked else { return (frame, end) }
        guard bytes.byteCount >= end + 4 else { return nil }
        frame.mask = WebSocketMask(bytes[end], bytes[end + 1], bytes[end + 2], bytes[end + 3])
        return (frame, end + 4)
    }

    /// Returns the length of the payload and the number of bytes of the header up to there; nil if more bytes are needed.
    private static func payloadLength(
        _ short: Int, in bytes: RawSpan
    ) throws(WebSocketError) -> (length: UInt64, end: Int)? {
        switch short {
        case 126:
            guard bytes.byteCount >= 4 else { return nil }
            let length = UInt64(bytes[2]) << 8 | UInt64(bytes[3])
            if length < 126 { throw .protocolError("the length of a frame is not in its shortest form") }
            return (length, 4)
        case 127:
            guard bytes.byteCount >= 10 else { return nil }
            var length: UInt64 = 0
            for index in 2..<10 { length = length << 8 | UInt64(bytes[index]) }
            if length >> 63 != 0 { throw .protocolError("the length of a frame has 64 bits") }
            if length < 65536 { throw .protocolError("the length of a frame is not in its shortest form") }
            return (length, 10)
        default:
            return (UInt64(short), 2)
        }
    }

    /// Appends a frame with this header and a payload, masked if the header has a key.
    func write(_ payload: [UInt8], into output: inout [UInt8]) {
        output.reserveCapacity(output.count + WebSocketFrame.maximumHeaderLength + payload.count)
        output.append((isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode.rawValue)
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        switch payload.count {
        case ..<126: output.append(maskBit | UInt8(payload.count))
        case ..<65536:
            output.append(maskBit | 126)
            output.append(UInt8(payload.count >> 8))
            output.append(UInt8(payload.count & 0xFF))
        default:
            output.append(maskBit | 127)
            for shift in stride(from: 56, through: 0, by: -8) {
                output.append(UInt8(truncatingIfNeeded: payload.count >> shift))
            }
        }
        if let mask { mask.appendKey(to: &output) }
        let start = output.count
        output.append(contentsOf: payload)
        mask?.apply(to: &output, from: start, at: 0)
    }
}

extension RawSpan {
    /// The byte at an offset that the caller has checked.
    fileprivate subscript(_ offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }
}

/// The masking key of a frame (RFC 6455 §5.3).
struct WebSocketMask: Equatable, Sendable {
    /// The key, with its first byte lowest.
    private let key: UInt32

    init(_ first: UInt8, _ second: UInt8, _ third: UInt8, _ fourth: UInt8) {
        key = UInt32(first) | UInt32(second) << 8 | UInt32(third) << 16 | UInt32(fourth) << 24
    }

    init(_ key: UInt32) {
        self.key = key
    }

    fileprivate func appendKey(to output: inout [UInt8]) {
        for shift in stride(from: 0 as UInt32, through: 24, by: 8) {
            output.append(UInt8(truncatingIfNeeded: key >> shift))
        }
    }

    /// Masks or unmasks the bytes of `array` from `start` on, eight at a time.
    ///
    /// - Parameter position: the position of the first byte in the payload of the frame.
    func apply(to array: inout [UInt8], from start: Int, at position: Int) {
        let shift = UInt32(position & 3) * 8
        let rotated = shift == 0 ? key : key >> shift | key << (32 - shift)
        let wide = (UInt64(rotated) << 32 | UInt64(rotated)).littleEndian
        array.withUnsafeMutableBytes { bytes in
            var index = start
            while index &+ 8 <= bytes.count {
                let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                bytes.storeBytes(of: word ^ wide, toByteOffset: index, as: UInt64.self)
                index &+= 8
            }
            var rest = rotated
            while index < bytes.count {
                bytes[index] ^= UInt8(truncatingIfNeeded: rest)
                rest = rest >> 8 | rest << 24
                index &+= 1
            }
        }
    }
}
