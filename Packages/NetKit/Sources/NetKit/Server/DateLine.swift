internal import EventLoops
internal import Glibc
internal import HTTPMessage

/// The value of `Date`, made once a second (RFC 9110 §6.6.1).
final class DateLine: Sendable {
    private struct Made {
        var second: Int64 = .min
        var bytes: [UInt8] = []
    }

    private let made = Locked(Made())

    var now: [UInt8] {
        let second = Int64(time(nil))
        return made.withLock { made in
            if made.second != second {
                made = Made(second: second, bytes: Array(HTTPDate(secondsSinceEpoch: second).description.utf8))
            }
            return made.bytes
        }
    }
}
