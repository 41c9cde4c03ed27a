import Foundation
import Glibc
import HostResolver
import Peers
import StreamKit
import Testing

/// NetKit's server with curl and wrk, over http and https.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ServerTests {
    // Parity: SK-156, HM-108 (curl)
    @Test(arguments: [false, true]) func curlGetsResponses(isSecure: Bool) async throws {
        let server = try await ExampleServer(isSecure: isSecure)
        let hello = try await server.curl("", "--http1.1", "-D", "-")
        #expect(hello.status == 0, "\(hello)")
        #expect(hello.text.hasPrefix("HTTP/1.1 200 OK\r\n") && hello.text.hasSuffix("\r\n\r\nhello\n"))
        #expect(hello.text.contains("\r\nDate: ") && hello.text.contains("\r\nContent-Length: 6\r\n"))
        // Two requests over one connection.
        let both = try await server.curl("", "-w", "%{num_connects}\n", server.url)
        #expect(both.text == "hello\n1\nhello\n0\n")
        let head = try await server.curl("", "--http1.1", "-I")
        #expect(head.text.contains("Content-Length: 6\r\n") && head.text.hasSuffix("\r\n\r\n"))
        let old = try await server.curl("", "--http1.0", "-w", "%{http_version}")
        #expect(old.text == "hello\n1.1" && old.status == 0)
        #expect(try await server.curl("nothing", "-w", "%{http_code}", "-o", "/dev/null").text == "404")
        #expect(try await server.curl("", "-X", "BREW", "-w", "%{http_code}").text == "405")
        let large = try await server.curl("bytes/5000001", "-w", "%{size_download}", "-o", "/dev/null")
        #expect(large.text == "5000001")
        // curl waits for a 100 before a body of this size; the response is chunked.
        var upload = Command(Program("curl"), ["-sS", "-v", "--max-time", "20", "--noproxy", "*", "--cacert"])
        upload.arguments += [
            try CertificateAuthority.shared().root, "-T", "-", "-H", "Expect: 100-continue", "--http1.1",
        ]
        upload.arguments.append(server.url + "echo")
        upload.input = Array(repeating: UInt8(ascii: "y"), count: 300_000)
        let echoed = try await upload.run()
        #expect(echoed.output == upload.input)
        #expect(echoed.errors.contains("HTTP/1.1 100 Continue"))
    }

    @Test func clientCertificates() async throws {
        let server = try await ExampleServer(isSecure: true, clients: true)
        let client = try CertificateAuthority.shared().client
        #expect(try await server.curl("whoami").text == "unknown client, TLS 1.3, h2\n")
        let known = try await server.curl("whoami", "--cert", client.chain, "--key", client.key)
        #expect(known.text == "CN=Test Client, TLS 1.3, h2\n")
        let wrong = try CertificateAuthority.shared().server(.selfSigned)
        #expect(try await server.curl("whoami", "--cert", wrong.chain, "--key", wrong.key).status != 0)
        // Other clients are still served.
        #expect(try await server.curl("").text == "hello\n")
    }

    /// A client of the wrong protocol gets an error or is disconnected; other clients are not affected.
    @Test func clientsOfOtherProtocols() async throws {
        let secure = try await ExampleServer(isSecure: true)
        let plain = try await Command(
            "curl", "-sS", "--max-time", "10", "http://localhost:\(secure.port)/"
        ).run()
        #expect(plain.status != 0)
        #expect(try await secure.curl("").text == "hello\n")
        let clear = try await ExampleServer()
        let tls = try await Command("curl", "-sS", "--max-time", "10", "https://localhost:\(clear.port)/").run()
        #expect(tls.status != 0)
        #expect(try await clear.curl("").text == "hello\n")
    }

    @Test(arguments: [false, true]) func wrkFindsNoErrors(isSecure: Bool) async throws {
        let server = try await ExampleServer(isSecure: isSecure, options: ["--threads", "2"])
        let load = try await Command(
            "wrk", "-t1", "-c50", "-d2s", "--latency", server.url
        ).run()
        #expect(load.status == 0)
        #expect(!load.text.contains("Socket errors") && !load.text.contains("Non-2xx"), "\(load.text)")
        let requests = load.text.split(separator: "\n").first { $0.contains(" requests in ") } ?? ""
        #expect((Int(requests.split(separator: " ").first ?? "") ?? 0) > 100, "\(load.text)")
        #expect(try await server.curl("").text == "hello\n")
        // The main thread, the loops and the threads of the runtime; no thread per connection.
        #expect(server.threads < 16)
    }

    /// Without free descriptors the server neither ends nor spins: present clients are served, and waiting ones are accepted when a
    /// client disconnects.
    @Test func aServerWithoutFreeDescriptors() async throws {
        let server = try await ExampleServer(descriptors: 48)
        let pairs = try (0..<80).map { _ in
            let pair = StreamPair(address: .ip(.v4(.loopback), port: server.port))
            try pair.open()
            return pair
        }
        let request = Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        for pair in pairs { try await pair.output.writeAll(request) }
        // The limit of connections or of descriptors, whichever is reached first: both messages name the command that raises it.
        #expect(await server.program.shows("ulimit -n"))
        #expect(server.descriptors <= 48)
        // All are served, in whatever order they were accepted.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for pair in pairs {
                group.addTask {
                    let answer = try await pair.input.read(upTo: 1000)
                    #expect(String(decoding: answer, as: UTF8.self).hasSuffix("hello\n"))
                    pair.close()
                }
            }
            try await group.waitForAll()
        }
        #expect(try await server.curl("").text == "hello\n")
        // It pauses between two attempts; spinning would have filled the log.
        #expect(server.program.log.split(separator: "\n").count < 200)
    }

    /// SIGTERM: requests in progress are finished, and then the server exits.
    @Test func sigtermEndsTheServerGracefully() async throws {
        let server = try await ExampleServer()
        let idle = StreamPair(address: .ip(.v4(.loopback), port: server.port))
        let busy = StreamPair(address: .ip(.v4(.loopback), port: server.port))
        try idle.open()
        try busy.open()
        let head = "PUT /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n\r\nabc"
        try await busy.output.writeAll(Array(head.utf8))
        var answer = ""
        while !answer.contains("abc") {
            answer += String(decoding: try await busy.input.read(upTo: 1000), as: UTF8.self)
        }
        try await idle.output.writeAll(Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        #expect(try await !idle.input.read(upTo: 1000).isEmpty)
        kill(server.pid, SIGTERM)
        // Idle connections end at once.
        #expect(try await idle.input.read(upTo: 1) == [])
        try await busy.output.writeAll(Array("def".utf8))
        while case let more = try await busy.input.read(upTo: 1000), !more.isEmpty {
            answer += String(decoding: more, as: UTF8.self)
        }
        #expect(answer.hasSuffix("3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"))
        idle.close()
        busy.close()
        let end = ContinuousClock.now + .seconds(30)
        while server.program.isRunning, .now < end, !Task.isCancelled { await Task.yield() }
        #expect(!server.program.isRunning)
    }
}
