public import Synchronization

/// The state of a ``WaitPoint`` in one atomic word: the halves in use and those that are closed, and the watching
/// of the descriptor.
///
/// The bits:
///
///     0…1    a call is inside the reader, the writer
///     2…3    the reader, the writer is closed
///     4      finished: the descriptor has been released, that is closed or returned to the caller
///     5…7    owned; was owned when it was attached; attached
///     8      polled: a poller watches the descriptor or is about to, so a call that waits must have the loop watch it
///     9      moving: a poller takes the descriptor over just now, from the loop or from another poller
///     10     reclaimed: the loop has taken the descriptor over from a poller, and keeps it
///     11     work polled: as *polled*, for the descriptors of the work that a point without a descriptor represents
///     12…31  the number of uses: users that are neither reader nor writer
///
/// One half. An event of the other half changes nothing here. *closing* is a closed half with a call inside; `wakes` means that
/// each wait at the half is signalled.
///
///     half    | enter           | leave  | close
///     free    | inside, entered | -      | closed, wakes
///     inside  | inside, busy    | free   | closing, wakes
///     closing | closing, closed | closed | closing
///     closed  | closed, closed  | -      | closed
///
/// The point as a whole. *ending* means that both halves are closed while a call or use is inside; `last` is the departure of the last
/// call or use. A point without a descriptor goes through the same states.
///
///     point    | attach            | use              | close both        | last
///     empty    | attached, signals | empty, granted   | finished          | -
///     attached | -                 | attached, granted | finished, closes | -
///     used     | -                 | used, granted    | ending, shuts     | attached
///     ending   | ending, closes    | ending, refused  | ending            | finished, closes
///     finished | finished, closes  | finished, refused | finished         | -
///
/// `closes` is `close(2)` of an owned descriptor, which happens once, and `shuts` is `shutdown(2)` of a direction in which a call
/// may be blocked. Attaching to a closed point closes the descriptor that was to be attached.
///
/// The slots where calls and observers wait have their table in ``Waiter``, and the watching of the descriptor in
/// ``DescriptorWatch``.
///
/// Memory order. Three rules cover all words of a point:
///
/// 1. *One word.* Entering, leaving, using and closing, and latching and parking, each compete for a single word. The
///    modifications of a word have one order, so acquire and release suffice.
/// 2. *Publishing.* The descriptor's number is stored before *attached* is set and the slots are signalled, and a report of epoll
///    before its edge is latched. A thread that has seen the second has acquired the first.
/// 3. *Writing one word, then reading another one.* Two threads do so crosswise, and one of them at least must find the other:
///
///        a call or an observer parks, then reads the state   | close() sets *closed*, then reads the slots
///        a call or an observer parks, then reads the state   | a poller sets *polled* and *moving*, then reads the slots
///        a call parks, then reads the state                  | an observer sets *work polled*, then reads the slots
///
///    With acquire and release alone, a processor may read before its own write is visible: on arm64 both could miss each other, and
///    the wait would never end. So all four accesses are sequentially consistent, which orders each write before the read that
///    follows it. On x86-64, they are the same instructions as without.
@usableFromInline
struct PointState: ~Copyable, Sendable {
    @usableFromInline
    enum Bits {
        static let finished: UInt32 = 1 << 4
        static let owned: UInt32 = 1 << 5
        static let attachedOwned: UInt32 = 1 << 6
        static let attached: UInt32 = 1 << 7
        static let polled: UInt32 = 1 << 8
        static let moving: UInt32 = 1 << 9
        static let reclaimed: UInt32 = 1 << 10
        static let workPolled: UInt32 = 1 << 11
        @inlinable static var oneUse: UInt32 { 1 << 12 }

        @inlinable static var bothInside: UInt32 { 0b0011 }
        @inlinable static var bothClosed: UInt32 { 0b1100 }
        static let users = bothInside | ~(oneUse - 1)

        @inlinable
        static func inside(_ half: WaitHalf) -> UInt32 { 1 << UInt32(truncatingIfNeeded: half.index) }

        @inlinable
        static func closed(_ half: WaitHalf) -> UInt32 { 4 << UInt32(truncatingIfNeeded: half.index) }

        static func attached(_ ownership: DescriptorOwnership) -> UInt32 {
            switch ownership {
            case .owned: attached | attachedOwned | owned
            case .borrowed: attached
            }
        }
    }

    @usableFromInline let word: Atomic<UInt32>

    init(_ bits: UInt32 = 0) {
        word = Atomic(bits)
    }

    /// The bits, for decisions about one word: rules 1 and 2.
    @inlinable
    var bits: UInt32 { word.load(ordering: .acquiring) }

    /// The bits, read after another word has been written: rule 3.
    @inlinable
    var bitsAfterParking: UInt32 { word.load(ordering: .sequentiallyConsistent) }

    @inlinable
    func isInside(_ half: WaitHalf) -> Bool { word.load(ordering: .relaxed) & Bits.inside(half) != 0 }

    @inlinable
    func isClosed(_ half: WaitHalf) -> Bool { bits & Bits.closed(half) != 0 }

    var isOwned: Bool { bits & Bits.owned != 0 }

    @inlinable
    @inline(__always)
    func enter(_ half: WaitHalf) -> WaitHalf.Entry {
        var seen = word.load(ordering: .relaxed)
        while true {
            if seen & Bits.closed(half) != 0 { return .closed }
            if seen & Bits.inside(half) != 0 { return .busy }
            let (done, now) = word.weakCompareExchange(
                expected: seen, desired: seen | Bits.inside(half), successOrdering: .acquiring,
                failureOrdering: .relaxed)
            if done { return .entered }
            seen = now
        }
    }

    /// Ends a call. Returns true if both halves are closed, and the caller must therefore ``finish()``.
    @inlinable
    func leave(_ half: WaitHalf) -> Bool {
        let now = word.bitwiseAnd(~Bits.inside(half), ordering: .acquiringAndReleasing).newValue
        return now & Bits.bothClosed == Bits.bothClosed
    }

    /// Begins a use. Returns false if both halves are closed; the use must be ended all the same.
    @inlinable
    func beginUse() -> Bool {
        word.wrappingAdd(Bits.oneUse, ordering: .acquiring).oldValue & Bits.bothClosed != Bits.bothClosed
    }

    /// Ends a use. Returns true if both halves are closed, and the caller must therefore ``finish()``.
    @inlinable
    func endUse() -> Bool {
        let now = word.wrappingSubtract(Bits.oneUse, ordering: .acquiringAndReleasing).newValue
        return now & Bits.bothClosed == Bits.bothClosed
    }

    /// Closes halves, and begins a use. Returns the bits until now; nil if they were closed already.
    func close(_ closed: UInt32) -> UInt32? {
        var seen = word.load(ordering: .relaxed)
        while true {
            if seen & closed == closed || seen & Bits.finished != 0 { return nil }
            let (done, now) = word.weakCompareExchange(
                expected: seen, desired: (seen | closed) &+ Bits.oneUse, successOrdering: .sequentiallyConsistent,
                failureOrdering: .relaxed)
            if done { return seen }
            seen = now
        }
    }

    /// Returns the bits if the descriptor must be released now: once, when both halves are closed and no user is inside.
    ///
    /// A user that comes too late is the last one to leave, a second time; the bit ensures that only one of them finishes.
    func finish() -> UInt32? {
        guard bits & (Bits.users | Bits.finished) == 0 else { return nil }
        let last = word.bitwiseOr(Bits.finished, ordering: .acquiringAndReleasing).oldValue
        return last & Bits.finished == 0 ? last : nil
    }

    /// Sets the bits of a descriptor. Returns the bits from now on.
    func attach(_ ownership: DescriptorOwnership) -> UInt32 {
        let (old, new) = word.bitwiseOr(Bits.attached(ownership), ordering: .acquiringAndReleasing)
        precondition(old & Bits.attached == 0, "WaitPoint: a descriptor can be attached only once")
        return new
    }

    /// Sets whether the descriptor is owned; nil restores the ownership with which it was attached.
    func setOwned(_ isOwned: Bool?) {
        var seen = word.load(ordering: .relaxed)
        while true {
            let owned = isOwned ?? (seen & Bits.attachedOwned != 0) ? seen | Bits.owned : seen & ~Bits.owned
            let (done, now) = word.compareExchange(expected: seen, desired: owned, ordering: .acquiringAndReleasing)
            if done { return }
            seen = now
        }
    }

    /// Sets bits before the slots are read: rule 3. Returns the bits until now.
    func setBeforeLooking(_ bits: UInt32) -> UInt32 {
        word.bitwiseOr(bits, ordering: .sequentiallyConsistent).oldValue
    }

    func set(_ bits: UInt32) {
        word.bitwiseOr(bits, ordering: .acquiringAndReleasing)
    }

    func clear(_ bits: UInt32) {
        word.bitwiseAnd(~bits, ordering: .acquiringAndReleasing)
    }
}
