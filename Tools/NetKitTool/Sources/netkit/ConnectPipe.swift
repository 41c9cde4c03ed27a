import NetKit

/// Copies standard input to a connection, and the connection to standard output.
///
/// The peer's end is the end of the exchange, as for a terminal. Input that is already on its way is still sent, because a peer
/// may end its own direction first: `netkit connect --listen 8080 </dev/null`.
enum ConnectPipe {
    /// The time without input, after the peer's end, that ends the exchange.
    private static let grace: Duration = .milliseconds(500)

    /// - Parameter pair: an open connection; closed at the end.
    static func run(_ pair: StreamPair) async -> Result<Void, any Error> {
        defer { pair.close() }
        let output = pair.output
        let input = StandardInput(upTo: ReadStream.chunkSize) { piece throws(StreamError) in
            try output.writeAll(piece)
        } atEnd: { () throws(StreamError) in
            try output.finish()
        }
        let received = OutputFile()
        var buffer = [UInt8](repeating: 0, count: ReadStream.chunkSize)
        do {
            while case let count = try await pair.input.read(into: &buffer), count > 0 {
                try await received.write(buffer, count: count)
            }
        } catch let failure as OutputFile.Failure where failure.isBrokenPipe {
            return .success(())  // the reader of the output has closed the pipe
        } catch {
            return .failure(error)
        }
        // A peer that has closed the connection makes sending fail, which is no error then.
        _ = await input.untilIdle(for: grace)
        return .success(())
    }
}
