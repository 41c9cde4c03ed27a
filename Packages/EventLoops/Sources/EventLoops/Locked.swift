internal import CEventLoops
internal import Glibc
internal import Synchronization

/// A value behind a lock.
///
/// ```swift
/// let names = Locked<[String]>([])
/// names.withLock { $0.append("a") }
/// ```
///
/// Built on an atomic word, which ThreadSanitizer understands; it reports each access under `Synchronization.Mutex` on
/// Linux as a race. One allocation holds the lock and the value. All of it can be inlined: in other modules an
/// unspecialized `withLock` would cost a thousand instructions and more.
///
/// Never hold the lock while calling out (continuations, callbacks, `deinit` of values you do not know).
public struct Locked<State: ~Copyable>: ~Copyable {
    @usableFromInline let address: LockAddress

    /// Puts `state` behind a new lock.
    @inlinable
    public init(_ state: consuming sending State) {
        let offset = Self.offset
        address = LockAddress(
            byteCount: offset + MemoryLayout<State>.size,
            alignment: Swift.max(LockAddress.size, MemoryLayout<State>.alignment))
        (address.memory + offset).bindMemory(to: State.self, capacity: 1).initialize(to: consume state)
    }

    @inlinable
    deinit {
        state.deinitialize(count: 1)
        address.deallocate()
    }

    /// Runs `body` alone with the value and returns its result.
    ///
    /// - Throws: what `body` throws; the lock is released.
    @inlinable
    public borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        address.lock()
        defer { address.unlock() }
        return try body(&state.pointee)
    }

    /// Where the value begins, behind the lock.
    @inlinable
    static var offset: Int {
        let alignment = MemoryLayout<State>.alignment
        return (LockAddress.size + alignment - 1) & ~(alignment - 1)
    }

    @inlinable
    var state: UnsafeMutablePointer<State> {
        (address.memory + Self.offset).assumingMemoryBound(to: State.self)
    }
}

// The state is reachable only inside `withLock`, one thread at a time; a non-Sendable state came in as `sending`, so
// nobody else holds it.
extension Locked: @unchecked Sendable where State: ~Copyable {}

/// The address of a lock. It hides the lock's type from code that is inlined into other modules.
///
/// Theory of operation. The lock is one word: unlocked, locked, or locked with threads that may wait in `futex(2)`. Without
/// contention, locking and unlocking are one atomic operation each, a third of the instructions of a `pthread_mutex_t`. A thread
/// that had to wait locks with ``contended``, because it cannot know whether other threads still wait.
@usableFromInline
struct LockAddress {
    private static let unlocked: UInt32 = 0
    private static let locked: UInt32 = 1
    private static let contended: UInt32 = 2

    @inlinable static var size: Int { 4 }

    @usableFromInline let memory: UnsafeMutableRawPointer

    /// `malloc` aligns to 16 bytes. Swift's own allocation asks `posix_memalign` for as much, which costs ten times as much
    /// and leaves holes behind.
    @usableFromInline
    init(byteCount: Int, alignment: Int) {
        let rounded = (byteCount + alignment - 1) & ~(alignment - 1)
        guard let memory = alignment <= 16 ? malloc(byteCount) : aligned_alloc(alignment, rounded) else {
            fatalError("Locked: there is no memory")
        }
        self.memory = memory
        assert(MemoryLayout<Atomic<UInt32>>.size == LockAddress.size)
        memory.bindMemory(to: Atomic<UInt32>.self, capacity: 1).initialize(to: Atomic(LockAddress.unlocked))
    }

    @usableFromInline
    func lock() {
        let isLocked = word.pointee.compareExchange(
            expected: LockAddress.unlocked, desired: LockAddress.locked, ordering: .acquiring
        ).exchanged
        if !isLocked { lockContended() }
    }

    @inline(never)
    private func lockContended() {
        while word.pointee.exchange(LockAddress.contended, ordering: .acquiring) != LockAddress.unlocked {
            netkit_wait_while(memory, LockAddress.contended)
        }
    }

    @usableFromInline
    func unlock() {
        // Another thread can lock and deallocate at once; waking an address that is no lock any more is harmless.
        if word.pointee.exchange(LockAddress.unlocked, ordering: .releasing) == LockAddress.contended {
            netkit_wake(memory)
        }
    }

    @usableFromInline
    func deallocate() { Glibc.free(memory) }

    private var word: UnsafeMutablePointer<Atomic<UInt32>> {
        memory.assumingMemoryBound(to: Atomic<UInt32>.self)
    }
}
