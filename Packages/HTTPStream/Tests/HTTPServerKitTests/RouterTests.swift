import EventLoops
import FoundationEssentials
import Glibc
import HTTPStreamTesting
import StreamKit
import Testing

@testable import HTTPServerKit

/// Routers against a session, and against clients that send exactly these bytes.
@Suite(.timeLimit(.minutes(5))) struct RouterTests {
    struct Note: Codable, Equatable {
        var title: String
        var count: Int
    }

    private func router() -> Router {
        var router = Router()
        router.get("/notes/:id") { call in
            let id = try call.path.value("id", as: Int.self)
            if id == 0 { throw HTTPProblem(.notFound, "There is no note 0.") }
            try await call.respond(json: Note(title: call.query["title"] ?? "", count: id))
        }
        router.post("/notes") { call in
            let note = try await call.json(Note.self, limit: 100)
            try await call.respond(.created, json: note)
        }
        router.post("/form") { call in
            let form = try await call.form()
            try await call.respond(text: form.items.map { "\($0.name)=\($0.value)" }.joined(separator: ";"))
        }
        router.get("/long") { call in try await call.respond(text: String(repeating: "long ", count: 1000)) }
        router.get("/longer") { call in try await call.respond(text: String(repeating: "longer ", count: 100_000)) }
        router.get("/moved") { call in try await call.redirect(to: "/notes/1") }
        router.get("/broken") { _ in throw StreamError(posix: 5) }
        router.get("/late") { call in
            try await call.exchange.begin(HTTPResponse(status: .ok))
            throw HTTPProblem(.notFound)
        }
        return router
    }

    private func get(
        _ target: String, _ method: HTTPMethod = .get, fields: [String: String] = [:], body: String? = nil,
        compression: ResponseCompression? = nil, decodes: Bool = true
    ) async throws -> HTTPResponse {
        var router = router()
        router.compression = compression
        var configuration = HTTPSession.Configuration()
        configuration.options.decodesContent = decodes
        configuration.options.followsRedirects = false
        configuration.proxies = .direct
        let session = HTTPSession(configuration)
        return try await serving(router) { base in
            let url = try #require(URL(string: base + target))
            var request = try HTTPRequest(method: method, url: url)
            for (name, value) in fields { try request.fields.set(value, for: name) }
            request.body = Array((body ?? "").utf8)
            return try await session.load(request)
        }
    }

    @Test func values() async throws {
        let note = try await get("/notes/7?title=a%20b")
        #expect(try note.decode(Note.self) == Note(title: "a b", count: 7))
        #expect(note.fields[.contentType] == "application/json")
        let head = try await get("/notes/7", .head)
        #expect(head.status == .ok && head.fields[.contentLength] == "22" && head.body.isEmpty)
        let created = try await get(
            "/notes", .post, fields: ["Content-Type": "application/json"], body: #"{"title":"x","count":1}"#)
        #expect(try created.status == .created && created.decode(Note.self) == Note(title: "x", count: 1))
        let form = try await get(
            "/form", .post, fields: ["Content-Type": "application/x-www-form-urlencoded"], body: "a=1+2&b=%26")
        #expect(form.text == "a=1 2;b=&")
        #expect(try await get("/moved").fields[.location] == "/notes/1")
    }

    @Test(
        arguments: [
            ("/notes/x", .get, nil, nil, 400, #"The path parameter \"id\" must be an integer, not \"x\"."#),
            ("/notes/0", .get, nil, nil, 404, "There is no note 0."),
            ("/notes/1?a=%ff", .get, nil, nil, 400, "percent-escape"),
            ("/nothing", .get, nil, nil, 404, "Not Found"), ("/notes", .delete, nil, nil, 405, "Method Not Allowed"),
            ("/notes", .post, nil, "{}", 415, "application/json"),
            ("/notes", .post, "text/plain", "{}", 415, "application/json"),
            ("/notes", .post, "application/json", "{", 400, "not valid JSON"),
            ("/notes", .post, "application/json", #"{"title":"x"}"#, 400, #"The value \"count\" is missing."#),
            (
                "/notes", .post, "application/json; charset=utf-8", #"{"title":"x","count":"1"}"#, 400,
                #"\"count\" has the wrong type"#
            ),
            ("/notes", .post, "application/vnd.x+json", "[]", 400, "The value of the body has the wrong type."),
            ("/notes", .post, "application/json", String(repeating: " ", count: 101), 413, "at most 100 bytes"),
            ("/form", .post, "application/x-www-form-urlencoded", "a=%", 400, "percent-escape"),
        ] as [(String, HTTPMethod, String?, String?, HTTPStatus, String)])
    func problems(
        _ sample: (target: String, method: HTTPMethod, type: String?, body: String?, status: HTTPStatus, text: String)
    ) async throws {
        let response = try await get(
            sample.target, sample.method, fields: sample.type.map { ["Content-Type": $0] } ?? [:], body: sample.body)
        #expect(response.status == sample.status)
        #expect(response.fields[.contentType] == "application/problem+json")
        #expect(response.text?.contains(sample.text) == true, "\(response.text ?? "")")
    }

    @Test func allow() async throws {
        #expect(try await get("/notes", .delete).fields["Allow"] == "OPTIONS, POST")
        let options = try await get("/notes/1", .options)
        #expect(options.status == .noContent && options.fields["Allow"] == "GET, HEAD, OPTIONS")
        let coded = try await get(
            "/notes", .post, fields: ["Content-Type": "application/json", "Content-Encoding": "gzip"], body: "x")
        #expect(coded.status == .unsupportedMediaType && coded.fields[.acceptEncoding] == "identity")
    }

    /// A body of unknown length ends at the limit.
    @Test func chunkedBodyTooLong() async throws {
        let found = try await exchange(
            "POST /notes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "78\r\n\(String(repeating: " ", count: 0x78))\r\n0\r\n\r\n")
        #expect(found.hasPrefix("HTTP/1.1 413 "))
    }

    /// An error of a handler is a 500 without its text, and a problem after the begin of a response cuts it off.
    @Test func errors() async throws {
        let errors = LockedStrings()
        let broken = try await exchange("GET /broken HTTP/1.1\r\nHost: localhost\r\n\r\n") { configuration in
            configuration.onError = { errors.append("\($0)") }
        }
        #expect(broken.hasPrefix("HTTP/1.1 500 ") && errors.all == ["\(StreamError(posix: 5))"])
        let late = try await exchange("GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(late.hasPrefix("HTTP/1.1 200 OK\r\n") && !late.hasSuffix("0\r\n\r\n") && !late.contains("404"))
    }

    @Test(arguments: ["/long", "/longer"])
    func compression(_ target: String) async throws {
        let on = ResponseCompression()
        let coded = try await get(
            target, fields: ["Accept-Encoding": "gzip"], compression: on, decodes: false)
        let plain = try await get(target, compression: nil)
        #expect(coded.fields[.contentEncoding] == "gzip" && coded.fields[.vary] == "Accept-Encoding")
        #expect(coded.body.count < 20_000)
        #expect(try await get(target, compression: on).text == plain.text)
        let identity = try await get(target, fields: ["Accept-Encoding": "gzip;q=0"], compression: on, decodes: false)
        #expect(identity.body == plain.body && identity.fields[.vary] == "Accept-Encoding")
        #expect(plain.fields[.vary] == nil)
        let head = try await get(target, .head, fields: ["Accept-Encoding": "gzip"], compression: on, decodes: false)
        #expect(head.fields[.contentEncoding] == "gzip" && head.fields[.vary] == "Accept-Encoding")
        let short = try await get("/notes/1", fields: ["Accept-Encoding": "gzip"], compression: on, decodes: false)
        #expect(short.fields[.contentEncoding] == nil && short.fields[.vary] == nil)
    }

    // MARK: Records

    @Test func records() async throws {
        let lines = LockedStrings()
        let log = AccessLog { lines.append($0) }
        _ = try await exchange(
            "GET /notes/1?secret HTTP/1.1\r\nHost: localhost\r\n\r\nHEAD /long HTTP/1.1\r\nHost: localhost\r\n\r\n"
                + "GET /broken HTTP/1.1\r\nHost: localhost\r\n\r\n"
        ) { $0.onResponse = log.record }
        _ = try await exchange("GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n") { $0.onResponse = log.record }
        _ = try await exchange("GET /\r\n\r\n") { $0.onResponse = log.record }
        let expected = [
            "\"GET /notes/1 HTTP/1.1\" 200 22", "\"HEAD /long HTTP/1.1\" 200 -", "\"GET /broken HTTP/1.1\" 500 26",
            "\"GET /late HTTP/1.1\" 200 -", "\"-\" 400 16",
        ]
        #expect(lines.all.map { String($0.drop { $0 != "]" }.dropFirst(2)) } == expected)
    }

    // MARK: Events

    @Test func events() async throws {
        var router = Router()
        router.get("/events") { call in
            try await call.events(keepAlive: nil) { events in
                try await events.send("after \(events.lastEventID ?? "nothing")")
                // Any number of tasks send at once.
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<50 { group.addTask { try? await events.send(ServerSentEvent("x", event: "tick")) } }
                }
            }
        }
        let found = try await exchange("GET /events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 7\r\n\r\n", router)
        #expect(found.contains("Content-Type: text/event-stream\r\n") && found.contains("Cache-Control: no-store\r\n"))
        #expect(found.contains("data: after 7\n\n") && found.hasSuffix("0\r\n\r\n"))
        #expect(found.components(separatedBy: "event: tick\ndata: x\n\n").count == 51)
    }

    /// A stream of events does not use up the time within which a server that stops lets its requests end.
    @Test func eventsOfAServerThatStops() async throws {
        var router = Router()
        router.get("/events") { call in
            try await call.events { events in
                try await events.send(ServerSentEvent(json: Note(title: "a", count: 1), event: "note"))
                try await OneShot<Void>().value()  // ends with the task
            }
        }
        try await receivingEvents(of: router, until: { $0.contains("\n\n\r\n") }) { server, pair, text in
            #expect(text.contains("event: note\ndata: {"))
            server.stop(within: .seconds(3600))
            let end = try await pair.input.readAll(limit: 100)
            #expect(end == Array("0\r\n\r\n".utf8))
            pair.close()
        }
    }

    /// Comments are sent while there is no event, and the handler ends when the client does.
    @Test func eventsOfAClientThatLeaves() async throws {
        let (ended, signal) = AsyncStream<Bool>.makeStream()
        var router = Router()
        router.get("/events") { call in
            do {
                try await call.events(keepAlive: .milliseconds(1)) { _ in try await OneShot<Void>().value() }
            } catch {
                signal.yield(Task.isCancelled)
                throw error
            }
        }
        let isEnough: (String) -> Bool = { $0.components(separatedBy: ":\n\n").count == 4 }
        try await receivingEvents(of: router, until: isEnough) { server, pair, _ in
            pair.close()
            for await isCancelled in ended {
                #expect(isCancelled)
                break
            }
            server.stop()
        }
    }

    /// A crowd of quiet streams of events leaves room for requests, those for the head of such a stream too.
    @Test func streamsOfEventsLeaveRoomForRequests() async throws {
        var router = Router()
        router.get("/events") { call in try await call.events { _ in try await OneShot<Void>().value() } }
        router.get("/") { call in try await call.respond() }
        var configuration = HTTPServer.Configuration.patient
        configuration.connections.maximumConnections = 4
        configuration.connections.minimumWait = .zero
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        let running = Task { [router] in try await server.run(router) }
        var pairs: [StreamPair] = []
        for (request, status) in [
            ("GET /events", 200), ("GET /events", 200), ("GET /events", 200), ("GET /events", 503), ("GET /", 200),
            ("HEAD /events", 200),
        ] {
            let pair = StreamPair(host: "localhost", port: try #require(server.port))
            try pair.open()
            pairs.append(pair)
            try await pair.output.writeAll("\(request) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let response = String(decoding: try await pair.input.read(upTo: 65536), as: UTF8.self)
            try #require(response.hasPrefix("HTTP/1.1 \(status) "), "\(request)")
        }
        for pair in pairs { pair.close() }
        server.stop(within: .zero)
        try await running.value
    }

    /// Requests `/events`, and passes the server, the connection and what has arrived until it is enough. `body` stops the server.
    private func receivingEvents(
        of router: Router, until isEnough: (String) -> Bool,
        _ body: (HTTPServer, StreamPair, String) async throws -> Void
    ) async throws {
        let server = try HTTPServer(port: 0, isLocal: true, configuration: .patient)
        let running = Task { try await server.run(router) }
        let pair = StreamPair(host: "localhost", port: try #require(server.port))
        try pair.open()
        try await pair.output.writeAll("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        var text = ""
        while !isEnough(text) { text += String(decoding: try await pair.input.read(upTo: 1), as: UTF8.self) }
        try await body(server, pair, text)
        try await running.value
    }

    // MARK: Running

    /// Signals stop the server, and the current request ends.
    @Test func signals() async throws {
        let (begun, signal) = AsyncStream<Void>.makeStream()
        let (released, release) = AsyncStream<Void>.makeStream()
        var router = Router()
        router.get("/slow") { call in
            signal.finish()
            for await _ in released {}
            try await call.respond(text: "done")
        }
        let server = try HTTPServer(port: 0, isLocal: true, configuration: .patient)
        let running = Task { [router] in try await server.run(router, stoppingOn: [.init(rawValue: SIGUSR2)]) }
        let port = try #require(server.port)
        let url = try #require(URL(string: "http://localhost:\(port)/slow"))
        async let response = HTTPSession().get(url)
        for await _ in begun {}
        kill(getpid(), SIGUSR2)
        while !server.listener.isStopping, !Task.isCancelled { await Task.yield() }
        release.finish()
        #expect(try await response.text == "done")
        try await running.value
    }

    /// A service manager may stop a process that it has just started. That is no error of the server.
    @Test func aSignalBeforeServing() async throws {
        let server = try HTTPServer(port: 0, isLocal: true, configuration: .patient)
        try await server.run(
            stoppingOn: [.init(rawValue: SIGWINCH)], within: .zero,
            beforeServing: {
                kill(getpid(), SIGWINCH)
                while !server.listener.isStopping, !Task.isCancelled { await Task.yield() }
            }
        ) { _ in }
        await #expect(throws: StreamError.closed) { try await server.run(stoppingOn: []) { _ in } }
    }

    @Test(arguments: [SIGKILL, SIGSTOP, 0, -1, 32, 65, .max]) func signalsThatNoProcessCanHandle(_ number: Int32)
        async throws
    {
        let server = try HTTPServer(port: 0, isLocal: true, configuration: .patient)
        let error = await #expect(throws: StreamError.self) {
            try await server.run(stoppingOn: [.sigterm, .init(rawValue: number)]) { _ in }
        }
        #expect(error?.isPOSIX(EINVAL) == true)
    }

    // MARK: Clients

    private func serving<Result: Sendable>(
        _ router: Router, _ change: (inout HTTPServer.Configuration) -> Void = { _ in },
        _ body: (String) async throws -> Result
    ) async throws -> Result {
        var configuration = HTTPServer.Configuration.patient
        change(&configuration)
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        let running = Task { try await server.run(router) }
        defer { running.cancel() }
        let result = try await body("http://localhost:\(try #require(server.port))")
        server.stop(within: .zero)
        try await running.value
        return result
    }

    /// Sends these bytes, ends the output, and returns what the server sends.
    private func exchange(
        _ request: String, _ router: Router? = nil, _ change: (inout HTTPServer.Configuration) -> Void = { _ in }
    ) async throws -> String {
        try await serving(router ?? self.router(), change) { base in
            let pair = StreamPair(
                host: "localhost", port: try #require(base.split(separator: ":").last.flatMap { UInt16($0) }))
            defer { pair.close() }
            try pair.open()
            try await pair.output.writeAll(Array(request.utf8))
            try await pair.output.finish()
            return String(decoding: try await pair.input.readAll(limit: 1 << 20), as: UTF8.self)
        }
    }
}

/// Strings of several threads.
final class LockedStrings: Sendable {
    private let strings = Locked<[String]>([])
    var all: [String] { strings.withLock { $0 } }
    func append(_ string: String) { strings.withLock { $0.append(string) } }
}
