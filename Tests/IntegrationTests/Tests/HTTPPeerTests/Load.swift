import Dispatch
import EventLoops
import Foundation
import HTTPMessage
import NetKit
import RunLoopDelivery
import StreamKit
import Testing

/// Opens the stream and reads it to its end or failure in one of the styles; closes it.
///
/// - Parameters:
///   - piece: the size of one read.
func load(_ stream: ReadStream, _ style: Style = .async, piece: Int = 65536) async -> Loaded {
    switch style {
    case .async: await loadAsync(stream, piece)
    case .blocking: await onThread { loadBlocking(stream, piece) }
    case .polling: await onThread { loadPolling(stream, piece) }
    case .queueEvents: await EventReader(stream, piece).run(on: .queue(DispatchQueue(label: "load")))
    case .runLoopEvents: await onThread { EventReader(stream, piece).runLoop() }
    }
}

/// Makes a stream for a request, with the properties that a test needs.
func makeStream(
    _ url: String, method: HTTPMethod = .get, fields: [(HTTPFieldName, String)] = [], body: HTTPBody? = nil,
    _ configure: (ReadStream) throws -> Void = { _ in }
) throws -> ReadStream {
    guard let url = URL(string: url) else { throw URLError(.badURL) }
    var request = try HTTPRequest(method: method, url: url)
    for (name, value) in fields { try request.fields.append(value, for: name) }
    let stream = ReadStream(request: request, body: body)
    try configure(stream)
    return stream
}

/// Makes the stream and loads it.
func get(
    _ url: String, _ style: Style = .async, method: HTTPMethod = .get, fields: [(HTTPFieldName, String)] = [],
    body: HTTPBody? = nil, _ configure: (ReadStream) throws -> Void = { _ in }
) async throws -> Loaded {
    await load(try makeStream(url, method: method, fields: fields, body: body, configure), style)
}

/// Makes the stream and loads it, async.
func get(
    _ url: String, method: HTTPMethod = .get, fields: [(HTTPFieldName, String)] = [], body: HTTPBody? = nil,
    _ configure: (ReadStream) throws -> Void
) async throws -> Loaded {
    try await get(url, .async, method: method, fields: fields, body: body, configure)
}

/// Runs `work` on a thread that may block.
func onThread<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: work()) }
    }
}

private func loadAsync(_ stream: ReadStream, _ piece: Int) async -> Loaded {
    var loaded = Loaded(stream: stream)
    var buffer = [UInt8](repeating: 0, count: piece)
    do throws(StreamError) {
        try stream.open()
        while case let count = try await stream.read(into: &buffer), count > 0 { loaded.body += buffer[..<count] }
    } catch {
        loaded.error = error
    }
    stream.close()
    return loaded
}

private func loadBlocking(_ stream: ReadStream, _ piece: Int) -> Loaded {
    var loaded = Loaded(stream: stream)
    var buffer = [UInt8](repeating: 0, count: piece)
    do throws(StreamError) {
        try stream.open()
        while case let count = try stream.read(into: &buffer), count > 0 { loaded.body += buffer[..<count] }
    } catch {
        loaded.error = error
    }
    stream.close()
    return loaded
}

private func loadPolling(_ stream: ReadStream, _ piece: Int) -> Loaded {
    var loaded = Loaded(stream: stream)
    var buffer = [UInt8](repeating: 0, count: piece)
    do throws(StreamError) {
        try stream.open()
        while true {
            guard stream.hasBytesAvailable || stream.status == .error || stream.status == .atEnd else {
                PollingPause().wait(for: stream)
                continue
            }
            guard let count = try stream.tryRead(into: &buffer) else { continue }
            if count == 0 { break }
            loaded.body += buffer[..<count]
        }
    } catch {
        loaded.error = error
    }
    stream.close()
    return loaded
}

/// The pause of a polling program between two attempts: it sleeps until the state may have changed.
private final class PollingPause: Watcher, @unchecked Sendable {
    // Unchecked only because the superclass is: the semaphore never changes.
    private let semaphore = DispatchSemaphore(value: 0)

    override func fire() { semaphore.signal() }

    func wait(for stream: ReadStream) {
        // Any result but nil means: try again at once.
        if stream.waitPoint.watch(.reader, for: [.readable, .writable], with: self) == nil { semaphore.wait() }
    }
}

/// Reads a stream in its event callbacks.
private final class EventReader: Sendable {
    private struct State {
        var loaded: Loaded
        var isOver = false
        var continuation: CheckedContinuation<Void, Never>?
    }

    private let stream: ReadStream
    private let piece: Int
    private let state: Locked<State>

    init(_ stream: ReadStream, _ piece: Int) {
        self.stream = stream
        self.piece = piece
        state = Locked(State(loaded: Loaded(stream: stream)))
    }

    func run(on target: any DeliveryTarget) async -> Loaded {
        await withCheckedContinuation { continuation in
            state.withLock { $0.continuation = continuation }
            begin(on: target)
        }
        return state.withLock { $0.loaded }
    }

    func runLoop() -> Loaded {
        begin(on: .currentRunLoop)
        while !state.withLock({ $0.isOver }) {
            _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 20))
        }
        return state.withLock { $0.loaded }
    }

    private func begin(on target: any DeliveryTarget) {
        stream.setClient(.all) { [self] stream, event in receive(event, of: stream) }
        stream.schedule(on: target)
        do throws(StreamError) {
            try stream.open()
        } catch {
            finish(error)
        }
    }

    private func receive(_ event: StreamEvent, of stream: ReadStream) {
        state.withLock { $0.loaded.events.append(event) }
        switch event {
        case .hasBytesAvailable:
            var buffer = [UInt8](repeating: 0, count: piece)
            do throws(StreamError) {
                guard let count = try stream.tryRead(into: &buffer) else { return }
                state.withLock { $0.loaded.body += buffer[..<count] }
            } catch {
                // The event that reports the error follows.
            }
        case .errorOccurred: finish(stream.error)
        case .endEncountered: finish(nil)
        case .openCompleted, .canAcceptBytes: break
        }
    }

    private func finish(_ error: StreamError?) {
        stream.close()
        let continuation = state.withLock { state in
            if !state.isOver { state.loaded.error = error }
            state.isOver = true
            return state.continuation.take()
        }
        continuation?.resume()
    }
}

/// The result of a load, as seen by its caller.
struct Loaded {
    /// All bytes that could be read, including those before an error.
    var body: [UInt8] = []
    /// The error of reading or opening; nil after an orderly end.
    var error: StreamError?
    /// The events, in the styles that have events.
    var events: [StreamEvent] = []
    /// The stream, for its properties; closed.
    var stream: ReadStream

    var response: HTTPResponse? { stream[.httpResponse] }
    var status: Int? { response?.status.code }
    var text: String { String(decoding: body, as: UTF8.self) }
}

/// The styles of using a stream. A load must have the same result in each of them.
enum Style: String, CaseIterable, CustomTestStringConvertible {
    case blocking
    case polling
    case queueEvents
    case runLoopEvents
    case async

    var testDescription: String { rawValue }

    /// The style for a number, for tests that load so often that all styles occur.
    static func number(_ number: Int) -> Style { allCases[number % allCases.count] }
}
