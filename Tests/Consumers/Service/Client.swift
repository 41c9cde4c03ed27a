import FoundationEssentials
import HTTPServerKit

/// Uses each route of the service.
struct Client {
    var port: UInt16

    func run() async throws {
        guard let base = URL(string: "http://localhost:\(port)/") else { return }
        let session = HTTPSession()
        let events = try await session.open(HTTPRequest(method: .get, url: base.appending(path: "events")))
        var request = try HTTPRequest(method: .post, url: base.appending(path: "notes"))
        try request.setJSON(Note(title: "milk"))
        print("created:", try await session.load(request).decode(Note.self).title)
        for try await line in events.lines() where line.hasPrefix("data:") {
            print("event:", line.dropFirst(6))
            break
        }
        events.close()
        for path in ["notes/1", "notes/2", "notes/x"] {
            print(try await session.get(base.appending(path: path)).text ?? "")
        }
        let upload = HTTPBody.stream(length: 1 << 30) { ReadStream(path: "/dev/zero") }
        let file = try HTTPRequest(method: .put, url: base.appending(path: "files/zeros"))
        print("uploaded:", try await session.load(file, body: upload).text ?? "")
    }
}
