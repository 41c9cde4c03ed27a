internal import HPACK

/// The state of a connection, for both roles. ``HTTP2Machine`` is its interface.
///
/// Theory of operation. ``receive(_:now:take:)`` parses the input into parts of frames and acts on each at once: nothing of the input is kept
/// but bodies that the program has not read, and the beginning of a frame that the input cuts. Three kinds of results come out:
/// frames in ``writer``, ``events`` for the program, and the state of the streams. No member waits, reads a clock or
/// performs I/O.
///
/// Errors follow RFC 9113 §5.4. A rule that is violated on one stream ends that stream: ``resetStream(_:because:)`` sends RST_STREAM and reports
/// it. All other rules throw; ``receive(_:now:take:)`` then sends GOAWAY and ends all streams, once and for all.
///
/// | file | sections of RFC 9113 |
/// |---|---|
/// | the driver, see the page "First five minutes" | 3.2 and 3.3 ALPN, 9.2 TLS; 10.5.2 how many tunnels |
/// | this one | 3.4 preface, 4.1 and 5.5 frames, 5.4.1 errors of the connection, 6.6 and 8.4 push, which is refused |
/// | `+Headers` | 4.3, 6.2, 6.10 header blocks; 5.1.1 identifiers; 8.1 messages, 8.1.1 malformed ones |
/// | `+Data` | 5.2, 6.1, 6.9 data and flow control; 5.2.3 `growWindow`; 8.1.1 `content-length` |
/// | `+Control` | 6.3 to 6.5, 6.7 to 6.9 the other frames; RFC 9218 §2.1, §7.1 |
/// | `+Sending` | 6.1, 6.2, 8.1 what this side sends, 8.2.2 `SentField`; 10.5.1 the peer's limit on lists; RFC 9218 §5 |
/// | `+Streams` | 5.1 streams from opening to closing; 5.1.2 concurrency; 5.4.2 errors of streams; 8.7 what may be repeated |
/// | `+Time` | deadlines, and the end of the connection |
/// | `Streams/StreamState` | 5.1 the table of states |
/// | `Streams/FlowWindows` | 5.2 windows; 5.2.2 what is given back when |
/// | `Streams/SendOrder` | 5.3 priorities, as RFC 9218 §10 |
/// | `Frames/` | 4.1, 4.2, 6 each frame by itself; 6.5.2 settings; 7 error codes |
/// | `Headers/` | 8.2, 8.3, 8.5, 8.6 fields and pseudo-header fields; RFC 8441; RFC 9218 §4 priorities |
/// | `Guard/` | 10.5, 10.5.1 floods and limits |
/// | module HPACK | 4.3, RFC 7541 |
///
/// `@inline(__always)` in this module stands where `Scripts/bench 12h` shows it: without any in HPACK, HTTP2 and HTTPMessage, an exchange
/// costs 37,000 instructions instead of 27,100. Of these, 4,000 are copies: a call of a method that only reads the connection copies most
/// of it first.
struct HTTP2Connection: ~Copyable, Sendable {
    let role: HTTP2Role
    let limits: HTTP2Limits
    /// Server: whether extended CONNECT is accepted (RFC 8441).
    let allowsConnectProtocol: Bool

    // What arrives.
    var parser: FrameParser
    var decoder: HPACKDecoder
    /// The fields of the header block that is being received.
    var fields = HPACKFields()
    /// The header block that has begun and not ended.
    var block: HeaderBlock?
    /// The DATA frame that has begun and not ended.
    var dataFrame: FrameHeader?
    var opening: Opening

    // What leaves.
    var writer = FrameWriter()
    var encoder = HPACKEncoder()
    var events = EventQueue()
    var order = SendOrder()
    /// The stream that ``nextWritable()`` has returned last, until it sends.
    var turn: StreamID?

    // Streams.
    var streams = StreamTable()
    /// The number of streams that are neither idle nor closed.
    var openCount = 0
    /// Client: the identifier of the next request.
    var nextStream = StreamID(1)
    /// Server: the highest identifier of a request so far.
    var highestPeerStream = StreamID.connection
    /// Server: the last PRIORITY_UPDATE that has preceded its request (RFC 9218 §7.1).
    var earlyPriority: EarlyPriority?
    /// The streams that were closed last.
    var recentStreams: RecentStreams
    /// Client: whether the program was refused a stream for lack of room.
    var wantsRoom = false

    // Flow control.
    var receiveWindow: ReceiveWindow
    /// ``HTTP2Limits/effectiveConnectionWindow``.
    let maximumReceiveWindow: Int64
    var sendWindow = SendWindow(size: SendWindow.initial)
    /// How long data waits for credit of the connection, of streams that have credit.
    var creditWait: CreditWait?

    // Agreements and ends.
    var peerSettings = HTTP2Settings()
    /// Since when this side waits for the acknowledgment of its SETTINGS; nil afterwards.
    var settingsSentAt: Duration?
    var liveness = Liveness()
    var timeouts = Timeouts()
    var floods: FloodGuard
    var shutdown = Shutdown.notBegun
    /// The peer's GOAWAY with the lowest last stream.
    var peerGoAway: HTTP2GoAway?
    var isDrainedReported = false
    /// The error that has ended the connection.
    var failure: HTTP2Error?
    /// The time of the last call.
    var now: Duration

    init(_ role: HTTP2Role, limits: HTTP2Limits, allowsConnectProtocol: Bool, now: Duration) {
        limits.requireValid()
        self.role = role
        self.limits = limits
        self.allowsConnectProtocol = allowsConnectProtocol
        self.now = now
        opening = role == .client ? .settings([]) : .preface([])
        parser = FrameParser(maximumSettings: limits.maximumSettingsEntries)
        decoder = HPACKDecoder(limits: limits.fieldSection)
        floods = FloodGuard(limits)
        recentStreams = RecentStreams(limits)
        receiveWindow = ReceiveWindow(size: SendWindow.initial)
        maximumReceiveWindow = limits.effectiveConnectionWindow
        sendPreface()
    }

    /// How far the peer's preface has arrived (RFC 9113 §3.4). The first bytes tell a peer that speaks HTTP/1.1.
    enum Opening {
        /// A server expects the client's fixed bytes, and has received these of them.
        case preface([UInt8])
        /// SETTINGS are expected. A client keeps the first bytes.
        case settings([UInt8])
        /// The peer's first SETTINGS have arrived.
        case done
    }

    /// Whether the peer's first SETTINGS have arrived.
    var hasPeerSettings: Bool { if case .done = opening { true } else { false } }

    /// How a connection ends on the wish of this side (RFC 9113 §6.8).
    enum Shutdown: Equatable {
        case notBegun
        /// A server has sent GOAWAY with the highest identifier, and this PING. Its answer shows that no earlier request is on its way.
        /// A client that does not answer until this time sends no request that would still be served.
        case announced(ping: UInt64, until: Duration)
        /// GOAWAY was sent. Streams above the last one are ignored.
        case final(lastStream: StreamID)
    }
}

// MARK: - What arrives

extension HTTP2Connection {
    /// Acts on bytes from the peer. See ``HTTP2Machine/receive(_:now:take:)``.
    mutating func receive(
        _ bytes: RawSpan, now: Duration, take: (StreamID, RawSpan) -> Int
    ) throws(HTTP2Error) {
        if let failure { throw failure }
        advance(to: now)
        liveness.noteArrival(now: self.now)
        do throws(HTTP2Error) {
            var offset = try receivePreface(bytes)
            while let part = try parser.next(in: bytes, at: &offset) { try act(on: part, bytes, take) }
        } catch {
            let error = explained(error)
            fail(error)
            throw error
        }
        giveConnectionCredit()
    }

    /// Notes the time of a call. A clock that goes back stands still.
    mutating func advance(to now: Duration) {
        if now > self.now { self.now = now }
        if writer.count == 0 { timeouts.outputSince = self.now }
    }

    /// Sends this side's half of the preface: a client's fixed bytes, then SETTINGS (RFC 9113 §3.4).
    private mutating func sendPreface() {
        if role == .client { writer.appendPreface() }
        var settings: [Setting] = []
        switch role {
        case .client: settings.append(Setting(.enablePush, 0))
        case .server:
            settings.append(Setting(.maximumConcurrentStreams, UInt32(clamping: limits.maximumConcurrentStreams)))
            if allowsConnectProtocol { settings.append(Setting(.enableConnectProtocol, 1)) }
        }
        settings += [
            Setting(.initialWindowSize, UInt32(limits.initialStreamWindow)),
            Setting(.maximumHeaderListSize, UInt32(clamping: limits.fieldSection.listSize)),
            Setting(.noRFC7540Priorities, 1),
        ]
        writer.appendSettings(settings)
        settingsSentAt = now
        receiveWindow.grow(by: limits.connectionWindowReserve - receiveWindow.size)
        giveConnectionCredit(threshold: 1)
    }

    /// Compares the first bytes of a client with the preface (RFC 9113 §3.4). Returns the offset of the first frame.
    private mutating func receivePreface(_ bytes: RawSpan) throws(HTTP2Error) -> Int {
        switch opening {
        case .done: return 0
        case .settings(let first):
            opening = .settings(Self.extend(first, bytes))
            return 0
        case .preface(let first):
            let received = Self.extend(first, bytes)
            let expected = ConnectionPreface.bytes
            opening = .preface(received)
            guard received.starts(with: expected.prefix(received.count)) else {
                throw .connection(
                    .protocolError, "RFC 9113 §3.4", "the client does not begin with the preface of HTTP/2")
            }
            if received.count < expected.count { return bytes.byteCount }
            opening = .settings([])
            return expected.count - first.count
        }
    }

    /// Appends to the peer's first bytes, as far as they are kept.
    private static func extend(_ first: [UInt8], _ bytes: RawSpan) -> [UInt8] {
        first + bytes.withUnsafeBytes { $0.prefix(maximumFirstLineLength - first.count) }
    }

    /// The number of the peer's first bytes that are kept to tell a peer that speaks HTTP/1.1.
    private static let maximumFirstLineLength = 64

    private mutating func act(
        on part: consuming FrameParser.Part, _ bytes: RawSpan, _ take: (StreamID, RawSpan) -> Int
    ) throws(HTTP2Error) {
        try requireOrder(part)
        switch consume part {
        case .begin(let start): try begin(start)
        case .content(let range):
            if block != nil { try decode(bytes.extracting(range)) } else { receiveData(bytes.extracting(range), take) }
        case .end: if block != nil { try endHeadersFrame() } else { try endData() }
        case .settings(let settings): try receiveSettings(settings)
        case .settingsAcknowledgment: try receiveSettingsAcknowledgment()
        case .ping(let opaque, let isAcknowledgment): try receivePing(opaque, isAcknowledgment)
        case .goAway(let goAway): try receiveGoAway(goAway)
        case .windowUpdate(let stream, let increment): try receiveWindowUpdate(stream, Int64(increment))
        case .resetStream(let stream, let code): try receiveReset(stream, code)
        case .priority(let stream, let dependency): try receivePriority(stream, dependency)
        case .priorityUpdate(let stream, let value): try receivePriorityUpdate(stream, value)
        case .unknown(let header): try receiveUnknown(header)
        case .streamError(let error): try receiveStreamError(error)
        }
    }

    private mutating func begin(_ start: FrameStart) throws(HTTP2Error) {
        liveness.noteMessage()
        switch start.header.kind {
        case .data: try beginData(start)
        case .headers: try beginHeaders(start)
        case .continuation: try beginContinuation(start)
        default: throw Self.refusedPush(start.header)
        }
    }

    /// The fourth type with content is PUSH_PROMISE. Clients disable it, and no client may send it (RFC 9113 §8.4).
    private static func refusedPush(_ header: FrameHeader) -> HTTP2Error {
        .connection(.protocolError, "RFC 9113 §8.4", "a \(header.kind), which this side has not enabled")
    }

    /// Checks that SETTINGS come first (RFC 9113 §3.4), and that only CONTINUATION follows an open header block (RFC 9113 §6.10).
    @inline(__always)
    private func requireOrder(_ part: FrameParser.Part) throws(HTTP2Error) {
        if part.isWithinFrame { return }
        if !hasPeerSettings, !part.isSettings {
            throw .connection(.protocolError, "RFC 9113 §3.4", "the first frame is not SETTINGS")
        }
        if let stream = block?.stream {
            guard part.continuedStream == stream else {
                throw .connection(
                    .protocolError, "RFC 9113 §6.10", "another frame interrupts the header block of stream \(stream)")
            }
        } else if part.continuedStream != nil {
            throw .connection(.protocolError, "RFC 9113 §6.10", "a CONTINUATION follows no header block")
        }
    }
}

extension FrameParser.Part {
    /// Whether a part before this one has begun the frame.
    fileprivate var isWithinFrame: Bool {
        switch self {
        case .content, .end: true
        case .begin, .settings, .settingsAcknowledgment, .ping, .goAway, .windowUpdate, .resetStream, .priority,
            .priorityUpdate, .unknown, .streamError:
            false
        }
    }

    fileprivate var isSettings: Bool { if case .settings = self { true } else { false } }

    /// The stream of a CONTINUATION that begins; nil for all other parts.
    fileprivate var continuedStream: StreamID? {
        if case .begin(let start) = self, start.header.kind == .continuation { start.header.stream } else { nil }
    }
}

// MARK: - Errors

extension HTTP2Connection {
    /// Ends the connection: GOAWAY with the reason, and the end of all streams (RFC 9113 §5.4.1).
    mutating func fail(_ error: HTTP2Error) {
        if failure != nil { return }
        failure = error
        let reason = Array(error.reason.utf8.prefix(Self.maximumDebugDataLength))
        writer.appendGoAway(HTTP2GoAway(lastStream: lastProcessedStream, code: error.code, debugData: reason))
        block = nil
        dataFrame = nil
        endAllStreams(error)
    }

    /// The number of bytes of a reason that GOAWAY carries.
    private static let maximumDebugDataLength = 128

    /// Returns the error, with a better reason if the peer does not speak HTTP/2 at all.
    func explained(_ error: HTTP2Error) -> HTTP2Error {
        let firstBytes: [UInt8]
        switch opening {
        case .done: return error
        case .preface(let bytes), .settings(let bytes): firstBytes = bytes
        }
        let words = ["HTTP/", "GET ", "HEAD ", "POST ", "PUT ", "OPTIONS ", "CONNECT "]
        guard words.contains(where: { firstBytes.starts(with: $0.utf8) }) else { return error }
        let line = firstBytes.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
        let text = String(decoding: line.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
        return .connection(
            .protocolError, "RFC 9113 §3.4", "the peer speaks HTTP/1.1 and not HTTP/2: its first line is '\(text)'")
    }

    /// The last stream of the peer that this side has processed or will process, as GOAWAY states it (RFC 9113 §6.8).
    var lastProcessedStream: StreamID {
        if case .final(let last) = shutdown { last } else { highestPeerStream }
    }
}
