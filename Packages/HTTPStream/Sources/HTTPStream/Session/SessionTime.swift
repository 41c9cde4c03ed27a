package import EventLoops
internal import FoundationEssentials

/// The time of a session's loads, for the pauses between retries, the time limits between steps, and the expiry of cookies. A test
/// replaces it (`ManualClock` of HTTPStreamTesting).
package protocol SessionTime: Sendable {
    /// The current instant.
    var now: Moment { get }
    /// The current date, in seconds since 1970.
    var secondsSinceEpoch: Int64 { get }
    /// Waits for a duration.
    ///
    /// - Throws: an error if the task is cancelled.
    func sleep(for duration: Duration) async throws
}

/// The time of the system's clocks.
struct SystemTime: SessionTime {
    var now: Moment { .now }

    var secondsSinceEpoch: Int64 { Int64(Date().timeIntervalSince1970) }

    func sleep(for duration: Duration) async throws { try await EventLoop.shared.sleep(for: duration) }
}
