internal import CEventLoops
internal import Glibc
public import Synchronization

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
///
/// Put a closure into a structure, `Locked<State>` with `var handler: (() -> Void)?`, and not alone behind the lock. Swift 6.3.1 wraps
/// a closure that is itself the value in a function for generic code, and once more at each ``withLock(_:)``, whether that changes it or
/// not. After 100,000 of them, a call needs a stack of megabytes.
public struct Locked<State: ~Copyable>: ~Copyable {
    /// The lock, followed by the value.
    @usableFromInline let lock: UnsafeMutablePointer<Lock>

    /// Puts a value behind a new lock.
    @inlinable
    public init(_ state: consuming sending State) {
        lock = Lock.allocate(
            byteCount: Self.offset + MemoryLayout<State>.size,
            alignment: Swift.max(MemoryLayout<Lock>.alignment, MemoryLayout<State>.alignment))
        self.state.initialize(to: consume state)
    }

    @inlinable
    deinit {
        state.deinitialize(count: 1)
        Lock.deallocate(lock)
    }

    /// Runs `body` with exclusive access to the value and returns its result.
    ///
    /// - Throws: the error of `body`; the lock is released.
    @inlinable
    public borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        lock.pointee.lock()
        defer { lock.pointee.unlock() }
        return try body(&state.pointee)
    }

    /// The offset of the value.
    @inlinable
    static var offset: Int {
        let alignment = MemoryLayout<State>.alignment
        return (MemoryLayout<Lock>.size + alignment - 1) & ~(alignment - 1)
    }

    @inlinable
    var state: UnsafeMutablePointer<State> {
        (UnsafeMutableRawPointer(lock) + Self.offset).assumingMemoryBound(to: State.self)
    }
}

// The state is accessible only inside `withLock`, to one thread at a time. A state that is not Sendable was passed as
// `sending`, so no other reference to it exists.
extension Locked: @unchecked Sendable where State: ~Copyable {}

/// A lock without a value: for an object that keeps its state in its own memory.
///
/// A value behind ``Locked`` costs an allocation of its own. An object that is made for each request can have a private state and
/// a private lock beside each other instead; it must then access the state only inside ``withLock(_:)``.
///
/// Theory of operation. The lock is one word: unlocked, locked, or locked with threads that may wait in `futex(2)`. Without
/// contention, locking and unlocking are one atomic operation each, a third of the instructions of a `pthread_mutex_t`. A thread
/// that had to wait locks as contended, because it cannot know whether other threads are still waiting.
public struct Lock: ~Copyable, Sendable {
    @inlinable static var unlocked: UInt32 { 0 }
    @inlinable static var locked: UInt32 { 1 }
    @inlinable static var contended: UInt32 { 2 }

    @usableFromInline let word = Atomic<UInt32>(Lock.unlocked)

    /// Makes an unlocked lock.
    public init() {}

    /// Runs `body` while no other thread is inside, and returns its result.
    ///
    /// - Throws: the error of `body`; the lock is released.
    @inlinable
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        lock()
        defer { unlock() }
        return try body()
    }

    @inlinable
    borrowing func lock() {
        let isLocked = word.compareExchange(
            expected: Lock.unlocked, desired: Lock.locked, ordering: .acquiring
        ).exchanged
        if !isLocked { lockContended() }
    }

    @usableFromInline
    @inline(never)
    borrowing func lockContended() {
        while word.exchange(Lock.contended, ordering: .acquiring) != Lock.unlocked {
            // An atomic is never moved while it is borrowed, so this is the word's own address.
            withUnsafePointer(to: word) { netkit_wait_while($0, Lock.contended) }
        }
    }

    @inlinable
    borrowing func unlock() {
        withUnsafePointer(to: word) { word in
            if word.pointee.exchange(Lock.unlocked, ordering: .releasing) == Lock.contended { Lock.wakeOne(word) }
        }
    }

    /// Wakes a thread that waits for the lock at an address.
    ///
    /// Another thread can lock and deallocate as soon as the lock is unlocked; waking an address that is no longer a lock is harmless.
    @usableFromInline
    @inline(never)
    static func wakeOne(_ word: UnsafePointer<Atomic<UInt32>>) { netkit_wake(word) }

    /// Allocates an unlocked lock with further bytes behind it.
    ///
    /// `malloc` aligns to 16 bytes. Swift's own allocation calls `posix_memalign` for the same alignment, which costs ten times
    /// as much and fragments the heap.
    @usableFromInline
    static func allocate(byteCount: Int, alignment: Int) -> UnsafeMutablePointer<Lock> {
        let rounded = (byteCount + alignment - 1) & ~(alignment - 1)
        guard let memory = alignment <= 16 ? malloc(byteCount) : aligned_alloc(alignment, rounded) else {
            fatalError("Locked: out of memory")
        }
        let lock = memory.bindMemory(to: Lock.self, capacity: 1)
        lock.initialize(to: Lock())
        return lock
    }

    @usableFromInline
    static func deallocate(_ lock: UnsafeMutablePointer<Lock>) { free(lock) }
}
