internal import Synchronization

/// The state of one half of a stream, in atomics: read on every call, from any thread.
struct HalfState: ~Copyable, Sendable {
    private let rawStatus = Atomic<UInt8>(UInt8(StreamStatus.notOpen.rawValue))
    private let clientFlag = Atomic<Bool>(false)

    /// The status, disregarding transfers in progress.
    var status: StreamStatus {
        get { StreamStatus(rawValue: Int(rawStatus.load(ordering: .acquiring))) ?? .error }
        nonmutating set { rawStatus.store(UInt8(newValue.rawValue), ordering: .releasing) }
    }

    @inline(__always)
    var isOpen: Bool { rawStatus.load(ordering: .acquiring) == UInt8(StreamStatus.open.rawValue) }

    /// True if a client must be notified after each transfer.
    var hasClient: Bool {
        @inline(__always) get { clientFlag.load(ordering: .relaxed) }
        nonmutating set { clientFlag.store(newValue, ordering: .relaxed) }
    }

}

/// The time limit for transfers of one half, in an atomic. Separate from ``HalfState``: side by side, the small fields
/// of both halves take one word, which matters for tens of thousands of streams.
struct HalfLimit: ~Copyable, Sendable {
    private let limitNanoseconds = Atomic<Int64>(0)

    /// The longest time that one transfer may wait; nil for no limit.
    var limit: Duration? {
        get {
            let nanoseconds = limitNanoseconds.load(ordering: .relaxed)
            return nanoseconds == 0 ? nil : .nanoseconds(nanoseconds)
        }
        nonmutating set {
            limitNanoseconds.store(newValue.map(HalfLimit.nanoseconds) ?? 0, ordering: .relaxed)
        }
    }

    @inline(__always)
    var hasLimit: Bool { limitNanoseconds.load(ordering: .relaxed) != 0 }

    private static func nanoseconds(_ limit: Duration) -> Int64 {
        guard limit > .zero else { return 0 }
        let (seconds, attoseconds) = limit.components
        return max(1, min(seconds, 1 << 33) * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
