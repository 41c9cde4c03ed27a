/// The floods that a peer can cause with valid frames, each with a bucket of tokens (RFC 9113 §10.5).
///
/// | class | known as | limit |
/// |---|---|---|
/// | resets | Rapid Reset (CVE-2023-44487), MadeYouReset (CVE-2025-8671), CVE-2019-9514 | ``HTTP2Limits/resets`` |
/// | settings | CVE-2019-9515 | ``HTTP2Limits/settingsFrames`` |
/// | pings | CVE-2019-9512 | ``HTTP2Limits/pings`` |
/// | empty frames | CVE-2019-9518 | ``HTTP2Limits/emptyFrames`` |
/// | small DATA frames | CVE-2019-9511 | ``HTTP2Limits/smallDataFrames`` |
/// | WINDOW_UPDATE of few bytes | CVE-2019-9511 | ``HTTP2Limits/windowUpdates`` |
/// | frames without effect | CVE-2019-9513 and others | ``HTTP2Limits/framesWithoutEffect`` |
///
/// An exhausted bucket ends the connection with ENHANCE_YOUR_CALM.
struct FloodGuard: Sendable {
    private var resets: TokenBucket
    private var settings: TokenBucket
    private var pings: TokenBucket
    private var emptyFrames: TokenBucket
    private var smallData: TokenBucket
    private var windowUpdates: TokenBucket
    private var framesWithoutEffect: TokenBucket

    init(_ limits: HTTP2Limits) {
        resets = TokenBucket(limits.resets)
        settings = TokenBucket(limits.settingsFrames)
        pings = TokenBucket(limits.pings)
        emptyFrames = TokenBucket(limits.emptyFrames)
        smallData = TokenBucket(limits.smallDataFrames)
        windowUpdates = TokenBucket(limits.windowUpdates)
        framesWithoutEffect = TokenBucket(limits.framesWithoutEffect)
    }

    /// Counts a stream that the peer has reset, or that it made this side reset.
    mutating func countReset(now: Duration) throws(HTTP2Error) {
        if !resets.take(now: now) { throw Self.flood("resets", "streams that end in RST_STREAM") }
    }

    mutating func countSettings(now: Duration) throws(HTTP2Error) {
        if !settings.take(now: now) { throw Self.flood("settingsFrames", "SETTINGS") }
    }

    mutating func countPing(now: Duration) throws(HTTP2Error) {
        if !pings.take(now: now) { throw Self.flood("pings", "PING") }
    }

    /// Counts DATA in either direction: a peer that measures round trips sends a PING for each, as long as data flows.
    mutating func didCarryData() {
        pings.putBack()
    }

    /// Counts DATA with this many bytes of content that this side sends: the peer gives its credit back, for the stream and the connection.
    mutating func didSendData(_ count: Int) {
        didCarryData()
        windowUpdates.putBack(2 * (1 + count / Self.smallDataSize))
    }

    /// Counts a stream that has been opened: the peer may raise its window, even if no DATA follows.
    mutating func didOpenStream() {
        windowUpdates.putBack(2)
    }

    mutating func countWindowUpdate(now: Duration) throws(HTTP2Error) {
        if !windowUpdates.take(now: now) { throw Self.flood("windowUpdates", "WINDOW_UPDATE") }
    }

    /// Counts a HEADERS, CONTINUATION or DATA frame that carries nothing.
    mutating func countEmptyFrame(now: Duration) throws(HTTP2Error) {
        if !emptyFrames.take(now: now) { throw Self.flood("emptyFrames", "empty frames") }
    }

    /// Counts DATA with this many bytes of content. Large frames make up for small ones.
    mutating func countData(_ count: Int, now: Duration) throws(HTTP2Error) {
        if count >= Self.smallDataSize { return smallData.putBack() }
        if !smallData.take(now: now) { throw Self.flood("smallDataFrames", "DATA of few bytes") }
    }

    /// Counts a frame without effect: PRIORITY, an unknown type, a frame on a closed stream, an acknowledgment of nothing.
    mutating func countFrameWithoutEffect(now: Duration) throws(HTTP2Error) {
        if !framesWithoutEffect.take(now: now) { throw Self.flood("framesWithoutEffect", "frames without effect") }
    }

    /// The number of bytes below which DATA is small.
    static let smallDataSize = 256

    private static func flood(_ limit: String, _ frames: String) -> HTTP2Error {
        .connection(.enhanceYourCalm, limit, "the peer sends too many \(frames)")
    }
}
