internal import EventLoops
internal import HTTPStream

/// A clock that a test advances: for the pauses between retries, the time limits between the steps of a load, and the expiry of
/// cookies.
///
/// ```swift
/// import Foundation
/// import HTTPStreamTesting
/// import Testing
///
/// let clock = ManualClock()
/// let server = TestServer()
/// try server.enqueue(.serviceUnavailable, fields: HTTPFields(["Retry-After": "60"]))
/// try server.enqueue(.ok)
/// let session = HTTPSession(server.configuration(configuration, clock: clock))
/// async let page = session.get(url)
/// await clock.waitForPause()
/// clock.advance(by: .seconds(60))
/// #expect(try await page.status == .ok)
/// ```
///
/// Time limits of a single wait, such as `responseTimeout`, use the real clock: an answer of ``TestServer`` arrives at once, so they need no
/// other time.
public final class ManualClock: Sendable {
    private struct State {
        var elapsed = Duration.zero
        var pauses: [Pause] = []
        var observers: [(count: Int, signal: OneShot<Void>)] = []
        var pauseCount = 0
        var seenPauses = 0
    }

    private struct Pause {
        let end: Duration
        let signal: OneShot<Void>
    }

    private let state = Locked(State())
    private let start = Moment.now
    private let startDate: Int64

    /// Makes a clock that stands still.
    ///
    /// - Parameter secondsSinceEpoch: The date at which it starts. Default 2026-01-01.
    public init(secondsSinceEpoch: Int64 = 1_767_225_600) {
        startDate = secondsSinceEpoch
    }

    /// The time by which the clock was advanced.
    public var elapsed: Duration { state.withLock { $0.elapsed } }

    /// Advances the clock, and ends the pauses that are over then.
    public func advance(by duration: Duration) {
        let ended = state.withLock { state in
            state.elapsed += max(.zero, duration)
            let ended = state.pauses.filter { $0.end <= state.elapsed }
            state.pauses.removeAll { $0.end <= state.elapsed }
            return ended
        }
        for pause in ended { pause.signal.provide(()) }
    }

    /// Waits until a load pauses. Each call waits for a further pause.
    public func waitForPause() async {
        let signal = state.withLock { state -> OneShot<Void>? in
            state.seenPauses += 1
            if state.pauseCount >= state.seenPauses { return nil }
            let signal = OneShot<Void>()
            state.observers.append((state.seenPauses, signal))
            return signal
        }
        try? await signal?.value()
    }
}

extension ManualClock: SessionTime {
    package var now: Moment { start + elapsed }

    package var secondsSinceEpoch: Int64 { startDate + elapsed.components.seconds }

    package func sleep(for duration: Duration) async throws {
        let signal = OneShot<Void>()
        let observers = state.withLock { state in
            if duration > .zero {
                state.pauses.append(Pause(end: state.elapsed + duration, signal: signal))
            } else {
                signal.provide(())
            }
            state.pauseCount += 1
            let observers = state.observers.filter { $0.count <= state.pauseCount }
            state.observers.removeAll { $0.count <= state.pauseCount }
            return observers
        }
        for observer in observers { observer.signal.provide(()) }
        try await signal.value()
    }
}
