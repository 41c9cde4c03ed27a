internal import CLibcrypto
internal import Glibc

/// The clock, the random source and the environment, which machines must not ask themselves.
enum Surroundings {
    /// Nanoseconds since 1970.
    static var time: Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }

    /// A variable of the environment; nil if it is not set, or empty.
    static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Random bytes that nobody can guess.
    static func random(_ count: Int) throws(HTTPAuthError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        guard RAND_bytes(&bytes, Int32(count)) == 1 else { throw HTTPAuthError(.noRandomness) }
        return bytes
    }
}
