internal import Glibc

/// A value behind a lock.
///
/// ```swift
/// let names = Locked<[String]>([])
/// names.withLock { $0.append("a") }
/// ```
///
/// Built on `pthread_mutex_t`, because ThreadSanitizer understands that one; it reports each access under
/// `Synchronization.Mutex` on Linux as a race. One allocation holds the mutex and the value. All of it can be inlined: in
/// other modules an unspecialized `withLock` would cost a thousand instructions and more.
///
/// Never hold the lock while calling out (continuations, callbacks, `deinit` of values you do not know).
public struct Locked<State: ~Copyable>: ~Copyable {
    @usableFromInline let mutex: MutexAddress

    /// Puts `state` behind a new lock.
    @inlinable
    public init(_ state: consuming sending State) {
        let offset = Self.offset
        mutex = MutexAddress(
            byteCount: offset + MemoryLayout<State>.size, alignment: MutexAddress.alignment(with: State.self))
        (mutex.memory + offset).bindMemory(to: State.self, capacity: 1).initialize(to: consume state)
    }

    @inlinable
    deinit {
        mutex.destroy()
        state.deinitialize(count: 1)
        mutex.deallocate()
    }

    /// Runs `body` alone with the value and returns its result.
    ///
    /// - Throws: what `body` throws; the lock is released.
    @inlinable
    public borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        mutex.lock()
        defer { mutex.unlock() }
        return try body(&state.pointee)
    }

    /// Where the value begins, behind the mutex.
    @inlinable
    static var offset: Int {
        let alignment = MutexAddress.alignment(with: State.self)
        return (MutexAddress.size + alignment - 1) & ~(alignment - 1)
    }

    @inlinable
    var state: UnsafeMutablePointer<State> {
        (mutex.memory + Self.offset).assumingMemoryBound(to: State.self)
    }
}

// The state is reachable only inside `withLock`, one thread at a time; a non-Sendable state came in as `sending`, so
// nobody else holds it.
extension Locked: @unchecked Sendable where State: ~Copyable {}

/// The address of a `pthread_mutex_t`, whose type stays out of sight of code that is inlined elsewhere.
@usableFromInline
struct MutexAddress {
    /// At least what a `pthread_mutex_t` takes up, on every platform of glibc.
    @inlinable static var size: Int { 48 }

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
        assert(MemoryLayout<pthread_mutex_t>.size <= MutexAddress.size)
        memory.initializeMemory(as: pthread_mutex_t.self, to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    @inlinable
    static func alignment<State: ~Copyable>(with type: State.Type) -> Int {
        Swift.max(16, MemoryLayout<State>.alignment)
    }

    @usableFromInline
    func lock() { pthread_mutex_lock(mutex) }

    @usableFromInline
    func unlock() { pthread_mutex_unlock(mutex) }

    @usableFromInline
    func destroy() { pthread_mutex_destroy(mutex) }

    @usableFromInline
    func deallocate() { free(memory) }

    private var mutex: UnsafeMutablePointer<pthread_mutex_t> {
        memory.assumingMemoryBound(to: pthread_mutex_t.self)
    }
}
