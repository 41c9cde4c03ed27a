import NetKit
import Synchronization

/// Copies standard input to datagrams, and datagrams to standard output.
///
/// Datagrams have no end. After the end of the input, the exchange continues until nothing has been received for a while.
final class DatagramPipe: Sendable {
    /// The most bytes that one read of the input sends as a datagram.
    static let pieceSize = 16 * 1024
    private static let receiveSize = 65_535

    private let socket: Socket
    /// The time without a datagram, after the end of the input, that ends the exchange; nil for no end.
    private let idleTimeout: Duration?
    private let lastReceived = Mutex(ContinuousClock.now)

    /// - Parameter socket: connected to the peer, or bound. A bound socket connects to the sender of the first datagram, and
    ///   the input is sent from then on.
    init(_ socket: Socket, idleTimeout: Duration?) {
        self.socket = socket
        self.idleTimeout = idleTimeout
    }

    /// Copies in both directions until the end.
    ///
    /// - Parameter onPeer: called with the sender of the first datagram, if the socket was not connected.
    func run(onPeer: @Sendable (SocketAddress) -> Void) async -> Result<Void, any Error> {
        do {
            if socket.peerAddress == nil {
                let first = try await socket.receive(upTo: Self.receiveSize)
                if let sender = first.sender {
                    try await socket.connect(to: sender)
                    onPeer(sender)
                }
                try await OutputFile().write(first.bytes)
            }
        } catch {
            return .failure(error)
        }
        let input = StandardInput(upTo: Self.pieceSize) { piece throws(StreamError) in
            _ = try self.socket.send(piece)
        }
        return await withTaskGroup(of: Result<Void, any Error>.self) { group in
            group.addTask { await self.receiveAll() }
            group.addTask { await self.untilIdle(after: input) }
            defer { group.cancelAll() }
            return await group.next() ?? .success(())
        }
    }

    private func receiveAll() async -> Result<Void, any Error> {
        let output = OutputFile()
        do {
            while true {
                let message = try await socket.receive(upTo: Self.receiveSize)
                lastReceived.withLock { $0 = .now }
                try await output.write(message.bytes)
            }
        } catch let failure as OutputFile.Failure where failure.isBrokenPipe {
            return .success(())  // the reader of the output has closed the pipe
        } catch {
            return .failure(error)
        }
    }

    private func untilIdle(after input: StandardInput) async -> Result<Void, any Error> {
        if let failure = await input.untilEnd() { return .failure(failure) }
        var due = ContinuousClock.now + (idleTimeout ?? .seconds(TimeLimit.longest))
        while due > .now, (try? await EventLoop.shared.sleep(until: Moment(due))) != nil {
            if let idleTimeout { due = max(due, lastReceived.withLock { $0 } + idleTimeout) }
        }
        return .success(())
    }
}
