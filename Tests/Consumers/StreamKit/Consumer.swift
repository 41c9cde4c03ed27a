import StreamKit

/// Sends words through a pair of streams that holds eight bytes, and connects to a port without a listener.
@main struct Consumer {
    static func main() async throws {
        let pair = StreamPair.bound(bufferSize: 8)
        try pair.open()
        async let sent: Void = send("twenty-four bytes of it.", to: pair.output)
        let received = try await pair.input.readAll(limit: 1000)
        try await sent
        pair.close()

        let refused = StreamPair(host: "127.0.0.1", port: 1)
        try refused.open()
        do {
            try await refused.input.opened()
        } catch {
            print("received '\(String(decoding: received, as: UTF8.self))'; port 1: \(error)")
        }
        refused.close()
    }

    static func send(_ words: String, to stream: WriteStream) async throws {
        try await stream.writeAll(Array(words.utf8))
        try await stream.finish()
    }
}
