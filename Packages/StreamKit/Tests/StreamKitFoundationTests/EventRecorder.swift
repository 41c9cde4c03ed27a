import Foundation
import StreamKitFoundation

/// A delegate that records its events and their threads, and performs given actions.
final class EventRecorder: NSObject, StreamDelegate {
    private(set) var events: [String] = []
    private(set) var threads: Set<UInt> = []
    var reaction: (Stream, Stream.Event) -> Void

    init(_ reaction: @escaping (Stream, Stream.Event) -> Void = { _, _ in }) {
        self.reaction = reaction
    }

    func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
        let side = aStream is InputStream ? "in" : "out"
        let name =
            switch eventCode {
            case .openCompleted: "open"
            case .hasBytesAvailable: "bytes"
            case .hasSpaceAvailable: "space"
            case .errorOccurred: "error"
            case .endEncountered: "end"
            default: "\(eventCode.rawValue)"
            }
        events.append("\(side) \(name)")
        threads.insert(UInt(pthread_self()))
        reaction(aStream, eventCode)
    }

    func events(of side: String) -> [String] {
        events.filter { $0.hasPrefix("\(side) ") }.map { String($0.dropFirst(side.count + 1)) }
    }
}

extension InputStream {
    /// One read of at most `limit` bytes; nil for -1.
    func bytes(_ limit: Int = 4096) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = read(&buffer, maxLength: limit)
        return count < 0 ? nil : Array(buffer[..<count])
    }

    /// Reads up to the end, blocking.
    func all() -> [UInt8] {
        var all: [UInt8] = []
        while let bytes = bytes(), !bytes.isEmpty { all += bytes }
        return all
    }
}

/// Runs `body` on a thread of its own, which may block and run its run loop.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
    }
}

/// Runs the thread's loop until the condition holds. Returns false if the loop has nothing left, or after a minute.
@available(*, noasync)
func runLoop(in mode: RunLoop.Mode = .default, until condition: () -> Bool) -> Bool {
    let limit = Date(timeIntervalSinceNow: 60)
    while !condition() {
        if !RunLoop.current.run(mode: mode, before: limit) || Date() >= limit { return condition() }
    }
    return true
}
