internal import StreamKit

/// Reads what the server still sends on the data connection of an upload over TLS: tickets, and its own farewell.
///
/// Closing at once would answer its tickets with a reset, which may overtake what was sent. Not closing at all would make
/// servers wait that confirm the upload only when the connection is gone (proftpd, for ten seconds). So it is closed as soon as
/// the server has nothing more to say.
final class FTPFarewell: Sendable {
    private let pair: StreamPair

    init(_ pair: StreamPair, loop: EventLoop) {
        self.pair = pair
        Task(executorPreference: loop) {
            var scrap = [UInt8](repeating: 0, count: 4096)
            while let count = try? await pair.input.read(into: &scrap), count > 0 {}
            pair.close()
        }
    }

    /// The server has confirmed the upload, or is given up: whatever else it sends is of no interest.
    func end() {
        pair.close()
    }
}
