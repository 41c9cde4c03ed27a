import Foundation
import NetKit
import Testing

/// Runs `work` on a thread that may block, with a run loop of its own.
func onThread<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Swift.Result(catching: work)) }
    }
}

/// Bytes collected by a callback.
final class Gathered: Sendable {
    private let bytes = Locked<[UInt8]>([])

    func add(_ more: ArraySlice<UInt8>) {
        bytes.withLock { $0 += more }
    }

    var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }
}

/// A folder that is removed with this object.
final class TemporaryFolder: Sendable {
    private let path: String

    init() throws {
        path = NSTemporaryDirectory() + "listings-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }
}

/// Resumes a continuation the first time that it is called.
final class Once<Value: Sendable>: Sendable {
    private let continuation: Locked<CheckedContinuation<Value, any Error>?>

    init(_ continuation: CheckedContinuation<Value, any Error>) {
        self.continuation = Locked(continuation)
    }

    func callAsFunction(_ result: Result<Value, any Error>) {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(with: result)
    }
}

/// The members for event clients that both kinds of streams share.
protocol Scheduled: AnyObject, Sendable {
    var error: StreamError? { get }
    func listen(_ client: @escaping @Sendable (Self, StreamEvent) -> Void)
    func schedule(on target: any DeliveryTarget)
    func open() throws(StreamError)
    func close()
}

extension ReadStream: Scheduled {
    func listen(_ client: @escaping @Sendable (ReadStream, StreamEvent) -> Void) { setClient(.all, client) }
}

extension WriteStream: Scheduled {
    func listen(_ client: @escaping @Sendable (WriteStream, StreamEvent) -> Void) { setClient(.all, client) }
}
