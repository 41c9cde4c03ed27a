import HostResolver
import StreamKit

/// A server of ours that sends back what comes over TLS, until it is let go.
final class TLSEchoServer: Sendable {
    let port: Int
    private let listener: Socket
    private let task: Task<Void, Never>

    /// - Parameter closes: whether it closes a connection once it has sent something back.
    init(_ configuration: TLSConfiguration, closes: Bool = false) throws {
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        self.listener = listener
        port = Int(listener.localAddress?.port ?? 0)
        task = Task {
            await withDiscardingTaskGroup { group in
                do {
                    for try await client in listener.accepted {
                        group.addTask { await TLSEchoServer.serve(client, configuration, closes) }
                    }
                } catch {}
            }
        }
    }

    deinit {
        task.cancel()
        listener.invalidate()
    }

    private static func serve(_ client: Socket, _ configuration: TLSConfiguration, _ closes: Bool) async {
        do {
            let pair = try client.makeStreams()
            try pair.set(.tls, to: configuration)
            try pair.open()
            for try await chunk in pair.input.chunks() {
                try await pair.output.writeAll(chunk)
                if closes { break }
            }
            try await pair.output.finish()
            pair.close()
        } catch {}
    }
}
