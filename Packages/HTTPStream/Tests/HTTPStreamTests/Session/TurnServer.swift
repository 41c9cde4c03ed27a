import EventLoops
import StreamKit

/// A server on loopback that sends its responses in turn, regardless of the connection of a request.
///
/// The part behind a `|` in a response is sent once the client has had time to wait for it, or never.
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
        let readsBodies: Bool

        init(_ answers: [String], holds: Bool, readsBodies: Bool) {
            state = Locked(State(answers: answers))
            self.holds = holds
            self.readsBodies = readsBodies
        }

        /// Whether a request has its whole body, whose length its head declares. A body that waits for a 100 (Continue) is a
        /// request of its own.
        private static func isComplete(_ request: [UInt8]) -> Bool {
            let parts = String(decoding: request, as: UTF8.self).split(separator: "\r\n\r\n", maxSplits: 1)
            let head = parts.first ?? ""
            if head.contains("Expect: 100-continue") { return true }
            let length = head.firstRange(of: "Content-Length: ").flatMap { range in
                Int(head[range.upperBound...].prefix { $0.isNumber })
            }
            return parts.dropFirst().first?.utf8.count ?? 0 >= length ?? 0
        }

        func serve(_ client: StreamPair) async throws {
            state.withLock { $0.connections += 1 }
            while true {
                var request = try await client.input.read(upTo: 8192)
                if request.isEmpty { return }
                while readsBodies, !Script.isComplete(request) { request += try await client.input.read(upTo: 8192) }
                let answer = state.withLock { state in
                    state.requests.append(String(decoding: request, as: UTF8.self))
                    return state.answers.isEmpty ? "" : state.answers.removeFirst()
                }
                for (index, part) in answer.split(separator: "|", omittingEmptySubsequences: false).enumerated() {
                    if index > 0, holds {
                        // The client has closed the connection.
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

    /// - Parameters:
    ///   - holds: whether the part behind a `|` is never sent.
    ///   - readsBodies: whether the body of a request is read before its response; otherwise the bytes of each read are a request.
    ///   - tls: TLS for every connection; nil for none.
    init(
        _ answers: [String], holds: Bool = false, readsBodies: Bool = true, tls: TLSConfiguration? = nil
    ) throws {
        var configuration = StreamListener.Configuration()
        configuration.tls = tls
        listener = try StreamListener(address: .ip(.v4(.loopback), port: 0), configuration: configuration)
        port = listener.port ?? 0
        script = Script(answers, holds: holds, readsBodies: readsBodies)
        Task { [listener, script] in
            try await listener.run { client in
                // A client may close its connection at any time.
                try? await script.serve(client)
            }
        }
    }

    deinit { listener.stop(within: .zero) }

    var requests: [String] { script.state.withLock { $0.requests } }
    var connections: Int { script.state.withLock { $0.connections } }
}
