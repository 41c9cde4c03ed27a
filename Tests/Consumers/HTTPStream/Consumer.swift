import FoundationEssentials
import HTTPStream

/// Loads a page with a stream, then with a session, by one import.
@main struct Consumer {
    static func main() async throws {
        guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else {
            fatalError("which URL?")
        }
        let stream = try ReadStream(httpURL: url)
        try stream.open()
        let response = try await stream.response()
        let body = try await stream.readAll(limit: 1000)
        let load = try await HTTPSession().open(HTTPRequest(method: .get, url: url))
        let again = try await load.readAll(limit: 1000)
        print("\(response.statusLine): \(body.count) bytes, the same from a session: \(body == again)")
    }
}
