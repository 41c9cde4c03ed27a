import Foundation
import NetKitFoundation
import Peers

/// Protocols without I/O.
enum Messages {
    /// A chunked response that arrives byte by byte, and a response with two lengths.
    static func parse() throws -> String {
        var parser = MessageParser(.response)
        parser.expectResponse(to: .get)
        var (status, body) = ("", "")
        for byte in "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n".utf8 {
            try parser.append([byte])
            while let event = try parser.next() {
                if case .response(let response) = event { status = response.statusLine }
                if case .body(let bytes) = event { body += String(decoding: bytes, as: UTF8.self) }
            }
        }
        var strict = MessageParser(.response)
        strict.expectResponse(to: .get)
        do {
            try strict.append(Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello".utf8))
            while try strict.next() != nil {}
        } catch {
            return "read '\(body)' of \(status) byte by byte; refused two lengths: \(error)"
        }
        throw Surprise("two lengths were let through")
    }

    /// The challenges of a server, and the answer.
    static func answerAChallenge() async throws -> String {
        var response = try HTTPResponse(status: .unauthorized)
        response.url = URL(string: "https://www.example.org/")
        try response.fields.append("Basic realm=\"staff\"", for: .wwwAuthenticate)
        try response.fields.append(
            "Digest realm=\"staff\", qop=\"auth\", algorithm=SHA-256, nonce=\"n\"", for: .wwwAuthenticate)
        guard let authentication = HTTPAuthentication(response: response), let url = response.url else {
            throw Surprise("no challenge was found")
        }
        var request = try HTTPRequest(method: .get, url: url)
        let credential = Credential(user: "ann", password: "open sesame", for: authentication.space)
        try await authentication.apply(to: &request, credential)
        let sent = request.fields[.authorization] ?? ""
        return
            "offered Basic and Digest, answered '\(sent.prefix(24))…', without the password: \(!sent.contains("sesame"))"
    }
}

/// Waiting: a timer of an event loop, and name lookups.
enum Waiting {
    static func fireTimer() async -> String {
        let start = ContinuousClock.now
        var timer: LoopTimer?
        await withCheckedContinuation { continuation in
            timer = EventLoop.shared.schedule(at: .now + .milliseconds(5)) { continuation.resume() }
        }
        let time = start.duration(to: .now)
        return withExtendedLifetime(timer) {
            "a timer of 5 ms fired after \(milliseconds(time)), on the shared event loop"
        }
    }

    static func lookUp() async throws -> String {
        let addresses = try await SystemResolver.shared.addresses(of: "localhost", until: .now + .seconds(5))
        let found = addresses.map(\.description).joined(separator: ", ")
        do {
            _ = try await SystemResolver.shared.addresses(of: "no such name")
        } catch {
            return "localhost is \(found); and: \(error)"
        }
        throw Surprise("'no such name' was resolved")
    }

    static func milliseconds(_ time: Duration) -> String {
        let tenths = time.components.seconds * 10_000 + time.components.attoseconds / 100_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) ms"
    }
}

/// FTP, with a server in Python.
enum Files {
    static func fetch() async throws -> String {
        let server = PyFTPServer()
        try server.start()
        defer { server.stop() }
        try server.write("notes.txt", Array("bring bread".utf8))
        guard let folder = URL(string: server.url("files/")) else { throw Surprise("no URL") }
        let client = try FTPClient(folder)
        let entries = try await client.list("files")
        let stream = try ReadStream(ftpURL: folder.appending(component: "notes.txt"))
        try stream.open()
        let text = String(decoding: try await stream.readAll(limit: 100), as: UTF8.self)
        return "pyftpdlib lists \(entries.map { "\($0.name), \($0.size ?? 0) bytes" }.joined()), and sends '\(text)'"
    }
}

/// The diagnosis of a failure.
enum Diagnoses {
    static func explain() async throws -> String {
        guard let url = URL(string: "http://127.0.0.1:1/") else { throw Surprise("no URL") }
        let stream = try ReadStream(httpURL: url)
        do throws(StreamError) {
            try stream.open()
            _ = try await stream.readAll(limit: 100)
        } catch {
            let diagnosis = try await NetDiagnostic(load: stream, of: url).diagnose()
            guard let cause = diagnosis.cause else { throw Surprise("no cause was found: \(diagnosis)") }
            return "from a stream that failed: the \(cause.rung). \(cause.sentence) \(cause.advice)"
        }
        throw Surprise("port 1 has a listener")
    }
}
