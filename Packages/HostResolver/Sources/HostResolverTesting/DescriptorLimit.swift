internal import Dispatch
internal import EventLoops
internal import Glibc

/// Lets a test use up the descriptors of a process that it has for itself.
///
/// ```swift
/// let limit = try DescriptorLimit()        // in an exit test
/// limit.allow(0)
/// // Every call that makes a descriptor fails with EMFILE now.
/// limit.lift()
/// ```
///
/// Nothing may suspend while the limit holds: libdispatch needs descriptors when it starts a thread, and ends the process without them.
@_spi(Packages) public struct DescriptorLimit: Sendable {
    private let old: rlimit
    /// The number of descriptors of the process, which have the smallest numbers.
    private let count: Int

    /// Fills the gaps between the open descriptors, so that each further one has a larger number.
    ///
    /// - Throws: ``Failure`` if the process has too many descriptors already.
    public init() throws(Failure) {
        DescriptorLimit.startDispatch()
        // A wait of a thread takes a descriptor that the process keeps for the next one.
        _ = try? OneShot<Void>().value(until: .now + .milliseconds(1))
        var old = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &old)
        guard let last = DescriptorLimit.openDescriptors().max() else { throw Failure() }
        var filler: CInt = 0
        while filler <= last {
            filler = fcntl(last, F_DUPFD_CLOEXEC, 0)
            if filler < 0 { throw Failure() }
        }
        close(filler)
        (self.old, count) = (old, Int(filler))
    }

    /// Waits until libdispatch has the descriptors that it keeps. It makes them on a thread of its own, soon after the process has begun,
    /// and ends the process if it gets none.
    ///
    /// Call this in an exit test that takes descriptors away without this type.
    public static func startDispatch() {
        let hasStarted = DispatchSemaphore(value: 0)
        let timer = DispatchSource.makeTimerSource()
        timer.setEventHandler { hasStarted.signal() }
        timer.schedule(deadline: .now())
        timer.resume()
        hasStarted.wait()
        timer.cancel()
    }

    /// The process has too many descriptors to test what happens without.
    public struct Failure: Error {
        /// Makes the error.
        public init() {}
    }

    /// Allows this many further descriptors until ``lift()``.
    public func allow(_ further: Int) {
        var limit = rlimit(rlim_cur: rlim_t(count + further), rlim_max: old.rlim_max)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Restores the limit that the process had.
    public func lift() {
        var limit = old
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Waits until all descriptors that were opened since the limit was made are closed, as other threads may be about to do. Returns false
    /// if they are not within the time.
    public func waitUntilBalanced(for time: Duration = .seconds(10)) -> Bool {
        let end = ContinuousClock.now + time
        while DescriptorLimit.openDescriptors().contains(where: { $0 >= count }) {
            if ContinuousClock.now > end { return false }
            sched_yield()
        }
        return true
    }

    /// The open descriptors. Asks for each, since a folder of /proc could not be opened without a descriptor.
    static func openDescriptors() -> [CInt] {
        (0..<4096).filter { fcntl($0, F_GETFD) >= 0 }
    }
}

extension DescriptorLimit {
    /// Makes a call with 0, 1, 2, … further descriptors, until it succeeds.
    ///
    /// - Parameters:
    ///   - isScarcity: whether the call's error says that no descriptors are left.
    ///   - call: must not suspend, and must close what it opens.
    /// - Returns: the number of descriptors that the call needs, nil if more than 32; and whether each failure was as it should be:
    ///   the right error, and no descriptor left open.
    @_spi(Packages) public static func need(
        of call: () throws -> Void, isScarcity: (any Error) -> Bool
    ) throws(Failure) -> (count: Int?, failsWell: Bool) {
        let limit = try DescriptorLimit()
        var failsWell = true
        for further in 0...32 {
            limit.allow(further)
            defer { limit.lift() }
            do {
                try call()
                return (further, failsWell)
            } catch {
                limit.lift()
                if !isScarcity(error) || !limit.waitUntilBalanced() { failsWell = false }
            }
        }
        return (nil, failsWell)
    }
}
