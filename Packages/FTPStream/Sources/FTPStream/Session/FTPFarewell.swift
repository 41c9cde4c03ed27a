internal import StreamKit

/// Reads what the server still sends on the data connection of an upload over TLS: tickets, and its own farewell.
///
/// Closing at once would answer its tickets with a reset, which may overtake what was sent. Not closing at all would make
/// servers wait that confirm the upload only when the connection is gone (proftpd, for ten seconds). So it is closed as soon as
/// the server has nothing more to say.
final class FTPFarewell: Sendable {
    /// The most bytes that are read: many times what tickets and a farewell take. Who sends more is cut off.
    static let limit = 64 * 1024

    private let pair: StreamPair

    init(_ pair: StreamPair, loop: EventLoop) {
        self.pair = pair
        Task(executorPreference: loop) {
            var scrap = [UInt8](repeating: 0, count: 4096)
            var total = 0
            while total < Self.limit, let count = try? await pair.input.read(into: &scrap), count > 0 {
                total += count
            }
            pair.close()
        }
    }

    /// The server has confirmed the upload, or is given up: whatever else it sends is of no interest.
    func end() {
        pair.close()
    }
}
