import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing

@testable import EventLoops

/// All tests of the package, run serially: some count the descriptors of the process, which others must not change.
@Suite(.serialized) enum EventLoopsTests {}

/// Far longer than any wait in these tests; reached only if a test fails.
let failureLimit: Duration = .seconds(60)

/// Runs `body` on a new thread.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: body()) }
    }
}

/// The address of a variable on the stack of the caller.
@inline(never)
func stackPosition() -> UInt {
    var mark: UInt8 = 0
    return withUnsafeMutablePointer(to: &mark) { UInt(bitPattern: $0) }
}

/// Yields until the condition holds.
nonisolated(nonsending) func until(
    _ condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation
) async {
    let limit = Moment.now + failureLimit
    while !condition() {
        if Moment.now > limit {
            Issue.record("the condition did not become true", sourceLocation: sourceLocation)
            return
        }
        await Task.yield()
    }
}

/// Resumes after `turns` complete turns of the loop.
func turns(_ turns: Int = 2, of loop: EventLoop) async {
    for _ in 0..<turns { await withCheckedContinuation { continuation in loop.execute { continuation.resume() } } }
}

private let privateLoops = Locked<[EventLoop]>([])

extension EventLoop {
    /// Makes a private loop whose end ``settledDescriptorCount()`` awaits.
    static func forTest(_ name: String) -> EventLoop {
        let loop = EventLoop(name: name)
        privateLoops.withLock { $0.append(loop) }
        return loop
    }
}

/// The number of open descriptors of the process, once the loops of earlier tests have ended and the shared one has started.
nonisolated(nonsending) func settledDescriptorCount() async throws -> Int {
    await turns(of: .shared)
    let loops = privateLoops.withLock { $0 }
    await until { loops.allSatisfy(\.hasEnded) }
    privateLoops.withLock { $0 = [] }
    return try descriptorCount()
}

/// The number of open descriptors of the process, except those of files in /proc: a thread of libdispatch opens some every second while
/// others work.
func descriptorCount() throws -> Int {
    let folder = "/proc/self/fd"
    return try FileManager.default.contentsOfDirectory(atPath: folder).count { name in
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
        return target?.hasPrefix("/proc/") == false
    }
}

/// The limit of the process's descriptors, in a process that a test has for itself.
struct DescriptorTable {
    private let old: rlimit
    /// The number of descriptors that are open; all smaller numbers are in use.
    private let count: CInt

    /// Fills the gaps between the open descriptors, none of which may be closed while the limit applies. Nil if that fails.
    init?() {
        // libdispatch makes the descriptors that it keeps on a thread of its own, soon after the process has begun.
        let hasStarted = DispatchSemaphore(value: 0)
        let timer = DispatchSource.makeTimerSource()
        timer.setEventHandler { hasStarted.signal() }
        timer.schedule(deadline: .now())
        timer.resume()
        hasStarted.wait()
        timer.cancel()
        var old = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &old) == 0,
            let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"),
            let last = open.compactMap({ CInt($0) }).max()
        else { return nil }
        var filled: CInt = 0
        while filled <= last {
            filled = fcntl(1, F_DUPFD_CLOEXEC, 0)
            if filled < 0 { return nil }
        }
        close(filled)
        (self.old, count) = (old, filled)
    }

    /// Allows this many further descriptors.
    func limit(to available: Int) {
        var limit = rlimit(rlim_cur: rlim_t(Int(count) + available), rlim_max: old.rlim_max)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Restores the limit of the process.
    func restore() {
        var limit = old
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

/// A flag that is set once: threads wait for it, tasks poll ``isSet``.
final class Flag: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let value = Atomic<Bool>(false)

    var isSet: Bool { value.load(ordering: .acquiring) }

    func set() {
        value.store(true, ordering: .releasing)
        semaphore.signal()
    }

    /// Blocks until the flag is set; false if that took too long.
    @available(*, noasync)
    func wait() -> Bool {
        defer { semaphore.signal() }
        return semaphore.wait(timeout: .now() + 60) == .success
    }
}

/// A watcher that counts how often it fired.
final class CountingWatcher: Watcher, @unchecked Sendable {
    // Only an atomic.
    private let fired = Atomic<Int>(0)

    var count: Int { fired.load(ordering: .acquiring) }

    override func fire() {
        fired.wrappingAdd(1, ordering: .acquiringAndReleasing)
    }
}

extension WaitPoint {
    var isReaderParked: Bool { sides.reader.call.isParked }
    var isWriterParked: Bool { sides.writer.call.isParked }
    // The macros of Testing require copyable values.
    var isWatched: Bool { watching.isActive }
    var isUnwatched: Bool { watching.isUnwatched }
    func mustAskAgain(by poller: DescriptorPoller?) -> Bool { watching.mustAskAgain(self, by: poller) }
}

/// A list of observations, in order, from any thread.
final class Record<Element: Sendable>: Sendable {
    private let elements = Locked<[Element]>([])
    var values: [Element] { elements.withLock { $0 } }
    func append(_ element: Element) { elements.withLock { $0.append(element) } }
}

/// A counter for any thread.
final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .acquiring) }
    func add() { count.wrappingAdd(1, ordering: .acquiringAndReleasing) }
}

/// A connected pair of Unix sockets. `near` is for the wait point under test; `far` is closed when the object is released.
final class SocketPair: Sendable {
    let near: CInt
    let far: CInt

    init() throws {
        var pair: (CInt, CInt) = (-1, -1)
        let result = withUnsafeMutablePointer(to: &pair) {
            $0.withMemoryRebound(to: CInt.self, capacity: 2) {
                socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, $0)
            }
        }
        try #require(result == 0, "socketpair: \(errno)")
        (near, far) = pair
    }

    deinit { close(far) }

    /// The result of a read of one byte that does not wait.
    enum Attempt: Equatable {
        case byte(UInt8), end, nothing, failed(CInt)
    }

    static func tryRead(_ descriptor: CInt, flags: CInt = 0) -> Attempt {
        var byte: UInt8 = 0
        switch recv(descriptor, &byte, 1, CInt(MSG_DONTWAIT) | flags) {
        case 1: return .byte(byte)
        case 0: return .end
        default: return errno == EAGAIN ? .nothing : .failed(errno)
        }
    }

    @discardableResult
    static func send(_ byte: UInt8, to descriptor: CInt) -> Bool {
        var byte = byte
        return Glibc.send(descriptor, &byte, 1, CInt(MSG_NOSIGNAL | MSG_DONTWAIT)) == 1
    }

    /// Fills the send buffer of the near side until a send would block.
    func fillNear() {
        let bytes = [UInt8](repeating: 0, count: 65536)
        while Glibc.send(near, bytes, bytes.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT)) > 0 {}
    }

    /// Reads everything that has arrived at the far side.
    func drainFar() {
        var bytes = [UInt8](repeating: 0, count: 65536)
        while recv(far, &bytes, bytes.count, CInt(MSG_DONTWAIT)) > 0 {}
    }
}

/// The result of reading one byte.
enum Reading: Equatable, Sendable {
    case byte(UInt8), end, woken(Wake), error(CInt)
}

extension WaitPoint {
    /// Reads one byte as a stream would: try, wait, try again.
    nonisolated(nonsending) func readByte(until deadline: Moment? = nil) async -> Reading {
        switch enter(.reader) {
        case .entered: break
        case .busy: return .woken(.busy)
        case .closed: return .woken(.closed)
        }
        defer { leave(.reader) }
        while true {
            switch SocketPair.tryRead(descriptor) {
            case .byte(let byte): return .byte(byte)
            case .end: return .end
            case .failed(let code) where descriptor >= 0: return .error(code)
            case .failed, .nothing: break
            }
            let wake = await readerWait(for: .readable, until: deadline)
            if wake != .ready { return .woken(wake) }
        }
    }

    /// Reads one byte on this thread, waiting in `poll`.
    @available(*, noasync)
    func blockForByte(until deadline: Moment? = nil) -> Reading {
        guard enter(.reader) == .entered else { return .woken(isClosed(.reader) ? .closed : .busy) }
        defer { leave(.reader) }
        while true {
            switch SocketPair.tryRead(descriptor) {
            case .byte(let byte): return .byte(byte)
            case .end: return .end
            case .failed(let code) where descriptor >= 0: return .error(code)
            case .failed, .nothing: break
            }
            let wake = block(.reader, for: .readable, until: deadline)
            if wake != .ready { return .woken(wake) }
        }
    }

    /// Reads one byte on this thread, waiting in `recv` itself.
    @available(*, noasync)
    func receiveByte() -> Reading {
        guard enter(.reader) == .entered else { return .woken(isClosed(.reader) ? .closed : .busy) }
        defer { leave(.reader) }
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, 0)
        if isClosed(.reader) { return .woken(.closed) }
        return count == 1 ? .byte(byte) : count == 0 ? .end : .error(errno)
    }
}
