// No import of CLibcrypto here: its headers declare `timespec` again; see GSSLibrary.swift.
internal import Glibc

/// The date and the random source. Machines must not read them; drivers pass their values in. Deadlines use `Moment` of EventLoops
/// instead, which continues when the date is set.
package enum Environment {
    /// Nanoseconds since 1970-01-01 00:00 UTC.
    package static var time: Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }
}
