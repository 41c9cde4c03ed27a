internal import Glibc

/// A moment, as a plain number: of the clock that goes on while the machine sleeps.
///
/// ```swift
/// let start = Moment.now
/// …
/// let time = start.duration(to: .now)
/// ```
///
/// For moments that are kept. A `ContinuousClock.Instant` is laid out only when the program runs, so every struct that
/// stores one, and every struct around that, is copied and destroyed by the runtime field by field: hundreds of
/// instructions each time, which a structure on a hot path cannot afford.
public struct Moment: Hashable, Comparable, Sendable {
    private let nanoseconds: Int64

    private init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// This moment.
    public static var now: Moment {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Moment(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// The time from this moment to `other`; negative if that came before.
    public func duration(to other: Moment) -> Duration {
        .nanoseconds(other.nanoseconds - nanoseconds)
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
}
