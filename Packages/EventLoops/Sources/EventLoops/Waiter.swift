internal import Synchronization

/// The slot where at most one task, thread or callback waits for one half of a connection.
///
/// Theory of operation. Everything is in one atomic word, so any thread may touch it and no lock is ever held:
///
///     0…3                     nobody waits; the bits are the edges seen since the last wait (latched)
///     8 | 0…3                 likewise, and nothing has become readable since a read emptied the source (drained)
///     pointer | kind | bits   a task, thread or callback waits for these bits
///                             kind 0: an UnsafeContinuation, kind 4: a retained Watcher
///
/// Invariant: *drained* and an edge that says "readable" exclude each other. Latching such an edge, parking, and waking
/// replace the whole word, so no edge can be consumed while a stale *drained* stays behind, in whatever order the calls come.
///
/// An edge that arrives between a system call's EAGAIN and the parking is latched, so that nothing is lost; a stale
/// latch costs one spare system call. Cancelling, closing and deadlines are nothing but spurious wakes: who wakes looks
/// at the world again, so there is nothing to undo and nothing to be left behind.
///
/// Tasks and Swift objects are aligned to 16 bytes, which leaves the four low bits of their addresses to us.
struct Waiter: ~Copyable {
    enum Parking {
        /// In the word now; the next matching signal takes it out.
        case parked
        /// An edge was latched: try again instead of waiting.
        case ready
        /// Somebody else waits here.
        case busy
    }

    private static let bits: UInt = 3
    private static let watcherKind: UInt = 4
    private static let drained: UInt = 8
    private static let tags: UInt = 15

    private let word = Atomic<UInt>(0)

    deinit {
        let entry = word.load(ordering: .acquiring)
        // No task waits here any more: it would hold what holds this. A watcher may have been left behind.
        if entry & Waiter.watcherKind != 0, let pointer = UnsafeRawPointer(bitPattern: entry & ~Waiter.tags) {
            Unmanaged<Watcher>.fromOpaque(pointer).release()
        }
    }

    /// Whether a signal would have an effect: a waiter is parked, or one of these edges is not latched yet.
    @inline(__always)
    func hasRoom(for interest: Interest) -> Bool {
        let seen = word.load(ordering: .acquiring)
        return seen > Waiter.tags || seen & interest.rawValue != interest.rawValue & Waiter.bits
    }

    /// Whether a waiter is parked.
    var isParked: Bool { word.load(ordering: .acquiring) > Waiter.tags }

    /// True if nothing has become readable since ``noteDrained()``, and nothing has waited here since.
    @inline(__always)
    var isDrained: Bool {
        let seen = word.load(ordering: .acquiring)
        return seen & Waiter.drained != 0 && seen <= Waiter.tags
    }

    /// Notes that a read has just emptied the source. Has no effect if an edge came meanwhile: it may stand for bytes that
    /// arrived after that read.
    @inline(__always)
    func noteDrained() {
        let seen = word.load(ordering: .acquiring)
        guard seen <= Waiter.tags, seen & (Waiter.drained | Interest.readable.rawValue) == 0 else { return }
        // A word that has just changed has an edge in it.
        _ = word.compareExchange(
            expected: seen, desired: seen | Waiter.drained, ordering: .acquiringAndReleasing)
    }

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

    @inline(__always)
    private func park(_ entry: UInt) -> Parking {
        var seen = word.load(ordering: .acquiring)
        while true {
            if seen > Waiter.tags { return .busy }
            let isLatched = seen & entry & Waiter.bits != 0
            let (done, now) = word.compareExchange(
                expected: seen, desired: isLatched ? 0 : entry, ordering: .acquiringAndReleasing)
            if done { return isLatched ? .ready : .parked }
            seen = now
        }
    }

    /// Wakes who waits for any of these bits, else latches them.
    @inline(__always)
    func signal(_ interest: Interest) {
        var seen = word.load(ordering: .acquiring)
        while true {
            if seen <= Waiter.tags {
                let edges = interest.rawValue & Waiter.bits
                // A readable edge, bit 0, takes away bit 3.
                let latched = (seen | edges) & ~((edges & Interest.readable.rawValue) << 3)
                if latched == seen { return }
                let (done, now) = word.compareExchange(
                    expected: seen, desired: latched, ordering: .acquiringAndReleasing)
                if done { return }
                seen = now
            } else if seen & interest.rawValue == 0 {
                return  // not what it waits for, and it tries again anyway when it wakes
            } else {
                let (done, now) = word.compareExchange(expected: seen, desired: 0, ordering: .acquiringAndReleasing)
                if done { return Waiter.wake(seen) }
                seen = now
            }
        }
    }

    /// Takes latched edges back. A waiter that is parked is not affected.
    func withdraw(_ interest: Interest) {
        var seen = word.load(ordering: .acquiring)
        while seen <= Waiter.tags, seen & interest.rawValue & Waiter.bits != 0 {
            let (done, now) = word.compareExchange(
                expected: seen, desired: seen & ~(interest.rawValue & Waiter.bits), ordering: .acquiringAndReleasing)
            if done { return }
            seen = now
        }
    }

    /// Takes a watcher back that has not been woken; true if it was still there.
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

    /// Who waits for nothing in particular is woken by everything, close and cancellation among it.
    @inline(__always)
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
