/// The window of what the peer may send: on one stream, or on the connection (RFC 9113 §5.2 and §6.9).
///
/// Each byte of the window is in one of three places, and no function changes the sum otherwise:
///
///     size = available + unread + pending
///
/// ``available`` is what the peer may still send. It has sent the ``unread`` bytes, which the program has not read. The ``pending``
/// bytes were read, and are given back with the next WINDOW_UPDATE.
struct ReceiveWindow: Sendable {
    /// The bytes that may be in flight and unread together.
    private(set) var size: Int64
    /// The bytes that the peer may send.
    private(set) var available: Int64
    /// The bytes that have arrived, or are announced by the header of a frame, and that the program has not read.
    private(set) var unread: Int64 = 0
    /// The bytes to give to the peer. Negative after ``shrink(by:)`` until as many bytes were read.
    private(set) var pending: Int64 = 0

    /// Creates a window that the peer knows.
    init(size: Int64) {
        self.size = size
        available = size
    }

    /// Accounts the whole payload of a DATA frame, which includes its padding. Returns false if it exceeds the window.
    ///
    /// An empty frame fits into every window, even a negative one (RFC 9113 §6.9.1).
    mutating func receive(_ count: Int) -> Bool {
        let count = Int64(count)
        guard count == 0 || count <= available else { return false }
        available -= count
        unread += count
        return true
    }

    /// Accounts bytes that were read or discarded.
    mutating func consume(_ count: Int64) {
        unread -= count
        pending += count
    }

    /// Enlarges the window. The peer learns of it with the next WINDOW_UPDATE.
    mutating func grow(by count: Int64) {
        size += count
        pending += count
    }

    /// Reduces the window. What the peer already has cannot be taken back: the next bytes that are read are not given back.
    mutating func shrink(by count: Int64) {
        size -= count
        pending -= count
    }

    /// Gives up what the peer cannot use any more of the window of a stream that has ended. Returns by how much the window shrinks.
    mutating func shrinkToUnread() -> Int64 {
        let surplus = size - unread
        shrink(by: surplus)
        return surplus
    }

    /// Accounts SETTINGS that have changed the window of a stream in the peer's view (RFC 9113 §6.9.2).
    mutating func adjust(to newSize: Int64) {
        available += newSize - size
        size = newSize
    }

    /// Returns the increment of a WINDOW_UPDATE, if at least `threshold` bytes are pending. The peer then has them.
    mutating func takeCredit(threshold: Int64) -> Int64? {
        guard pending >= max(threshold, 1) else { return nil }
        defer { pending = 0 }
        available += pending
        return pending
    }
}

/// The window of what this side may send: on one stream, or on the connection (RFC 9113 §5.2 and §6.9).
struct SendWindow: Sendable {
    /// The maximum size of a window (RFC 9113 §6.9.1).
    static let maximum: Int64 = 0x7FFF_FFFF

    /// The size of a window before SETTINGS say otherwise (RFC 9113 §6.9.2).
    static let initial: Int64 = 65_535

    /// The bytes that may be sent. Negative after the peer has reduced SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113 §6.9.2).
    private(set) var available: Int64
    /// The largest value of ``available`` so far.
    private var peak: Int64

    init(size: Int64) {
        available = size
        peak = size
    }

    /// Accounts the credit of a WINDOW_UPDATE, or a change of the initial size. Returns false above the maximum (RFC 9113 §6.9.1).
    mutating func add(_ count: Int64) -> Bool {
        guard available + count <= Self.maximum else { return false }
        available += count
        peak = max(peak, available)
        return true
    }

    /// Accounts bytes that were sent.
    mutating func spend(_ count: Int) {
        available -= Int64(count)
    }

    /// Whether the rest of the window is so small that waiting for credit is better than a small frame.
    ///
    /// A peer that has given a larger window before returns it, in general when half of it is used.
    var isNearlyExhausted: Bool { available < Self.smallest && peak >= Self.smallest }

    /// The number of bytes below which the rest of a window waits.
    static let smallest: Int64 = 1024
}

/// Since when data waits for credit (CVE-2019-9511, CVE-2019-9517). A few bytes now and then do not end the wait.
struct CreditWait: Sendable, BitwiseCopyable {
    let since: Duration
    /// The bytes that were sent meanwhile.
    private var sent = 0

    /// Returns the wait of data for this window from now on: none if the window is not small.
    static func next(_ wait: CreditWait?, _ window: SendWindow, now: Duration) -> CreditWait? {
        window.available >= SendWindow.smallest ? nil : wait ?? CreditWait(since: now)
    }

    private init(since: Duration) {
        self.since = since
    }

    /// Returns the wait after bytes were sent: none once they are ``SendWindow/smallest``.
    func afterSending(_ count: Int) -> CreditWait? {
        var wait = self
        wait.sent += count
        return wait.sent >= SendWindow.smallest ? nil : wait
    }
}
