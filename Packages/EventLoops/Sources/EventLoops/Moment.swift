internal import Glibc

/// An instant of `ContinuousClock`, which continues while the machine sleeps, as a plain number.
///
/// ```swift
/// let start = Moment.now
/// if await point.readerWait(for: .readable, until: start + .seconds(5)) == .ready {
///     print("readable after", start.duration(to: .now))
/// }
/// ```
///
/// The layout of a `ContinuousClock.Instant` is known only at run time. Every struct that contains one is therefore copied and
/// destroyed by the runtime field by field, which takes hundreds of instructions, and an async function that holds one needs
/// more memory. A hot path cannot afford that, so this package uses moments and converts at its interfaces (``init(_:)``,
/// ``instant``).
public struct Moment: Hashable, Comparable, Sendable {
    private let nanoseconds: Int64

    private init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The time of CLOCK_BOOTTIME.
    var nanosecondsSinceBoot: Int64 { nanoseconds }

    /// Converts an instant of `ContinuousClock`. The result may be a few hundred nanoseconds late and is never early.
    public init(_ instant: ContinuousClock.Instant) {
        let ahead = ContinuousClock.now.duration(to: instant)
        self = .now + ahead
    }

    /// The present instant.
    public static var now: Moment {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Moment(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// The same instant of `ContinuousClock`. It may be a few hundred nanoseconds late and is never early.
    public var instant: ContinuousClock.Instant {
        let ahead = Moment.now.duration(to: self)
        return .now + ahead
    }

    /// The time from this moment to `other`; negative if `other` is earlier.
    public func duration(to other: Moment) -> Duration {
        .nanoseconds(nanoseconds(to: other))
    }

    /// The same in nanoseconds, limited to 64 bits.
    func nanoseconds(to other: Moment) -> Int64 {
        let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
        return overflow ? (other < self ? .min : .max) : difference
    }

    /// Compares by time.
    public static func < (left: Moment, right: Moment) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The moment `duration` later, to the nanosecond, limited to the range of 64 bits (292 years after the start).
    public static func + (moment: Moment, duration: Duration) -> Moment {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carry) = moment.nanoseconds.addingReportingOverflow(whole)
        if overflow || carry { return Moment(nanoseconds: seconds < 0 ? .min / 2 : .max / 2) }
        return Moment(nanoseconds: sum &+ attoseconds / 1_000_000_000)
    }

    /// The moment `duration` earlier, to the nanosecond.
    public static func - (moment: Moment, duration: Duration) -> Moment {
        moment + (Duration.zero - duration)
    }
}
