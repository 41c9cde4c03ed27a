import FoundationEssentials
import HTTPServerKit

struct Note: Codable, Sendable {
    var id: Int?
    var title: String
}

actor Notes {
    private var notes: [Int: Note] = [:]
    private var followers: [AsyncStream<Note>.Continuation] = []

    func add(_ title: String) -> Note {
        let note = Note(id: notes.count + 1, title: title)
        notes[notes.count + 1] = note
        followers.removeAll { if case .terminated = $0.yield(note) { true } else { false } }
        return note
    }
    func find(_ id: Int) -> Note? { notes[id] }
    func follow() -> AsyncStream<Note> {
        let (stream, continuation) = AsyncStream<Note>.makeStream(bufferingPolicy: .bufferingNewest(100))
        followers.append(continuation)
        return stream
    }
}

/// A REST service: notes in JSON, a stream of events, and uploads of any length.
@main struct Consumer {
    static func main() async throws {
        let notes = Notes()
        var router = Router()
        router.get("/notes/:id") { call in
            let id = try call.path.value("id", as: Int.self)
            guard let note = await notes.find(id) else { throw HTTPProblem(.notFound, "There is no note \(id).") }
            try await call.respond(json: note)
        }
        router.post("/notes") { call in
            try await call.respond(.created, json: await notes.add(try await call.json(Note.self).title))
        }
        router.get("/events") { call in
            let added = await notes.follow()
            try await call.events { events in
                for await note in added { try await events.send(note.title) }
            }
        }
        router.put("/files/:name") { call in
            var length = 0
            while case let piece = try await call.exchange.readBody(), !piece.isEmpty { length += piece.count }
            try await call.respond(.created, text: "\(length) bytes")
        }
        var configuration = HTTPServer.Configuration()
        configuration.limits.bodyLength = 2 << 30
        configuration.onResponse = AccessLog(.combined) { print($0) }.record
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        let running = Task { [router] in try await server.run(router, stoppingOn: [.sigterm, .sigint]) }
        try await Client(port: server.port ?? 0).run()
        server.stop(within: .seconds(1))
        try await running.value
    }
}
