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
/// The lock is an atomic word, which ThreadSanitizer understands; on Linux it reports each access under `Synchronization.Mutex`
/// as a race. One allocation holds the lock and the value. Everything can be inlined: an unspecialized `withLock` in another
/// module would cost more than a thousand instructions.
///
/// Never call unknown code while holding the lock: continuations, callbacks, or the `deinit` of values of unknown types.
public struct Locked<State: ~Copyable>: ~Copyable {
    @usableFromInline let address: LockAddress

    /// Puts a value behind a new lock.
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

    /// Runs `body` with exclusive access to the value and returns its result.
    ///
    /// - Throws: the error of `body`; the lock is released.
    @inlinable
    public borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        address.lock()
        defer { address.unlock() }
        return try body(&state.pointee)
    }

    /// The offset of the value, which follows the lock.
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

// The state is accessible only inside `withLock`, to one thread at a time. A state that is not Sendable was passed as
// `sending`, so no other reference to it exists.
extension Locked: @unchecked Sendable where State: ~Copyable {}

/// The address of a lock. It hides the lock's type from code that is inlined into other modules.
///
/// Theory of operation. The lock is one word: unlocked, locked, or locked with threads that may wait in `futex(2)`. Without
/// contention, locking and unlocking are one atomic operation each, a third of the instructions of a `pthread_mutex_t`. A thread
/// that had to wait locks with ``contended``, because it cannot know whether other threads are still waiting.
@usableFromInline
struct LockAddress {
    private static let unlocked: UInt32 = 0
    private static let locked: UInt32 = 1
    private static let contended: UInt32 = 2

    @inlinable static var size: Int { 4 }

    @usableFromInline let memory: UnsafeMutableRawPointer

    /// `malloc` aligns to 16 bytes. Swift's own allocation calls `posix_memalign` for the same alignment, which costs ten times
    /// as much and fragments the heap.
    @usableFromInline
    init(byteCount: Int, alignment: Int) {
        let rounded = (byteCount + alignment - 1) & ~(alignment - 1)
        guard let memory = alignment <= 16 ? malloc(byteCount) : aligned_alloc(alignment, rounded) else {
            fatalError("Locked: out of memory")
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
        // Another thread can lock and deallocate at once; waking an address that is no longer a lock is harmless.
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
