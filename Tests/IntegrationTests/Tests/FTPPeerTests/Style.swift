import Dispatch
import EventLoops
@_spi(Packages) import FTPStream
import Foundation
import Peers
import Testing

/// The styles of using a stream. A transfer must have the same result in each of them.
enum Style: String, CaseIterable, CustomTestStringConvertible {
    case blocking, polling, events, async

    var testDescription: String { rawValue }

    /// Opens, reads to the end, closes.
    func readAll(_ stream: ReadStream) async throws -> [UInt8] {
        defer { stream.close() }
        var all: [UInt8] = []
        switch self {
        case .async:
            try stream.open()
            for try await chunk in stream.chunks() { all += chunk }
        case .blocking:
            return try await onThread {
                try stream.open()
                var all: [UInt8] = []
                var buffer = [UInt8](repeating: 0, count: 10_000)
                while true {
                    let count = try stream.read(into: &buffer)
                    if count == 0 { return all }
                    all += buffer[..<count]
                }
            }
        case .polling:
            return try await onThread {
                try stream.open()
                var all: [UInt8] = []
                var buffer = [UInt8](repeating: 0, count: 10_000)
                while true {
                    if stream.status == .opening || (stream.status == .open && !stream.hasBytesAvailable) {
                        PollingPause().wait(at: stream.waitPoint, .reader)
                    } else if let count = try stream.tryRead(into: &buffer) {
                        if count == 0 { return all }
                        all += buffer[..<count]
                    }
                }
            }
        case .events:
            let gathered = Locked<[UInt8]>([])
            let isDone = Locked(false)
            let result = await withCheckedContinuation { (continuation: CheckedContinuation<StreamError?, Never>) in
                // An opening that fails at once throws, and is also reported as an event.
                let finish = { @Sendable (error: StreamError?) in
                    let wasDone = isDone.withLock { isDone in
                        defer { isDone = true }
                        return isDone
                    }
                    if !wasDone { continuation.resume(returning: error) }
                }
                stream.setClient(.all) { stream, event in
                    switch event {
                    case .hasBytesAvailable:
                        var buffer = [UInt8](repeating: 0, count: 10_000)
                        if let count = try? stream.tryRead(into: &buffer) {
                            gathered.withLock { $0 += buffer[..<count] }
                        }
                    case .endEncountered, .errorOccurred:
                        let error = stream.error
                        stream.close()
                        finish(error)
                    default: break
                    }
                }
                stream.schedule(on: .queue(DispatchQueue(label: "ftp.test")))
                do throws(StreamError) { try stream.open() } catch { finish(error) }
            }
            if let result { throw result }
            return gathered.withLock { $0 }
        }
        return all
    }

    /// Opens, writes everything, finishes, closes.
    func writeAll(_ bytes: [UInt8], to stream: WriteStream) async throws {
        defer { stream.close() }
        switch self {
        case .async, .events:
            try stream.open()
            try await stream.writeAll(bytes)
            try await stream.finish()
        case .blocking:
            try await onThread {
                try stream.open()
                try stream.writeAll(bytes)
                try stream.finish()
            }
        case .polling:
            try await onThread {
                try stream.open()
                var rest = bytes[...]
                while !rest.isEmpty {
                    if let count = try stream.tryWrite(Array(rest.prefix(10_000))) {
                        rest = rest.dropFirst(count)
                    } else {
                        PollingPause().wait(at: stream.waitPoint, .writer)
                    }
                }
                while try !stream.tryFinish() { PollingPause().wait(at: stream.waitPoint, .writer) }
            }
        }
    }
}

/// The pause of a polling program between two attempts: it waits until the state may have changed.
private final class PollingPause: Watcher, @unchecked Sendable {
    // Unchecked only because the superclass is: the semaphore never changes.
    private let semaphore = DispatchSemaphore(value: 0)

    override func fire() { semaphore.signal() }

    func wait(at point: WaitPoint, _ half: WaitPoint.Half) {
        // Any result but nil means: try again at once.
        if point.watch(half, for: [.readable, .writable], with: self) == nil { semaphore.wait() }
    }
}

/// Runs `body` on a new thread, where it may block: queues share their few threads with tasks.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

/// Bytes in a pattern that reveals misplaced pieces.
func patterned(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
}

func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

/// Starts a server on a separate thread: waiting on one of the few threads that run tasks would starve the other tests, and
/// scripted servers would time out.
func start(_ server: some Peer) async throws {
    try await onThread { try server.start() }
}

/// Waits until the condition holds. The test fails after a minute.
func until(_ condition: () throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(60)
    while try !condition() {
        try #require(ContinuousClock.now < end, "waited in vain")
        // Not by yielding, which would occupy one of the few threads that run tasks.
        await withCheckedContinuation { continuation in
            EventLoop.shared.schedule(at: .now + .milliseconds(5)) { continuation.resume() }
        }
    }
}
