internal import Dispatch
internal import EventLoops
internal import StreamKit

/// A style of using a stream, for tests that must hold in each of them.
public enum StreamStyle: Sendable, CaseIterable, CustomStringConvertible {
    /// With calls that block a thread.
    case blocking
    /// With calls that never wait, and `hasBytesAvailable` and `canAcceptBytes`.
    case polling
    /// With a client on a dispatch queue.
    case queue
    /// With a client on an event loop.
    case loop
    /// With async calls.
    case async

    /// The name of the style.
    public var description: String {
        switch self {
        case .blocking: "blocking"
        case .polling: "polling"
        case .queue: "on a queue"
        case .loop: "on an event loop"
        case .async: "async"
        }
    }

    /// True if calls of this style wait, so that they can be woken.
    var waits: Bool { self == .blocking || self == .async }

    /// A new target for callbacks; nil for styles without callbacks.
    func makeTarget() -> (any DeliveryTarget)? {
        switch self {
        case .queue: .queue(DispatchQueue(label: "contract"))
        case .loop: .loop(.shared)
        case .blocking, .polling, .async: nil
        }
    }
}

// MARK: - One call in each style

extension StreamStyle {
    /// Reads 1…`limit` bytes; empty at the end.
    func read(_ stream: ReadStream, upTo limit: Int = 65536) async throws(StreamError) -> [UInt8] {
        switch self {
        case .async:
            return try await stream.read(upTo: limit)
        case .blocking:
            return try await onThread { () throws(StreamError) in try stream.read(upTo: limit) }
        case .polling, .queue, .loop:
            var buffer = [UInt8](repeating: 0, count: limit)
            while true {
                if self != .polling || stream.hasBytesAvailable || stream.status != .open,
                    let count = try stream.tryRead(into: &buffer)
                {
                    return Array(buffer[..<count])
                }
                guard let target = makeTarget() else {
                    await Task.yield()
                    continue
                }
                await wait(for: .hasBytesAvailable, of: stream, on: target)
            }
        }
    }

    /// Writes 1…n bytes; 0 if no byte will ever be accepted again.
    func write(_ bytes: [UInt8], to stream: WriteStream) async throws(StreamError) -> Int {
        switch self {
        case .async:
            return try await stream.write(bytes)
        case .blocking:
            return try await onThread { () throws(StreamError) in try stream.write(bytes) }
        case .polling, .queue, .loop:
            while true {
                if self != .polling || stream.canAcceptBytes || stream.status != .open,
                    let count = try stream.tryWrite(bytes)
                {
                    return count
                }
                guard let target = makeTarget() else {
                    await Task.yield()
                    continue
                }
                await wait(for: .canAcceptBytes, of: stream, on: target)
            }
        }
    }

    /// Waits for an event, or for the end or an error.
    private func wait(for event: StreamEvents, of stream: some StreamHalf, on target: any DeliveryTarget) async {
        await withCheckedContinuation { continuation in
            let once = Once { continuation.resume() }
            stream.setClient([event, .endEncountered, .errorOccurred]) { _, _ in once.run() }
            stream.schedule(on: target)
        }
        stream.setClient([], nil)
        stream.unschedule(from: target)
    }

    /// Reads to the end.
    func readAll(_ stream: ReadStream, inPiecesOf size: Int = 65536) async throws(StreamError) -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let piece = try await read(stream, upTo: size)
            if piece.isEmpty { return all }
            all.append(contentsOf: piece)
        }
    }

    /// Writes every byte.
    func writeAll(_ bytes: [UInt8], to stream: WriteStream, inPiecesOf size: Int = .max) async throws(StreamError) {
        var written = 0
        while written < bytes.count {
            let count = try await write(Array(bytes[written...].prefix(size)), to: stream)
            if count == 0 { throw StreamError(posix: 28) }
            written += count
        }
    }
}

/// Runs `body` on a thread that it may block.
func onThread<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
    let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
        DispatchQueue(label: "contract.thread").async {
            do throws(Failure) {
                continuation.resume(returning: .success(try body()))
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
    }
    return try result.get()
}

/// Runs its body on the first call only.
final class Once: Sendable {
    private let body: Locked<(@Sendable () -> Void)?>

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = Locked(body)
    }

    func run() {
        let body = body.withLock { $0.take() }
        body?()
    }
}
