import EventLoops
import StreamKit

/// A server on loopback that gives one answer after the other, on whichever connection a request comes.
///
/// What stands behind a `|` in an answer is sent once the client has had the time to wait for it, or never.
final class TurnServer: Sendable {
    let port: UInt16

    private struct State {
        var answers: [String]
        var requests: [String] = []
        var connections = 0
    }

    private final class Script: Sendable {
        let state: Locked<State>
        let holds: Bool

        init(_ answers: [String], holds: Bool) {
            state = Locked(State(answers: answers))
            self.holds = holds
        }

        func serve(_ client: StreamPair) async throws {
            state.withLock { $0.connections += 1 }
            while true {
                let request = try await client.input.read(upTo: 8192)
                if request.isEmpty { return }
                let answer = state.withLock { state in
                    state.requests.append(String(decoding: request, as: UTF8.self))
                    return state.answers.isEmpty ? "" : state.answers.removeFirst()
                }
                for (index, part) in answer.split(separator: "|", omittingEmptySubsequences: false).enumerated() {
                    if index > 0, holds {
                        // The end of the connection, which is the client's.
                        while try await !client.input.read(upTo: 100).isEmpty {}
                        return
                    }
                    try await client.output.writeAll(Array(part.utf8))
                    for _ in 0..<10 { await Task.yield() }
                }
            }
        }
    }

    private let listener: StreamListener
    private let script: Script

    /// - Parameter holds: whether what stands behind a `|` never comes.
    init(_ answers: [String], holds: Bool = false) throws {
        listener = try StreamListener(address: .ip(.v4(.loopback), port: 0))
        port = listener.port ?? 0
        script = Script(answers, holds: holds)
        Task { [listener, script] in
            try await listener.run { client in
                // A client may leave whenever it likes.
                try? await script.serve(client)
            }
        }
    }

    deinit { listener.stop(within: .zero) }

    var requests: [String] { script.state.withLock { $0.requests } }
    var connections: Int { script.state.withLock { $0.connections } }
}
