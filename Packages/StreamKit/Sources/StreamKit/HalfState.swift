internal import Synchronization

/// What is known of one half of a stream, as atomics: read on every call, from any thread.
struct HalfState: ~Copyable, Sendable {
    private let rawStatus = Atomic<UInt8>(UInt8(StreamStatus.notOpen.rawValue))
    private let clientFlag = Atomic<Bool>(false)

    /// The status without the transfers under way.
    var status: StreamStatus {
        get { StreamStatus(rawValue: Int(rawStatus.load(ordering: .acquiring))) ?? .error }
        nonmutating set { rawStatus.store(UInt8(newValue.rawValue), ordering: .releasing) }
    }

    @inline(__always)
    var isOpen: Bool { rawStatus.load(ordering: .acquiring) == UInt8(StreamStatus.open.rawValue) }

    /// Somebody wants to be told after each transfer.
    var hasClient: Bool {
        @inline(__always) get { clientFlag.load(ordering: .relaxed) }
        nonmutating set { clientFlag.store(newValue, ordering: .relaxed) }
    }

}

/// How long the transfers of one half may wait, as an atomic. Apart from ``HalfState``: side by side the small fields of both
/// halves take no room beyond one word, which counts for streams by the ten thousands.
struct HalfLimit: ~Copyable, Sendable {
    private let limitNanoseconds = Atomic<Int64>(0)

    /// How long one transfer may wait; nil for as long as it takes.
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
