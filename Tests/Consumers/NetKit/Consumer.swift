import FoundationEssentials
import NetKit

/// Loads a page over HTTP, blocking and then with await, by one import.
@main struct Consumer {
    static func main() async throws {
        guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else {
            fatalError("which URL?")
        }
        let blocking = try load(url)
        let stream = try ReadStream(httpURL: url)
        try stream.open()
        let response = try await stream.response()
        let waiting = try await stream.readAll(limit: 1000)
        print("\(response.statusLine): \(waiting.count) bytes, the same when blocking: \(blocking == waiting)")
    }

    static func load(_ url: URL) throws(StreamError) -> [UInt8] {
        let stream = try ReadStream(httpURL: url)
        try stream.open()
        return try stream.readAll(limit: 1000)
    }
}
