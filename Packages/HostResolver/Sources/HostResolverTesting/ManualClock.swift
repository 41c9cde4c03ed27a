internal import HostResolver

/// A clock that moves only when a test advances it.
///
/// ```swift
/// let clock = ManualClock()
/// clock.schedule(at: clock.now + .seconds(5)) { print("five") }
/// clock.advance(by: .seconds(5))          // prints, before it returns
/// ```
///
/// Its instants are those of `ContinuousClock`, the type of this project's deadlines.
public final class ManualClock: Clock, Sendable {
    /// An instant of the clock.
    public typealias Instant = ContinuousClock.Instant

    /// A closure scheduled on a ``ManualClock``.
    public struct Appointment: Sendable {
        fileprivate let number: Int
        fileprivate let clock: ManualClock

        /// Cancels the appointment; true if it had not run yet.
        @discardableResult
        public func cancel() -> Bool {
            clock.state.withLock { $0.appointments.removeValue(forKey: number) } != nil
        }
    }

    private struct State {
        var now: Instant
        var last = 0
        var appointments: [Int: (time: Instant, body: @Sendable () -> Void)] = [:]
    }

    private let state: Locked<State>

    /// Creates a clock whose current instant is `start`.
    public init(start: Instant = .now) {
        state = Locked(State(now: start))
    }

    /// The current instant.
    public var now: Instant { state.withLock { $0.now } }

    /// The resolution: zero, because the clock can advance by any duration.
    public var minimumResolution: Duration { .zero }

    /// The number of pending appointments.
    package var appointmentCount: Int { state.withLock { $0.appointments.count } }

    /// Schedules `body` to run when the clock advances to `time` or beyond. If `time` is in the past, it runs at the
    /// next ``advance(by:)``.
    @discardableResult
    public func schedule(at time: Instant, _ body: @escaping @Sendable () -> Void) -> Appointment {
        state.withLock { state in
            state.last += 1
            state.appointments[state.last] = (time, body)
            return Appointment(number: state.last, clock: self)
        }
    }

    /// Advances the clock and runs the appointments that become due, in the order of their times, on the calling
    /// thread.
    ///
    /// During each closure, the clock is at the time of its appointment. Appointments that a closure makes also run if
    /// they become due.
    public func advance(by duration: Duration = .zero) {
        let end = now + duration
        while let body = popDue(until: end) { body() }
        state.withLock { $0.now = max($0.now, end) }
    }

    /// Suspends until the clock has advanced to `deadline`.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let alarm = OneShot<Void>()
        let appointment = schedule(at: deadline) { alarm.provide(()) }
        do throws(WaitError) {
            try await alarm.value()
        } catch {
            appointment.cancel()
            throw CancellationError()
        }
    }

    private func popDue(until end: Instant) -> (@Sendable () -> Void)? {
        state.withLock { state in
            let due = state.appointments.filter { $0.value.time <= end }
            guard let next = due.min(by: { ($0.value.time, $0.key) < ($1.value.time, $1.key) }) else { return nil }
            state.appointments[next.key] = nil
            state.now = max(state.now, next.value.time)
            return next.value.body
        }
    }
}
