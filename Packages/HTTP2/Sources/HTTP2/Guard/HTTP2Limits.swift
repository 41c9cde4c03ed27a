public import HPACK

/// The limits of a connection: memory, floods and waits.
///
/// A peer that exceeds a limit ends its stream or its connection; it cannot make this side grow. The memory of a connection is at
/// most ``maximumMemory``. No number is negative, and no wait is zero: creating a machine with other values traps.
///
/// ```swift
/// var limits = HTTP2Limits()
/// limits.maximumConcurrentStreams = 32
/// let machine = HTTP2ServerMachine(limits: limits, now: .zero)
/// ```
public struct HTTP2Limits: Hashable, Sendable {
    // MARK: Memory

    /// The maximum number of streams at a time. 100 by default. The program can hold as many again that both sides have ended.
    ///
    /// A server announces it as SETTINGS_MAX_CONCURRENT_STREAMS and refuses further requests with REFUSED_STREAM. On a server, a stream
    /// that the client has reset counts until the program closes it, so that a client cannot start more work than this; streams that both
    /// sides have ended do not count, unless the program holds as many of them as well. A client opens no more streams than this, or than
    /// the server allows.
    public var maximumConcurrentStreams = 100

    /// The initial receive window of a stream, announced as SETTINGS_INITIAL_WINDOW_SIZE. 256 KiB by default.
    ///
    /// This is the number of bytes that the peer can send without the program reading: at most 2^31 - 1.
    public var initialStreamWindow: Int64 = 256 * 1024

    /// The size up to which the receive window of a stream doubles while the program reads as fast as the peer sends. 16 MiB by default,
    /// and at most 2^31 - 1.
    public var maximumStreamWindow: Int64 = 16 * 1024 * 1024

    /// The receive window of the connection beyond the sum of the windows of its streams. 1 MiB by default, and at least 65,535 bytes.
    ///
    /// With ``maximumConcurrentStreams`` times ``initialStreamWindow``, or 65,535 if that is more, it is at most 2^31 - 1 (RFC 9113 §6.9.1).
    /// As the connection's window follows those of the streams, a stream that is not read never blocks another one.
    public var connectionWindowReserve: Int64 = 1024 * 1024

    /// The size of the connection's receive window up to which windows of streams may grow. 64 MiB by default, and at most
    /// 2^31 - 1.
    public var maximumConnectionWindow: Int64 = 64 * 1024 * 1024

    /// The limits on each received field section, of a head or of trailers: 256 KiB and 256 fields by default. The size is announced as
    /// SETTINGS_MAX_HEADER_LIST_SIZE.
    ///
    /// A server answers a larger request with 431, a client resets the stream. The connection remains usable.
    public var fieldSection = HPACKLimits()

    /// The maximum number of interim responses to a request (RFC 9110 §15.2). 16 by default. Together, they are within ``fieldSection`` as well.
    public var maximumInterimResponses = 16

    /// The number of bytes of frames that may wait to be written before DATA waits. 64 KiB by default, at least 1 byte and at most 1 GiB.
    ///
    /// Answers and heads do not wait. A driver that stops reading while ``HTTP2Machine/isOutputFull`` (this number and 32 KiB) makes
    /// a peer wait that sends more than it reads. A driver that goes on reading ends the connection of such a peer with
    /// ENHANCE_YOUR_CALM, at twice as much.
    public var maximumOutput = 64 * 1024

    /// The maximum number of entries in a received SETTINGS frame (CVE-2020-11080). 32 by default, and at most 65,536.
    public var maximumSettingsEntries = 32

    // MARK: Floods

    /// The streams that the peer resets or makes this side reset. On a server: 200 at once, 20 a second by default.
    public var resets = HTTP2Rate(burst: 200, perSecond: 20)

    /// The received SETTINGS frames: 100 at once, 10 a second by default.
    public var settingsFrames = HTTP2Rate(burst: 100, perSecond: 10)

    /// The received PING frames: 1,000 at once, 100 a second by default. Each DATA frame, in either direction, allows one more: some peers
    /// send one each round trip, to measure the network.
    public var pings = HTTP2Rate(burst: 1_000, perSecond: 100)

    /// The received HEADERS, CONTINUATION and DATA frames that carry nothing and end nothing: 100 at once, 10 a second by default.
    public var emptyFrames = HTTP2Rate(burst: 100, perSecond: 10)

    /// The received DATA frames of less than 256 bytes: 100,000 at once and 100,000 a second by default. Larger frames make up for them. Those of
    /// tunnels do not count. A stream of gRPC has a frame for each message.
    public var smallDataFrames = HTTP2Rate(burst: 100_000, perSecond: 100_000)

    /// The received WINDOW_UPDATE frames: 100,000 at once and 10,000 a second by default. Each stream allows two more; each DATA frame that
    /// leaves does so too, and two for each 256 bytes in it.
    public var windowUpdates = HTTP2Rate(burst: 100_000, perSecond: 10_000)

    /// The received frames without effect, such as PRIORITY and unknown types: 10,000 at once, 1,000 a second by default.
    public var framesWithoutEffect = HTTP2Rate(burst: 10_000, perSecond: 1_000)

    // MARK: Waits, all of them positive

    /// The time in which the peer must acknowledge SETTINGS (RFC 9113 §6.5.3). 30 seconds by default.
    public var settingsTimeout: Duration = .seconds(30)

    /// The time in which the header block of a field section must be complete once it has begun. 30 seconds by default.
    public var fieldSectionTimeout: Duration = .seconds(30)

    /// The time that a server's response waits for credit before its stream ends (CVE-2019-9511, CVE-2019-9517). 30 seconds by default.
    ///
    /// Credit that lets less than 1 KiB leave in this time does not prolong it, unless the rest of the response needs no more. If the
    /// connection's own window is exhausted for so long, or output waits of which the transport takes less than 1 KiB
    /// (``HTTP2Machine/didWrite(_:)``), the connection ends. Each is noticed at most a quarter of this time late.
    public var creditTimeout: Duration = .seconds(30)

    /// The time without a byte of a request's body after which a server resets the stream. 60 seconds by default.
    public var bodyTimeout: Duration = .seconds(60)

    /// The time without a sign of life of the peer, while streams are open, after which a PING asks whether it is alive. Nil, the default:
    /// never. A request after such a time has a PING before it.
    ///
    /// Bytes of the peer are a sign of life. So is that the transport takes output that had to wait for it: a PING behind a large body cannot be
    /// answered sooner.
    public var pingInterval: Duration?

    /// As ``pingInterval``, while the peer sends nothing of a message but answers PINGs. 5 minutes by default, and at least ``pingInterval``.
    ///
    /// A peer may work on its answer for hours, and servers of gRPC end a connection on which PINGs are more frequent.
    public var furtherPingInterval: Duration = .seconds(300)

    /// The time after a PING in which the peer must give a sign of life, from when the PING was queued. 15 seconds by default.
    ///
    /// It ends the connection, except for the PING of ``HTTP2Machine/shutDown(now:)``, whose second GOAWAY then follows at once.
    public var pingTimeout: Duration = .seconds(15)

    /// The time that less than 1 KiB of window waits for more credit instead of leaving as a small frame. 50 milliseconds by default.
    public var smallWindowDelay: Duration = .milliseconds(50)

    /// Creates the default limits.
    public init() {}

    /// Checks the values that the protocol restricts.
    func requireValid() {
        if let violation { preconditionFailure(violation) }
    }

    /// What is wrong with the values, or nil.
    var violation: String? {
        let windows = 0...SendWindow.maximum
        if !windows.contains(initialStreamWindow) { return "a window is from 0 to 2^31 - 1 (RFC 9113 §6.5.2)" }
        if !(SendWindow.initial...SendWindow.maximum).contains(connectionWindowReserve) {
            return "the window of a connection is from 65,535 to 2^31 - 1 (RFC 9113 §6.9.2)"
        }
        if !windows.contains(maximumStreamWindow) || !windows.contains(maximumConnectionWindow) {
            return "a window does not grow above 2^31 - 1 (RFC 9113 §6.9.1)"
        }
        if maximumConcurrentStreams < 0 { return "maximumConcurrentStreams is negative" }
        if maximumInterimResponses < 0 { return "maximumInterimResponses is negative" }
        if !(1...1 << 30).contains(maximumOutput) { return "maximumOutput is from 1 to 1 GiB" }
        if !(0...1 << 16).contains(maximumSettingsEntries) { return "maximumSettingsEntries is from 0 to 65,536" }
        if let violation = fieldSection.violation { return "fieldSection: \(violation)" }
        let waits = [
            settingsTimeout, fieldSectionTimeout, creditTimeout, bodyTimeout, furtherPingInterval, pingTimeout,
            smallWindowDelay,
        ]
        if !waits.allSatisfy({ $0 > .zero }) || pingInterval ?? pingTimeout <= .zero { return "a wait is not positive" }
        let rest = SendWindow.maximum - connectionWindowReserve
        if Int64(maximumConcurrentStreams) > rest / newStreamWindow {
            return "the window of a connection with all its streams is at most 2^31 - 1 (RFC 9113 §6.9.1)"
        }
        return nil
    }

    /// The largest window of a new stream. Until SETTINGS are acknowledged, it has 65,535 bytes at least (RFC 9113 §6.9.2).
    var newStreamWindow: Int64 { max(initialStreamWindow, SendWindow.initial) }

    /// The size that the window of the connection never exceeds.
    var effectiveConnectionWindow: Int64 {
        let initial = Int128(maximumConcurrentStreams) * Int128(newStreamWindow) + Int128(connectionWindowReserve)
        return max(maximumConnectionWindow, Int64(clamping: initial))
    }

    /// The maximum number of CONTINUATION frames in a header block: what the largest list needs, and at least 8 (CVE-2024-27316).
    var maximumContinuations: Int {
        max(8, (fieldSection.listSize + FrameParser.maximumFrameSize - 1) / FrameParser.maximumFrameSize + 2)
    }

    /// The number of bytes that wait to be written above which a driver should write before it reads again.
    ///
    /// It is beyond what DATA alone makes wait: two sides that both send bodies never stop reading from each other.
    var fullOutput: Int { maximumOutput + Self.outputHeadroom }

    /// The maximum number of bytes that wait to be written when a frame that answers the peer is added.
    var maximumQueuedAnswers: Int { 2 * fullOutput }

    /// The bytes of heads and answers that may wait beyond DATA.
    static let outputHeadroom = 32 * 1024

    /// The greatest number of bytes that the peer can make the machine hold: unread bodies, heads that the program has not taken,
    /// frames to be written, and the tables.
    ///
    /// The heads are those of the message, its trailers and its interim responses, for each stream. With the default limits, about
    /// 146 MiB; with the initial windows alone, before any of them grows, 108 MiB.
    public var maximumMemory: Int {
        // A head of a stream that both sides have ended was taken.
        // The values are checked when a machine is created: these can be any.
        let (streams, list) = (Int128(maximumConcurrentStreams), Int128(min(fieldSection.listSize, 1 << 40)))
        let output = Int128(maximumOutput)
        let heads: Int128 = 3 * streams * list
        let entries: Int128 = 2 * streams * Self.memoryPerStream
        // Arrays that grow as they are filled have up to twice the memory that they need.
        let block: Int128 = 7 * list
        let answers: Int128 = 2 * (output + Int128(Self.outputHeadroom))
        let written: Int128 = 2 * (answers + Int128(FrameWriter.maximumGap))
        let rest: Int128 = block + written + Self.memoryOfTables
        return Int(clamping: Int128(effectiveConnectionWindow) + heads + entries + rest)
    }

    /// The memory of a stream besides its body and its heads: its entries in the tables, its events, and what its element of the table keeps.
    private static let memoryPerStream = Int128(BodyRing.keptCapacity + 8 * 1024)

    /// The memory of the dynamic tables, and of all that is there once.
    private static let memoryOfTables: Int128 = 64 * 1024
}
