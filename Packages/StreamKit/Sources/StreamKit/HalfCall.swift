@_spi(Packages) internal import EventLoops
internal import Glibc

/// The result of one step of a call: done, or wait and take the next step.
@usableFromInline
enum CallStep {
    case done(Int)
    case wait(WaitPoint, Interest, until: Moment?)

    /// The number of bytes moved, once done.
    @inlinable var count: Int {
        if case .done(let count) = self { count } else { 0 }
    }
}

/// A call on one half of a connection that may have to wait: reading, writing, finishing, opening.
///
/// A call is a value whose steps wait only inside the transport's `read` or `write`, and only for a blocking caller. It enters the half, and
/// each step tries once more and then leaves the half, or tells what to wait for. How to wait is the driver's business, and each operation is
/// written once for all drivers:
///
/// - ``suspend(_:_:)`` waits as a task. Steps are functions that do not suspend, so that their variables do not add to the memory of a
///   suspended task.
/// - ``block(_:_:)`` waits on the calling thread.
/// - Polling, and the client of events, try once: ``ReadCall/tryOnce(_:into:)``, ``StreamSide/poll()``.
///
/// ``ReadCall`` and ``WriteCall`` have a buffer and take the same steps.
struct HalfCall {
    let connection: Connection
    let half: WaitPoint.Half
    /// Whether the call moves bytes or the end, so that the client must be told afterwards.
    let isTransfer: Bool

    /// Enters the half.
    init(_ side: StreamSide, isTransfer: Bool = true) throws(StreamError) {
        connection = side.connection
        half = side.half
        self.isTransfer = isTransfer
        try connection.enter(half)
    }

    /// Tries once. Leaves the half unless the call must wait, at `point` if it is not nil.
    func step(
        after wake: Wake?, until deadline: Moment?, at point: (() -> WaitPoint)? = nil,
        _ attempt: () throws(StreamError) -> Attempt
    ) throws(StreamError) -> CallStep {
        do throws(StreamError) {
            if let wake { try connection.resume(wake, half) }
            switch try attempt() {
            case .moved(let count):
                leave()
                return .done(count)
            case .ended:
                leave()
                return .done(0)
            case .wouldBlock(let interest):
                connection.point.beginTurn(half)
                if let point { return .wait(point(), interest, until: nil) }
                let deadline = deadline ?? connection.halves[half].deadline
                return .wait(connection.pointToWaitOrRetry(half), interest, until: deadline)
            }
        } catch {
            leave()
            throw error
        }
    }

    private func leave() {
        if isTransfer { connection.leave(half) } else { connection.leaveUntouched(half) }
    }
}

// MARK: - The drivers

extension HalfCall {
    /// Waits as a task until the steps are done; returns the count of the last one.
    func suspend(
        _ step: (_ wake: Wake?, _ deadline: Moment?) throws(StreamError) -> CallStep
    ) async throws(StreamError) -> Int { try await HalfCall.suspend(half, step) }

    /// Waits on the calling thread until the steps are done; returns the count of the last one.
    @available(*, noasync)
    func block(
        _ step: (_ wake: Wake?, _ deadline: Moment?) throws(StreamError) -> CallStep
    ) throws(StreamError) -> Int { try HalfCall.block(half, step) }

    /// Waits as a task until the steps are done.
    @inline(__always)
    static nonisolated(nonsending) func suspend(
        _ half: WaitPoint.Half, _ step: (_ wake: Wake?, _ deadline: Moment?) throws(StreamError) -> CallStep
    ) async throws(StreamError) -> Int {
        var next = try step(nil, nil)
        while case .wait(let point, let interest, let deadline) = next {
            next = try step(await point.wait(half, for: interest, until: deadline), deadline)
        }
        return next.count
    }

    /// Waits on the calling thread until the steps are done.
    @available(*, noasync)
    static func block(
        _ half: WaitPoint.Half, _ step: (_ wake: Wake?, _ deadline: Moment?) throws(StreamError) -> CallStep
    ) throws(StreamError) -> Int {
        var (wake, until): (Wake?, Moment?) = (nil, nil)
        while true {
            switch try step(wake, until) {
            case .done(let count): return count
            case .wait(let point, let interest, let deadline):
                let reason = point.block(half, for: interest, until: deadline)
                // A transport that is woken again and again without receiving bytes must not defer the limit.
                let isLate = reason == .ready && deadline.map { Moment.now >= $0 } ?? false
                (wake, until) = (isLate ? .timedOut : reason, deadline)
            }
        }
    }
}

// MARK: - Calls without a buffer

extension HalfCall {
    /// A step of waiting until the half is open.
    ///
    /// It has no deadline, and waits at the point of opening: the limits of the stream are those of its transfers.
    func untilOpened(after wake: Wake?) throws(StreamError) -> CallStep {
        try step(after: wake, until: nil, at: { connection.pointOfOpening(half) ?? connection.signalledPoint() }) {
            () throws(StreamError) in
            switch connection.status(half) {
            case .opening: return .wouldBlock([.readable, .writable])
            case .notOpen: throw .notOpen
            case .closed: throw .closed
            case .error: throw connection.error(half) ?? .closed
            case .open, .reading, .writing, .atEnd: return .ended
            }
        }
    }

    /// A step of waiting until a transfer would not wait.
    func untilReady(after wake: Wake?, _ deadline: Moment?) throws(StreamError) -> CallStep {
        try untilReady(or: { false }, after: wake, deadline)
    }

    /// A step of waiting until a transfer would not wait, or something else has happened.
    ///
    /// Not inlined: the optimizer of Swift 6.3.1 crashes in `ReadStream.ready(or:)` otherwise.
    @inline(never)
    func untilReady(
        or isOver: () -> Bool, after wake: Wake?, _ deadline: Moment?
    ) throws(StreamError) -> CallStep {
        try step(after: wake, until: deadline) { () throws(StreamError) in
            let attempt = try StreamSide(connection, half).poll()
            if case .wouldBlock = attempt, isOver() { return .moved(1) }
            return attempt
        }
    }

    /// A step of ending the sending direction.
    func untilFinished(after wake: Wake?, _ deadline: Moment?) throws(StreamError) -> CallStep {
        try step(after: wake, until: deadline) { () throws(StreamError) in try HalfCall.tryFinish(connection) }
    }

    /// Tries to end the sending direction; the call is inside.
    static func tryFinish(_ connection: Connection) throws(StreamError) -> Attempt {
        guard connection.isOpen(.writer), let engine = connection.engine else {
            return try connection.attemptWhileNotOpen(.writer)
        }
        do throws(StreamError) {
            let attempt = try engine.tryFinish()
            if case .ended = attempt { connection.noteEnd(.writer) }
            return attempt
        } catch {
            throw connection.fail(error, .writer)
        }
    }

    /// Waits in the kernel until a read would not wait, if that is possible.
    @available(*, noasync)
    func blockInKernel() throws(StreamError) -> Bool {
        guard connection.mayWaitInKernel(half) else { return false }
        defer { leave() }
        do throws(StreamError) {
            _ = try Syscalls.peek(connection.point.descriptor, waits: true)
        } catch {
            throw connection.fail(error, half)
        }
        if connection.isClosing(half) { throw .closed }
        return true
    }
}
