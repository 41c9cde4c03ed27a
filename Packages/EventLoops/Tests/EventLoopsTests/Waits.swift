import Dispatch
import Foundation
import Synchronization
import Testing

@testable import EventLoops

/// Far beyond what anything here takes: reached only by a failure.
let failureLimit: Duration = .seconds(60)

/// Runs `body` on a new thread of its own.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: body()) }
    }
}

/// Gives way until the condition holds.
nonisolated(nonsending) func until(
    _ condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation
) async {
    let limit = Moment.now + failureLimit
    while !condition() {
        if Moment.now > limit {
            Issue.record("waited in vain", sourceLocation: sourceLocation)
            return
        }
        await Task.yield()
    }
}

/// Resumes when the loop has had `turns` whole turns from now on.
func turns(_ turns: Int = 2, of loop: EventLoop) async {
    for _ in 0..<turns { await withCheckedContinuation { continuation in loop.execute { continuation.resume() } } }
}

private let privateLoops = Locked<[EventLoop]>([])

extension EventLoop {
    /// A private loop, whose end ``settledDescriptorCount()`` waits for.
    static func forTest(_ name: String) -> EventLoop {
        let loop = EventLoop(name: name)
        privateLoops.withLock { $0.append(loop) }
        return loop
    }
}

/// How many descriptors the process has open when the loops of earlier tests have gone and the shared one is there.
nonisolated(nonsending) func settledDescriptorCount() async throws -> Int {
    await turns(of: .shared)
    let loops = privateLoops.withLock { $0 }
    await until { loops.allSatisfy(\.hasEnded) }
    privateLoops.withLock { $0 = [] }
    return try descriptorCount()
}

/// How many descriptors the process has open.
func descriptorCount() throws -> Int {
    return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
}

/// A semaphore that threads wait for; a task asks with ``isOpen``.
final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let opened = Atomic<Bool>(false)

    var isOpen: Bool { opened.load(ordering: .acquiring) }

    func open() {
        opened.store(true, ordering: .releasing)
        semaphore.signal()
    }

    /// False when it was not opened in time.
    @available(*, noasync)
    func pass() -> Bool {
        defer { semaphore.signal() }
        return semaphore.wait(timeout: .now() + 60) == .success
    }
}

/// Counts how often it fired.
final class CountingWatcher: Watcher, @unchecked Sendable {
    // Only an atomic.
    private let fired = Atomic<Int>(0)

    var count: Int { fired.load(ordering: .acquiring) }

    override func fire() {
        fired.wrappingAdd(1, ordering: .acquiringAndReleasing)
    }
}

extension WaitPoint {
    var isReaderParked: Bool { reader.isParked }
    var isWriterParked: Bool { writer.isParked }
}

/// What happened, in order.
final class Record<Element: Sendable>: Sendable {
    private let elements = Locked<[Element]>([])
    var values: [Element] { elements.withLock { $0 } }
    func append(_ element: Element) { elements.withLock { $0.append(element) } }
}

/// Counts, from any thread.
final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .acquiring) }
    func add() { count.wrappingAdd(1, ordering: .acquiringAndReleasing) }
}
