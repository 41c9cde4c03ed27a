internal import Synchronization

/// What is known of one half of a stream, as atomics: read on every call, from any thread.
struct HalfState: ~Copyable, Sendable {
    private let rawStatus = Atomic<UInt8>(UInt8(StreamStatus.notOpen.rawValue))
    private let clientFlag = Atomic<Bool>(false)
    private let limitNanoseconds = Atomic<Int64>(0)

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

    /// How long one transfer may wait; nil for as long as it takes.
    var limit: Duration? {
        get {
            let nanoseconds = limitNanoseconds.load(ordering: .relaxed)
            return nanoseconds == 0 ? nil : .nanoseconds(nanoseconds)
        }
        nonmutating set {
            limitNanoseconds.store(newValue.map(HalfState.nanoseconds) ?? 0, ordering: .relaxed)
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
