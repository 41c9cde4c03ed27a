import EventLoops
import HostResolver
import StreamKit

/// Sends back what comes, on any number of connections, until it is let go.
final class EchoServer: Sendable {
    let port: Int
    private let listener: Socket
    private let task: Task<Void, Never>

    init() throws {
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        self.listener = listener
        port = Int(listener.localAddress?.port ?? 0)
        task = Task {
            await withDiscardingTaskGroup { group in
                do {
                    for try await client in listener.accepted {
                        group.addTask { await EchoServer.serve(client) }
                    }
                } catch {}
            }
        }
    }

    deinit {
        task.cancel()
        listener.invalidate()
    }

    private static func serve(_ client: Socket) async {
        do {
            let pair = try client.makeStreams()
            try pair.open()
            for try await chunk in pair.input.chunks() { try await pair.output.writeAll(chunk) }
            try await pair.output.finish()
        } catch {}
    }
}
