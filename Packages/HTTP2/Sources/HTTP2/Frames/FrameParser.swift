internal import HPACK

/// Reads frames from the bytes of a connection, in pieces of any size (RFC 9113 §4 and §6).
///
/// The parser checks the rules that concern one frame alone: lengths, stream identifiers and padding. What a frame means for
/// its stream is up to the connection.
///
/// Theory of operation. The content of DATA, HEADERS, PUSH_PROMISE and CONTINUATION frames is handed on in the pieces in which it
/// arrives, as ranges of the input; it is never collected. All other frames are small: the parser collects them in ``scratch``, as
/// well as headers that the end of the input cuts. The scratch memory is thereby bounded by ``keptPayload`` and by the limit on the
/// entries of SETTINGS.
struct FrameParser: Sendable {
    /// A part of the input that the connection acts on.
    enum Part: Equatable {
        // What owns memory is indirect: it is rare, and all other parts are then moved without a look at their contents.

        /// A DATA, HEADERS, PUSH_PROMISE or CONTINUATION frame begins. Its content follows in `content` parts, then `end`.
        case begin(FrameStart)
        /// A range of the input that belongs to the content of the frame that has begun.
        case content(Range<Int>)
        /// The content and the padding of the frame that has begun are complete.
        case end
        indirect case settings([Setting])
        case settingsAcknowledgment
        case ping(UInt64, isAcknowledgment: Bool)
        indirect case goAway(HTTP2GoAway)
        case windowUpdate(StreamID, increment: UInt32)
        case resetStream(StreamID, ErrorCode)
        case priority(StreamID, StreamDependency)
        /// PRIORITY_UPDATE: the value of a Priority field for a stream (RFC 9218 §7.1); nil if it is too long to be kept.
        indirect case priorityUpdate(StreamID, value: [UInt8]?)
        /// A frame of an unknown type, which is ignored (RFC 9113 §4.1).
        case unknown(FrameHeader)
        /// A frame that violates a rule whose penalty is the end of one stream.
        indirect case streamError(HTTP2Error)
    }

    /// The length above which a frame is an error: SETTINGS_MAX_FRAME_SIZE, which stays at its initial value.
    static let maximumFrameSize = 16_384

    /// The maximum number of bytes kept of the debug data of GOAWAY and of a PRIORITY_UPDATE.
    static let keptPayload = 256

    private enum State: Sendable {
        /// Before or within the header of a frame.
        case header
        /// Within the fields between the header and the content: pad length, priority, promised stream.
        case prefix(FrameHeader, size: Int)
        /// Within the content.
        case content(remaining: Int, padding: Int)
        /// Within the bytes after the content: padding, or the payload of a frame that is ignored.
        case skipping(remaining: Int, endsFrame: Bool)
        /// Within the payload of a small frame.
        case small(FrameHeader)
    }

    private var state = State.header
    private var scratch: [UInt8] = []
    private let maximumSettings: Int

    /// Creates a parser that allows this many entries in a SETTINGS frame.
    init(maximumSettings: Int = HTTP2Limits().maximumSettingsEntries) {
        self.maximumSettings = maximumSettings
    }

    /// Whether the input so far ends between two frames.
    var isBetweenFrames: Bool {
        if case .header = state { scratch.isEmpty } else { false }
    }

    /// Reads the next part of the input from `offset` on and advances `offset`. Returns nil if the rest of the input is consumed.
    ///
    /// Throws connection errors; the parser must not be used again then.
    mutating func next(in bytes: RawSpan, at offset: inout Int) throws(HTTP2Error) -> Part? {
        while true {
            switch state {
            case .header:
                guard offset < bytes.byteCount, let header = readHeader(bytes, &offset) else { return nil }
                if let part = try begin(header) { return part }
            case .prefix(let header, let size):
                guard let prefix = collect(size, bytes, &offset) else { return nil }
                return .begin(try start(header, prefix.span.bytes))
            case .content(let remaining, let padding):
                if remaining == 0, padding == 0 {
                    state = .header
                    return .end
                }
                if remaining == 0 {
                    state = .skipping(remaining: padding, endsFrame: true)
                    continue
                }
                guard offset < bytes.byteCount else { return nil }
                let count = min(remaining, bytes.byteCount - offset)
                state = .content(remaining: remaining - count, padding: padding)
                offset += count
                return .content(offset - count..<offset)
            case .skipping(let remaining, let endsFrame):
                let count = min(remaining, bytes.byteCount - offset)
                offset += count
                guard count == remaining else {
                    state = .skipping(remaining: remaining - count, endsFrame: endsFrame)
                    return nil
                }
                state = .header
                if endsFrame { return .end }
            case .small(let header):
                let kept = min(header.length, Self.keptPayload + maximumSettings * Setting.size)
                guard let payload = collect(kept, bytes, &offset) else { return nil }
                state = .skipping(remaining: header.length - kept, endsFrame: false)
                return try finish(header, payload)
            }
        }
    }
}

// MARK: - Bytes

extension FrameParser {
    /// Reads a header directly from the input if it is there whole, which is the usual case.
    private mutating func readHeader(_ bytes: RawSpan, _ offset: inout Int) -> FrameHeader? {
        if scratch.isEmpty, bytes.byteCount - offset >= FrameHeader.size {
            let header = FrameHeader(bytes.extracting(offset..<offset + FrameHeader.size))
            offset += FrameHeader.size
            return header
        }
        return collect(FrameHeader.size, bytes, &offset).map { FrameHeader($0.span.bytes) }
    }

    /// Collects `size` bytes. Returns nil if the input ends before.
    private mutating func collect(_ size: Int, _ bytes: RawSpan, _ offset: inout Int) -> [UInt8]? {
        let count = min(size - scratch.count, bytes.byteCount - offset)
        scratch.append(bytes.extracting(offset..<offset + count))
        offset += count
        guard scratch.count == size else { return nil }
        defer { scratch.removeAll(keepingCapacity: true) }
        return scratch
    }
}

// MARK: - Rules

extension FrameParser {
    /// Checks a header and chooses the state that follows it. Returns a part if the frame needs no more input.
    private mutating func begin(_ header: FrameHeader) throws(HTTP2Error) -> Part? {
        guard header.length <= Self.maximumFrameSize else {
            throw .connection(
                .frameSizeError, "RFC 9113 §4.2",
                "a \(header.kind) of \(header.length) bytes exceeds the maximum frame size")
        }
        switch header.kind {
        case .data, .headers, .pushPromise, .continuation:
            try requireStream(header)
            let size = header.prefixSize
            guard header.length >= size else { throw .badLength(header) }
            if size > 0 {
                state = .prefix(header, size: size)
                return nil
            }
            return .begin(try start(header, RawSpan()))
        case .priority, .resetStream: try requireStream(header)
        case .settings, .ping, .goAway: try requireConnection(header)
        case .windowUpdate: break
        case .priorityUpdate where header.length >= 4: try requireConnection(header)
        case .priorityUpdate:
            // Too short to name a stream: see ``HTTP2Connection/receiveUnknown(_:)``.
            try requireConnection(header)
            fallthrough
        default:
            state = .skipping(remaining: header.length, endsFrame: false)
            return .unknown(header)
        }
        state = .small(header)
        return try checkLength(header)
    }

    /// Checks the lengths of the small frames (RFC 9113 §6.3 to §6.9).
    private mutating func checkLength(_ header: FrameHeader) throws(HTTP2Error) -> Part? {
        switch header.kind {
        case .priority where header.length != 5:
            state = .skipping(remaining: header.length, endsFrame: false)
            return .streamError(
                .stream(header.stream, .frameSizeError, "RFC 9113 §6.3", "a PRIORITY of \(header.length) bytes"))
        case .resetStream where header.length != 4, .windowUpdate where header.length != 4,
            .ping where header.length != 8, .goAway where header.length < 8,
            .settings where header.flags.contains(.acknowledgment) && header.length != 0,
            .settings where header.length % Setting.size != 0:
            throw .badLength(header)
        case .settings where header.length > maximumSettings * Setting.size:
            throw .connection(
                .enhanceYourCalm, "maximumSettingsEntries",
                "a SETTINGS of \(header.length / Setting.size) entries exceeds the limit of \(maximumSettings)")
        default: return nil
        }
    }

    private func requireStream(_ header: FrameHeader) throws(HTTP2Error) {
        if header.stream == .connection {
            throw .connection(.protocolError, header.kind.section, "a \(header.kind) belongs to no stream")
        }
    }

    private func requireConnection(_ header: FrameHeader) throws(HTTP2Error) {
        if header.stream != .connection {
            throw .connection(
                .protocolError, header.kind.section, "a \(header.kind) belongs to stream \(header.stream)")
        }
    }

    /// Reads the fields before the content.
    @inline(__always)
    private mutating func start(_ header: FrameHeader, _ prefix: RawSpan) throws(HTTP2Error) -> FrameStart {
        var start = FrameStart(header: header, contentLength: header.length - prefix.byteCount)
        var rest = prefix
        if header.isPadded {
            let padding = rest.byte(at: 0)
            guard Int(padding) <= start.contentLength else {
                throw .connection(
                    .protocolError, header.kind.section, "the padding of a \(header.kind) is as long as its payload")
            }
            start.padding = padding
            start.contentLength -= Int(padding)
            rest = rest.extracting(droppingFirst: 1)
        }
        if header.hasPriority { start.dependency = StreamDependency(rest) }
        if header.kind == .pushPromise { start.promised = StreamID(rest.bigEndian32(at: 0)) }
        state = .content(remaining: start.contentLength, padding: Int(start.padding ?? 0))
        return start
    }

    /// Reads a small frame whose payload is complete.
    private func finish(_ header: FrameHeader, _ payload: [UInt8]) throws(HTTP2Error) -> Part {
        let bytes = payload.span.bytes
        let isAcknowledgment = header.flags.contains(.acknowledgment)
        switch header.kind {
        case .settings:
            if isAcknowledgment { return .settingsAcknowledgment }
            return .settings((0..<header.length / Setting.size).map { Setting(payload.span.bytes, at: $0) })
        case .ping: return .ping(bytes.bigEndian64(at: 0), isAcknowledgment: isAcknowledgment)
        case .goAway:
            return .goAway(
                HTTP2GoAway(
                    lastStream: StreamID(bytes.bigEndian32(at: 0)), code: ErrorCode(rawValue: bytes.bigEndian32(at: 4)),
                    debugData: Array(payload.dropFirst(8).prefix(Self.keptPayload))))
        case .resetStream: return .resetStream(header.stream, ErrorCode(rawValue: bytes.bigEndian32(at: 0)))
        case .priority: return .priority(header.stream, StreamDependency(bytes))
        case .priorityUpdate:
            let value = header.length <= Self.keptPayload ? Array(payload.dropFirst(4)) : nil
            return .priorityUpdate(StreamID(bytes.bigEndian32(at: 0)), value: value)
        default: return try windowUpdate(header.stream, increment: bytes.bigEndian32(at: 0) & 0x7FFF_FFFF)
        }
    }

    /// An increment of 0 is an error of the stream or the connection (RFC 9113 §6.9).
    private func windowUpdate(_ stream: StreamID, increment: UInt32) throws(HTTP2Error) -> Part {
        if increment > 0 { return .windowUpdate(stream, increment: increment) }
        let reason = "a WINDOW_UPDATE with an increment of 0"
        if stream == .connection { throw .connection(.protocolError, "RFC 9113 §6.9", reason) }
        return .streamError(.stream(stream, .protocolError, "RFC 9113 §6.9", reason))
    }
}

/// The beginning of a frame with content: its header and the fields before the content.
struct FrameStart: Equatable, Sendable {
    var header: FrameHeader
    /// The number of bytes of content, without padding.
    var contentLength: Int
    /// The number of bytes of padding behind the content; nil if the frame is not padded.
    var padding: UInt8?
    /// HEADERS: the deprecated priority of RFC 7540.
    var dependency: StreamDependency?
    /// PUSH_PROMISE: the promised stream, for tests of the parser. The machines refuse pushes.
    var promised: StreamID?
}

/// The deprecated priority of RFC 7540 §5.3, which RFC 9113 §5.3.2 lets recipients ignore. The machines look at its stream alone.
struct StreamDependency: Hashable, Sendable, BitwiseCopyable {
    var isExclusive: Bool
    var stream: StreamID
    /// The weight, from 1 to 256.
    var weight: UInt16

    /// Reads the five bytes at the front of `bytes`.
    init(_ bytes: RawSpan) {
        let first = bytes.bigEndian32(at: 0)
        isExclusive = first >> 31 == 1
        stream = StreamID(first)
        weight = UInt16(bytes.byte(at: 4)) + 1
    }
}

extension FrameHeader {
    /// Whether the payload begins with the length of the padding.
    fileprivate var isPadded: Bool { kind != .continuation && flags.contains(.padded) }

    fileprivate var hasPriority: Bool { kind == .headers && flags.contains(.priority) }

    /// The number of bytes between the header and the content.
    fileprivate var prefixSize: Int { (isPadded ? 1 : 0) + (hasPriority ? 5 : 0) + (kind == .pushPromise ? 4 : 0) }
}

extension HTTP2Error {
    fileprivate static func badLength(_ header: FrameHeader) -> HTTP2Error {
        .connection(.frameSizeError, header.kind.section, "a \(header.kind) of \(header.length) bytes")
    }
}
