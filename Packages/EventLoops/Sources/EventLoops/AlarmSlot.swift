internal import Synchronization

/// The place of a point's ``WaitAlarms``, which few points ever have: made once, by whoever needs them first.
///
/// A word of our own, since `AtomicLazyReference` is not inlined and looks up metadata at each load: 570 instructions where
/// this takes one, several times in the life of each point.
struct AlarmSlot: ~Copyable {
    private let word = Atomic<UInt>(0)

    deinit {
        AlarmSlot.reference(word.load(ordering: .acquiring))?.release()
    }

    /// What was made; nil as long as nothing was.
    @inline(__always)
    var alarms: WaitAlarms? {
        AlarmSlot.reference(word.load(ordering: .acquiring))?.takeUnretainedValue()
    }

    /// What was made, now at the latest.
    func make() -> WaitAlarms {
        if let alarms { return alarms }
        let made = Unmanaged.passRetained(WaitAlarms())
        let (isMine, first) = word.compareExchange(
            expected: 0, desired: UInt(bitPattern: made.toOpaque()), ordering: .acquiringAndReleasing)
        guard !isMine, let other = AlarmSlot.reference(first) else { return made.takeUnretainedValue() }
        made.release()
        return other.takeUnretainedValue()
    }

    @inline(__always)
    private static func reference(_ word: UInt) -> Unmanaged<WaitAlarms>? {
        UnsafeRawPointer(bitPattern: word).map(Unmanaged.fromOpaque)
    }
}
