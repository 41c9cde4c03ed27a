internal import Glibc

/// A moment, as a plain number: of the clock that goes on while the machine sleeps, which is `ContinuousClock`'s.
///
/// ```swift
/// let start = Moment.now
/// …
/// let time = start.duration(to: .now)
/// await point.readerWait(for: .readable, until: .now + .seconds(5))
/// ```
///
/// A `ContinuousClock.Instant` is laid out only when the program runs, so every struct that stores one, and every struct
/// around that, is copied and destroyed by the runtime field by field, and an async function that holds one takes more
/// memory: hundreds of instructions each time, which a structure on a hot path cannot afford. So this package counts in
/// moments, and converts at its edges (``init(_:)``, ``instant``).
public struct Moment: Hashable, Comparable, Sendable {
    private let nanoseconds: Int64

    private init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The moment of a `ContinuousClock`'s instant; at most some hundred nanoseconds later, never before it.
    public init(_ instant: ContinuousClock.Instant) {
        let ahead = ContinuousClock.now.duration(to: instant)
        self = .now + ahead
    }

    /// This moment.
    public static var now: Moment {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Moment(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// The same moment for a `ContinuousClock`; at most some hundred nanoseconds later, never before it.
    public var instant: ContinuousClock.Instant {
        let ahead = Moment.now.duration(to: self)
        return .now + ahead
    }

    /// The time from this moment to `other`; negative if that came before.
    public func duration(to other: Moment) -> Duration {
        .nanoseconds(nanoseconds(to: other))
    }

    /// The same in nanoseconds; at most what 64 bits hold.
    func nanoseconds(to other: Moment) -> Int64 {
        let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
        return overflow ? (other < self ? .min : .max) : difference
    }

    /// Compares by time.
    public static func < (left: Moment, right: Moment) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The moment that comes `duration` later, to the nanosecond; at most what 64 bits hold, 292 years after the start.
    public static func + (moment: Moment, duration: Duration) -> Moment {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carry) = moment.nanoseconds.addingReportingOverflow(whole)
        if overflow || carry { return Moment(nanoseconds: seconds < 0 ? .min / 2 : .max / 2) }
        return Moment(nanoseconds: sum &+ attoseconds / 1_000_000_000)
    }

    /// The moment that was `duration` before, to the nanosecond.
    public static func - (moment: Moment, duration: Duration) -> Moment {
        moment + (Duration.zero - duration)
    }
}
