internal import Synchronization

/// The slot where at most one task, thread or callback waits for one half of a connection.
///
/// Theory of operation. Everything is in one atomic word, so any thread may touch it and no lock is ever held:
///
///     0…3                     no waiter; the bits are the edges seen since the last wait (latched)
///     8 | 0…3                 the same, and nothing has become readable since a read emptied the source (drained)
///     pointer | kind | bits   a task, thread or callback waits for these bits
///                             kind 0: an UnsafeContinuation, kind 4: a retained Watcher
///
/// Each state and each event; `r` and `w` are the readable and the writable edge. `P:r` is parked for that edge, `!` ends the wait at
/// once, `*` wakes the waiter.
///
///     slot | signal r | signal w | signal rw | park r | park w | park rw | unpark | drain | withdraw r | withdraw w
///     -    | r        | w        | rw        | P:r    | P:w    | P:rw    | -      | d     | -          | -
///     r    | r        | rw       | rw        | -!     | P:w    | -!      | r      | r     | -          | r
///     w    | rw       | w        | rw        | P:r    | -!     | -!      | w      | dw    | w          | -
///     rw   | rw       | rw       | rw        | -!     | -!     | -!      | rw     | rw    | w          | r
///     d    | r        | dw       | rw        | P:r    | P:w    | P:rw    | d      | d     | d          | d
///     dw   | rw       | dw       | rw        | P:r    | -!     | -!      | dw     | dw    | dw         | d
///     P:r  | -*       | P:r      | -*        | busy   | busy   | busy    | -      | P:r   | P:r        | P:r
///     P:w  | P:w      | -*       | -*        | busy   | busy   | busy    | -      | P:w   | P:w        | P:w
///     P:rw | -*       | -*       | -*        | busy   | busy   | busy    | -      | P:rw  | P:rw       | P:rw
///
/// Invariant: *drained* and a latched readable edge exclude each other. Latching such an edge, parking and waking replace the
/// whole word, so no edge can be consumed while a stale *drained* remains, in whatever order the calls come.
///
/// An edge that arrives between a system call's EAGAIN and the parking is latched, so that it is not lost; a stale latch costs
/// one unnecessary system call. Cancelling, closing and deadlines are only spurious wakes: the waiter checks the state again, so
/// there is nothing to undo.
///
/// Memory order: ``PointState``. Parking and the first load of ``signal(_:)`` and ``isParked`` are sequentially consistent, because
/// a closing thread writes the state before it signals, and a waiter reads it after it has parked.
///
/// Tasks and Swift objects are aligned to 16 bytes, so the four low bits of their addresses are free.
@usableFromInline
struct Waiter: ~Copyable, Sendable {
    @usableFromInline
    enum Parking {
        /// The waiter is in the word; the next matching signal removes it.
        case parked
        /// An edge was latched: try again instead of waiting.
        case ready
        /// There is another waiter.
        case busy
    }

    private static let bits: UInt = 3
    private static let watcherKind: UInt = 4
    private static let drained: UInt = 8
    private static let tags: UInt = 15

    private let word = Atomic<UInt>(0)

    deinit {
        let entry = word.load(ordering: .acquiring)
        // No task is waiting, because it would keep the owner of this alive. A watcher may remain.
        if entry & Waiter.watcherKind != 0, let pointer = UnsafeRawPointer(bitPattern: entry & ~Waiter.tags) {
            Unmanaged<Watcher>.fromOpaque(pointer).release()
        }
    }

    /// Whether a waiter is parked.
    var isParked: Bool { word.load(ordering: .sequentiallyConsistent) > Waiter.tags }

    /// Whether one of these edges is not latched, or a waiter is parked.
    func hasRoom(for interest: Interest) -> Bool {
        let seen = word.load(ordering: .acquiring)
        return seen > Waiter.tags || seen & interest.rawValue != interest.rawValue & Waiter.bits
    }

    /// Whether this watcher is parked here. False as soon as a signal has taken it, even if it has not been fired yet.
    func holds(_ watcher: Watcher) -> Bool {
        word.load(ordering: .acquiring) & ~Waiter.tags == UInt(bitPattern: Unmanaged.passUnretained(watcher).toOpaque())
    }

    /// True if nothing has become readable since ``noteDrained()``, and nothing has waited here since.
    var isDrained: Bool {
        let seen = word.load(ordering: .acquiring)
        return seen & Waiter.drained != 0 && seen <= Waiter.tags
    }

    /// Records that a read has just emptied the source. Has no effect if an edge was latched meanwhile: it may announce bytes
    /// that arrived after the read.
    func noteDrained() {
        let seen = word.load(ordering: .acquiring)
        guard seen <= Waiter.tags, seen & (Waiter.drained | Interest.readable.rawValue) == 0 else { return }
        // If the word has just changed, it contains an edge.
        _ = word.compareExchange(
            expected: seen, desired: seen | Waiter.drained, ordering: .acquiringAndReleasing)
    }

    @usableFromInline
    @inline(__always)
    func park(_ continuation: UnsafeContinuation<Void, Never>, for interest: Interest) -> Parking {
        park(unsafeBitCast(continuation, to: UInt.self) | Waiter.wanted(interest))
    }

    func park(_ watcher: Watcher, for interest: Interest) -> Parking {
        let reference = Unmanaged.passRetained(watcher)
        let parking = park(UInt(bitPattern: reference.toOpaque()) | Waiter.watcherKind | Waiter.wanted(interest))
        if parking != .parked { reference.release() }
        return parking
    }

    private func park(_ entry: UInt) -> Parking {
        var seen = word.load(ordering: .acquiring)
        while true {
            if seen > Waiter.tags { return .busy }
            let isLatched = seen & entry & Waiter.bits != 0
            let (done, now) = word.compareExchange(
                expected: seen, desired: isLatched ? 0 : entry, ordering: .sequentiallyConsistent)
            if done { return isLatched ? .ready : .parked }
            seen = now
        }
    }

    /// Wakes the waiter if it waits for any of these bits; latches them if there is no waiter.
    @usableFromInline
    @inline(__always)
    func signal(_ interest: Interest) {
        var seen = word.load(ordering: .sequentiallyConsistent)
        while true {
            if seen <= Waiter.tags {
                let edges = interest.rawValue & Waiter.bits
                // A readable edge (bit 0) clears bit 3.
                let latched = (seen | edges) & ~((edges & Interest.readable.rawValue) << 3)
                if latched == seen { return }
                let (done, now) = word.compareExchange(
                    expected: seen, desired: latched, ordering: .acquiringAndReleasing)
                if done { return }
                seen = now
            } else if seen & interest.rawValue == 0 {
                return  // the waiter waits for another edge, and tries again anyway when it wakes
            } else {
                let (done, now) = word.compareExchange(expected: seen, desired: 0, ordering: .acquiringAndReleasing)
                if done { return Waiter.wake(seen) }
                seen = now
            }
        }
    }

    /// Withdraws latched edges. A parked waiter is not affected.
    func withdraw(_ interest: Interest) {
        var seen = word.load(ordering: .acquiring)
        while seen <= Waiter.tags, seen & interest.rawValue & Waiter.bits != 0 {
            let (done, now) = word.compareExchange(
                expected: seen, desired: seen & ~(interest.rawValue & Waiter.bits), ordering: .acquiringAndReleasing)
            if done { return }
            seen = now
        }
    }

    /// Withdraws a watcher; true if it was parked and has not been fired.
    @discardableResult
    func unpark(_ watcher: Watcher) -> Bool {
        let reference = Unmanaged.passUnretained(watcher)
        let address = UInt(bitPattern: reference.toOpaque())
        var seen = word.load(ordering: .acquiring)
        while seen & ~Waiter.tags == address {
            let (done, now) = word.compareExchange(expected: seen, desired: 0, ordering: .acquiringAndReleasing)
            if done {
                reference.release()
                return true
            }
            seen = now
        }
        return false
    }

    /// The bits to wait for. An empty interest waits for both, so that close and cancellation wake the waiter.
    private static func wanted(_ interest: Interest) -> UInt {
        let wanted = interest.rawValue & bits
        return wanted == 0 ? bits : wanted
    }

    private static func wake(_ entry: UInt) {
        let address = entry & ~tags
        if entry & watcherKind == 0 {
            unsafeBitCast(address, to: UnsafeContinuation<Void, Never>.self).resume()
        } else if let pointer = UnsafeRawPointer(bitPattern: address) {
            Unmanaged<Watcher>.fromOpaque(pointer).takeRetainedValue().fire()
        }
    }
}
