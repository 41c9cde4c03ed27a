import EventLoops
import Foundation
import HTTPServerKit
import Peers
import Testing

/// A service of HTTPServerKit with curl and Python.
@Suite(.timeLimit(.minutes(5))) struct ServiceTests {
    private struct Note: Codable { var title: String }

    /// Runs a service while `body` uses it, with the folder that it serves.
    private func serving(
        log: @escaping @Sendable (String) -> Void = { _ in },
        _ body: (HTTPServer, _ url: String, _ folder: String) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "service-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var router = Router()
        router.compression = ResponseCompression()
        router.post("/notes") { call in try await call.respond(.created, json: try await call.json(Note.self)) }
        router.put("/upload") { call in
            var length = 0
            while case let piece = try await call.exchange.readBody(), !piece.isEmpty { length += piece.count }
            try await call.respond(text: "\(length)")
        }
        router.get("/events") { call in
            try await call.events(keepAlive: .milliseconds(10)) { events in
                try await events.send(ServerSentEvent("one\ntwo", event: "first", id: "1"))
                try await OneShot<Void>().value()  // ends with the task
            }
        }
        router.files("/files/*path", try StaticFiles(folder))
        var configuration = HTTPServer.Configuration()
        configuration.limits.bodyLength = 1 << 30
        configuration.onResponse = AccessLog(.combined, log).record
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        let running = Task { [router] in try await server.run(router) }
        defer { running.cancel() }
        try await body(server, "http://localhost:\(try #require(server.port))", folder)
        server.stop(within: .seconds(1))
        try await running.value
    }

    private func curl(_ arguments: String...) async throws -> Command.Result {
        try await Command(Program("curl"), ["-sS", "--max-time", "20", "--noproxy", "*"] + arguments).run()
    }

    @Test func curlUsesAService() async throws {
        let lines = Locked<[String]>([])
        try await serving(log: { line in lines.withLock { $0.append(line) } }) { _, url, folder in
            let text = String(repeating: "0123456789", count: 10_000)
            try Data(text.utf8).write(to: URL(filePath: folder + "/digits.txt"))
            let json = ["-H", "Content-Type: application/json", "-w", " %{http_code}"]
            let created = try await curl(url + "/notes", "-d", #"{"title":"a"}"#, json[0], json[1], json[2], json[3])
            #expect(created.text == #"{"title":"a"} 201"#)
            #expect(try await curl(url + "/notes", "-d", "{}", "-w", " %{http_code}").text.hasSuffix(" 415"))
            #expect(
                try await curl(url + "/notes", "-X", "DELETE", "-D", "-").text.contains("\r\nAllow: OPTIONS, POST\r\n"))
            let digits = url + "/files/digits.txt"
            let plain = try await curl(digits)
            #expect(plain.text == text)
            let coded = try await curl("--compressed", digits, "-w", " %{size_download}")
            #expect(coded.text.hasPrefix(text + " ") && (Int(coded.text.dropFirst(text.count + 1)) ?? .max) < 2000)
            #expect(try await curl("-r", "99995-", digits).text == "56789")
            #expect(
                try await curl("-r", "0-0,99999-", digits).text.components(separatedBy: "Content-Range: ").count == 3)
            // An interrupted download is resumed, and an unchanged file is not sent again.
            try Data("01234".utf8).write(to: URL(filePath: folder + "/part"))
            _ = try await curl("-C", "-", "-o", folder + "/part", digits)
            #expect(try String(contentsOfFile: folder + "/part", encoding: .utf8) == text)
            _ = try await curl("-z", folder + "/part", digits, "-o", folder + "/none", "--etag-save", folder + "/tag")
            _ = try await curl(digits, "-o", folder + "/digits", "--etag-save", folder + "/tag")
            let tagged = try await curl(
                digits, "-o", folder + "/again", "--etag-compare", folder + "/tag", "-w", "%{http_code}")
            #expect(tagged.text == "304")
            for path in ["/files/../../etc/passwd", "/files/%2e%2e/x", "/files/..%2f..%2fetc/passwd"] {
                let status = try await curl("--path-as-is", url + path, "-o", "/dev/null", "-w", "%{http_code}").text
                #expect(["400", "404"].contains(status))
            }
        }
        let found = lines.withLock { $0 }
        #expect(found.contains { $0.contains(#""GET /files/digits.txt HTTP/1.1" 206 5 "-" "curl/"#) })
        #expect(found.allSatisfy { $0.hasPrefix("127.0.0.1 ") || $0.hasPrefix("::1 ") })
    }

    /// curl receives events at once, and the handler ends when curl is ended.
    @Test func eventsForCurl() async throws {
        try await serving { server, url, _ in
            let client = LineProgram("curl", ["-sS", "-N", "--noproxy", "*", url + "/events"])
            try client.start()
            #expect(await client.shows("event: first\nid: 1\ndata: one\ndata: two\n"))
            client.stop()
            while server.listener.connectionCount > 0, !Task.isCancelled { await Task.yield() }
        }
    }

    @Test func pythonUsesAService() async throws {
        try await serving { _, url, folder in
            try Data("<p>home</p>".utf8).write(to: URL(filePath: folder + "/index.html"))
            let program = """
                import http.client, json, sys, urllib.error, urllib.request
                base = sys.argv[1]
                request = urllib.request.Request(base + "/notes", b'{"title": "a"}', {"Content-Type": "application/json"})
                with urllib.request.urlopen(request) as response:
                    print(response.status, json.load(response)["title"])
                with urllib.request.urlopen(base + "/files/") as response:
                    print(response.headers["Content-Type"], response.read().decode())
                    changed = response.headers["Last-Modified"]
                try:
                    urllib.request.urlopen(urllib.request.Request(base + "/files/", headers={"If-Modified-Since": changed}))
                except urllib.error.HTTPError as error:
                    print(error.code)
                connection = http.client.HTTPConnection(base.removeprefix("http://"))
                for method, path in ("HEAD", "/files/"), ("OPTIONS", "*"), ("GET", "/none"):
                    connection.request(method, path)
                    response = connection.getresponse()
                    print(response.status, len(response.read()))
                pieces = (b"x" * 65536 for _ in range(160))
                connection.request("PUT", "/upload", body=pieces, encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
                print(connection.getresponse().read().decode())
                """
            let result = try await Command("python3", "-c", program, url).run()
            #expect(result.errors == "")
            #expect(
                result.text == """
                    201 a
                    text/html; charset=utf-8 <p>home</p>
                    304
                    200 0
                    204 0
                    404 35
                    10485760

                    """)
        }
    }
}
