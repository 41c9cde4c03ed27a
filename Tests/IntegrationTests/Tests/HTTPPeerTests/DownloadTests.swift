import EventLoops
import Foundation
import Glibc
import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// Downloads to files, and events that arrive on a stream.
@Suite(.timeLimit(.minutes(5))) struct DownloadTests {
    /// A path for a file that is removed afterwards.
    private func withPath(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "download-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder + "/file")
    }

    private func session() -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.proxies = .direct
        return HTTPSession(configuration)
    }

    private func inode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.systemFileNumber] as? Int)
    }

    /// nginx has ranges: the second call loads no byte.
    @Test func aCompleteFileIsNotLoadedAgainFromNginx() async throws {
        let nginx = try SharedNginx.get()
        let (first, second) = (patterned(200_000), Array("another version".utf8))
        let name = "complete-\(UUID())"
        try nginx.write(name, first)
        try nginx.age(name)
        let url = try #require(URL(string: nginx.url(.plain, "/\(name)")))
        try await withPath { path in
            let session = session()
            #expect(try await session.download(url, to: path).status == .ok)
            let number = try inode(path)
            let again = try await session.download(url, to: path, resuming: true)
            #expect(again.status == .rangeNotSatisfiable && again.fields[.contentRange] == "bytes */200000")
            #expect(again.body.isEmpty && FileManager.default.contents(atPath: path) == Data(first))
            #expect(try inode(path) == number)

            // The beginning of the file is completed.
            try Data(first[..<70_000]).write(to: URL(filePath: path + ".part"))
            let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate]
            try FileManager.default.setAttributes([.modificationDate: #require(date)], ofItemAtPath: path + ".part")
            #expect(try await session.download(url, to: path, resuming: true).status == .partialContent)
            #expect(FileManager.default.contents(atPath: path) == Data(first))

            try nginx.write(name, second)
            #expect(try await session.download(url, to: path, resuming: true).status == .ok)
            #expect(FileManager.default.contents(atPath: path) == Data(second))
        }
    }

    /// Python's http.server has no ranges: the file is loaded again.
    @Test func aCompleteFileIsReplacedByThatOfPython() async throws {
        let server = PythonHTTPServer()
        try server.start()
        defer { server.stop() }
        try server.write("file", "hello")
        try server.age("file")
        let url = try #require(URL(string: server.url("/file")))
        try await withPath { path in
            for _ in 0..<2 {
                let response = try await session().download(url, to: path, resuming: true)
                #expect(response.status == .ok && response.body.isEmpty)
                #expect(FileManager.default.contents(atPath: path) == Data("hello".utf8))
            }
        }
    }

    /// A client that connects again continues after the last event.
    @Test func eventsOfTornado() async throws {
        struct Tick: Decodable { var number: Int }
        let server = WebSocketServer(.tornado)
        try server.start()
        defer { server.stop() }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/events"))
        var last: String?
        var numbers: [Int] = []
        for _ in 0..<2 {
            var request = try HTTPRequest(method: .get, url: url)
            if let last { try request.fields.set(last, for: "Last-Event-ID") }
            let stream = try await session().open(request)
            for try await event in stream.serverSentEvents(lastEventID: last) {
                #expect(event.event == "tick")
                numbers.append(try event.decode(Tick.self).number)
                last = event.id
            }
        }
        #expect(numbers == [1, 2, 3, 4, 5, 6])
    }

    /// An event source connects as often as the server ends the response, until it says that there are no more events.
    @Test func allEventsOfTornado() async throws {
        struct Tick: Decodable { var number: Int }
        let server = WebSocketServer(.tornado)
        try server.start()
        defer { server.stop() }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/events"))
        let pauses = Locked<[Duration]>([])
        var options = EventSource.Options()
        options.onDisconnect = { _, pause in pauses.withLock { $0.append(pause) } }
        var numbers: [Int] = []
        for try await event in session().events(from: url, options) {
            numbers.append(try event.decode(Tick.self).number)
        }
        #expect(numbers == [1, 2, 3, 4, 5, 6])
        #expect(pauses.withLock { $0 } == [.milliseconds(100), .milliseconds(100)])
    }
}
