internal import HPACK

/// The frames that wait to be written to the connection, and the functions that append them (RFC 9113 §4.1 and §6).
struct FrameWriter: Sendable {
    /// The bytes that wait, behind those that were written. The HPACK encoder appends to them.
    var bytes: [UInt8] = []
    private var start = 0

    /// The number of bytes that wait.
    var count: Int { bytes.count - start }

    /// Calls `body` with the bytes that wait.
    @inline(__always)
    func withBytes<Result, Failure: Error>(_ body: (RawSpan) throws(Failure) -> Result) throws(Failure) -> Result {
        try body(bytes.span.bytes.extracting(start..<bytes.count))
    }

    /// Removes bytes that were written.
    mutating func didWrite(_ count: Int) {
        precondition(count >= 0 && count <= self.count, "more bytes were written than there are")
        start += count
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            start = 0
        } else if start > Self.maximumGap {
            bytes.removeSubrange(..<start)
            start = 0
        }
    }

    /// The number of written bytes that may stay before those that wait, so that few writes move memory.
    static let maximumGap = 64 * 1024

    // MARK: Frames

    mutating func append(_ header: FrameHeader) {
        let (length, stream) = (UInt32(truncatingIfNeeded: header.length), header.stream.rawValue)
        let first = UInt64(length << 8 | UInt32(header.kind.rawValue)) << 32
        let second = UInt64(header.flags.rawValue) << 24 | UInt64(stream >> 8)
        withUnsafeBytes(of: (first | second).bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(truncatingIfNeeded: stream))
    }

    /// Appends the client's half of the connection preface, before its SETTINGS (RFC 9113 §3.4).
    mutating func appendPreface() {
        bytes.append(contentsOf: ConnectionPreface.bytes)
    }

    mutating func appendData(_ content: RawSpan, on stream: StreamID, ends: Bool) {
        append(FrameHeader(.data, flags: ends ? .endStream : [], on: stream, length: content.byteCount))
        bytes.append(content)
    }

    /// Appends the header of HEADERS, behind which the caller encodes the block. Returns the position for ``endHeaders(_:on:)``.
    mutating func beginHeaders(on stream: StreamID, ends: Bool) -> Int {
        append(FrameHeader(.headers, flags: ends ? .endStream : [], on: stream, length: 0))
        return bytes.count
    }

    /// Ends HEADERS whose block begins at `content`. What exceeds the maximum frame size moves to CONTINUATION frames (RFC 9113 §6.10).
    mutating func endHeaders(_ content: Int, on stream: StreamID) {
        let maximum = FrameParser.maximumFrameSize
        let frame = content - FrameHeader.size
        guard bytes.count - content > maximum else {
            return patch(at: frame, length: bytes.count - content, adding: .endHeaders)
        }
        var rest = Array(bytes[(content + maximum)...])[...]
        bytes.removeSubrange((content + maximum)...)
        patch(at: frame, length: maximum, adding: [])
        while !rest.isEmpty {
            let piece = rest.prefix(maximum)
            rest = rest.dropFirst(maximum)
            append(FrameHeader(.continuation, flags: rest.isEmpty ? .endHeaders : [], on: stream, length: piece.count))
            bytes.append(contentsOf: piece)
        }
    }

    mutating func appendSettings(_ settings: [Setting]) {
        append(FrameHeader(.settings, on: .connection, length: settings.count * Setting.size))
        for setting in settings {
            bytes.append(UInt8(setting.id.rawValue >> 8))
            bytes.append(UInt8(setting.id.rawValue & 0xFF))
            append(setting.value)
        }
    }

    mutating func appendSettingsAcknowledgment() {
        append(FrameHeader(.settings, flags: .acknowledgment, on: .connection, length: 0))
    }

    mutating func appendPing(_ opaque: UInt64, isAcknowledgment: Bool) {
        append(FrameHeader(.ping, flags: isAcknowledgment ? .acknowledgment : [], on: .connection, length: 8))
        append(UInt32(opaque >> 32))
        append(UInt32(truncatingIfNeeded: opaque))
    }

    mutating func appendGoAway(_ goAway: HTTP2GoAway) {
        append(FrameHeader(.goAway, on: .connection, length: 8 + goAway.debugData.count))
        append(goAway.lastStream.rawValue)
        append(goAway.code.rawValue)
        bytes.append(contentsOf: goAway.debugData)
    }

    mutating func appendReset(_ stream: StreamID, _ code: ErrorCode) {
        append(FrameHeader(.resetStream, on: stream, length: 4))
        append(code.rawValue)
    }

    mutating func appendWindowUpdate(_ stream: StreamID, increment: Int64) {
        append(FrameHeader(.windowUpdate, on: stream, length: 4))
        append(UInt32(increment))
    }

    /// Appends PRIORITY_UPDATE (RFC 9218 §7.1).
    mutating func appendPriorityUpdate(_ stream: StreamID, _ value: String) {
        append(FrameHeader(.priorityUpdate, on: .connection, length: 4 + value.utf8.count))
        append(stream.rawValue)
        bytes.append(contentsOf: value.utf8)
    }

    private mutating func append(_ number: UInt32) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    private mutating func patch(at frame: Int, length: Int, adding flags: FrameFlags) {
        var header = bytes.mutableSpan
        header[frame] = UInt8(length >> 16)
        header[frame + 1] = UInt8(length >> 8 & 0xFF)
        header[frame + 2] = UInt8(length & 0xFF)
        header[frame + 4] |= flags.rawValue
    }
}

/// The first bytes of a client (RFC 9113 §3.4).
enum ConnectionPreface {
    static let bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
}
