public import HPACK

/// The limits of a connection: memory, floods and waits.
///
/// A peer that exceeds a limit ends its stream or its connection; it cannot make this side grow. The memory of a connection is at
/// most ``maximumMemory``.
///
/// ```swift
/// var limits = HTTP2Limits()
/// limits.maximumConcurrentStreams = 32
/// let machine = HTTP2ServerMachine(limits: limits, now: .zero)
/// ```
public struct HTTP2Limits: Hashable, Sendable {
    // MARK: Memory

    /// The maximum number of streams at a time, and of requests whose stream the server's program has not closed. 100 by default.
    ///
    /// A server announces it as SETTINGS_MAX_CONCURRENT_STREAMS and refuses further requests with REFUSED_STREAM. A client opens no
    /// more streams than this, or than the server allows.
    public var maximumConcurrentStreams = 100

    /// The initial receive window of a stream, announced as SETTINGS_INITIAL_WINDOW_SIZE. 256 KiB by default.
    ///
    /// This is the number of bytes that the peer can send without the program reading: at most 2^31 - 1.
    public var initialStreamWindow: Int64 = 256 * 1024

    /// The size up to which the receive window of a stream doubles while the program reads as fast as the peer sends. 16 MiB by default.
    public var maximumStreamWindow: Int64 = 16 * 1024 * 1024

    /// The receive window of the connection beyond the sum of the windows of its streams. 1 MiB by default, and at least 65,535 bytes.
    ///
    /// As the connection's window follows those of the streams, a stream that is not read never blocks another one.
    public var connectionWindowReserve: Int64 = 1024 * 1024

    /// The size of the connection's receive window up to which windows of streams may grow. 64 MiB by default.
    public var maximumConnectionWindow: Int64 = 64 * 1024 * 1024

    /// The limits on a received list of fields: 256 KiB and 256 fields by default. The size is announced as
    /// SETTINGS_MAX_HEADER_LIST_SIZE.
    ///
    /// A server answers a larger request with 431, a client resets the stream. The connection remains usable.
    public var head = HPACKLimits()

    /// The number of bytes of frames that may wait to be written before DATA waits. 64 KiB by default.
    public var maximumOutput = 64 * 1024

    /// The maximum number of entries in a received SETTINGS frame (CVE-2020-11080). 32 by default.
    public var maximumSettingsEntries = 32

    // MARK: Floods

    /// The streams that the peer resets or makes this side reset. On a server: 200 at once, 20 a second by default.
    public var resets = HTTP2Rate(burst: 200, perSecond: 20)

    /// The received SETTINGS frames: 100 at once, 10 a second by default.
    public var settingsFrames = HTTP2Rate(burst: 100, perSecond: 10)

    /// The received PING frames: 100 at once, 10 a second by default.
    public var pings = HTTP2Rate(burst: 100, perSecond: 10)

    /// The received HEADERS, CONTINUATION and DATA frames that carry nothing and end nothing: 100 at once, 10 a second by default.
    public var emptyFrames = HTTP2Rate(burst: 100, perSecond: 10)

    /// The received DATA frames of less than 256 bytes: 10,000 at once, 1,000 a second by default. Larger frames make up for them.
    public var smallDataFrames = HTTP2Rate(burst: 10_000, perSecond: 1_000)

    /// The received frames without effect, such as PRIORITY and unknown types: 10,000 at once, 1,000 a second by default.
    public var idleFrames = HTTP2Rate(burst: 10_000, perSecond: 1_000)

    // MARK: Waits

    /// The time in which the peer must acknowledge SETTINGS (RFC 9113 §6.5.3). 30 seconds by default.
    public var settingsTimeout: Duration = .seconds(30)

    /// The time in which a header block must be complete once it has begun. 30 seconds by default.
    public var headTimeout: Duration = .seconds(30)

    /// The time that a server's response waits for credit before its stream ends (CVE-2019-9511, CVE-2019-9517). 30 seconds by default.
    ///
    /// If the connection's own window is exhausted for so long, the connection ends.
    public var creditTimeout: Duration = .seconds(30)

    /// The time without an byte of a request's body after which a server resets the stream. 60 seconds by default.
    public var bodyTimeout: Duration = .seconds(60)

    /// The time without any frame, while streams are open, after which a PING asks whether the peer is alive. Nil, the default: never.
    public var pingInterval: Duration?

    /// The time in which the peer must answer a PING, from when it was queued. 15 seconds by default.
    public var pingTimeout: Duration = .seconds(15)

    /// The time that less than 1 KiB of window waits for more credit instead of leaving as a small frame. 50 milliseconds by default.
    public var smallWindowDelay: Duration = .milliseconds(50)

    /// Creates the default limits.
    public init() {}

    /// Checks the values that the protocol restricts.
    func requireValid() {
        precondition(
            (0...SendWindow.maximum).contains(initialStreamWindow), "a window is from 0 to 2^31 - 1 (RFC 9113 §6.5.2)")
        precondition(
            (65_535...SendWindow.maximum).contains(connectionWindowReserve),
            "the window of a connection is at least 65,535 (RFC 9113 §6.9.2)")
        precondition(maximumConcurrentStreams >= 0 && maximumOutput > 0, "a limit is negative")
    }

    /// The maximum number of CONTINUATION frames in a header block: what the largest list needs, and at least 8 (CVE-2024-27316).
    var maximumContinuations: Int {
        max(8, (head.listSize + FrameParser.maximumFrameSize - 1) / FrameParser.maximumFrameSize + 2)
    }

    /// The maximum number of bytes that wait to be written when a frame that answers the peer is added.
    var maximumQueuedAnswers: Int { 2 * maximumOutput + 64 * 1024 }

    /// The greatest number of bytes that the peer can make the machine hold: unread bodies, heads that the program has not taken,
    /// frames to be written, and the tables.
    ///
    /// With the default limits, about 90 MiB; with the initial windows alone, before any of them grows, 52 MiB.
    public var maximumMemory: Int {
        let windows = max(
            maximumConnectionWindow, connectionWindowReserve + Int64(maximumConcurrentStreams) * initialStreamWindow)
        let heads = (maximumConcurrentStreams + 2) * head.listSize
        return Int(clamping: windows) + heads + maximumQueuedAnswers + 64 * 1024
    }
}
