import NetKit

/// The last stream that a session made.
final class LastStream: Sendable {
    private let last = Locked<ReadStream?>(nil)

    var stream: ReadStream? { last.withLock { $0 } }

    func set(_ stream: ReadStream) {
        last.withLock { $0 = stream }
    }
}
