import Peers
import Testing

@Suite struct ScriptedServerTests {
    private func socat(_ port: Int, sending text: String) async throws -> Command.Result {
        try await Command(
            Program("socat"), ["-t10", "-", "TCP4:127.0.0.1:\(port)"], input: Array(text.utf8)
        ).run()
    }

    @Test func playsItsScriptAndRecords() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.expect("GET ")
            try connection.read(until: " ")
            try connection.send(Array("one two three\n".utf8), inPiecesOf: 3)
            connection.finish()
            try connection.readToEnd()
        }
        #expect(try await socat(server.port, sending: "GET /x HTTP/9\r\n").text == "one two three\n")
        let recordings = try await server.finished()
        #expect(recordings.map(\.text) == ["GET /x HTTP/9\r\n"])
        #expect(recordings.first?.ending == .finished)
        server.stop()
        #expect(PortPool.isFree(server.port))
    }

    @Test func aClientThatDepartsFromTheScriptIsAnError() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in try connection.expect("HELO") }
        _ = try await socat(server.port, sending: "EHLO")
        let error = await #expect(throws: PeerError.self) { try await server.finished() }
        #expect(error?.code == .unexpected)
        #expect(error?.reason == #"expected "HELO", received "EHLO""#)
    }

    @Test func resetsAfterWhatItSent() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
            connection.reset()
        }
        let result = try await Command("curl", "-sS", "http://127.0.0.1:\(server.port)/").run()
        #expect(result.text == "half")
        #expect(result.errors.contains("curl: (56)") && result.errors.contains("reset by peer"), "\(result.errors)")
        try await server.finished()
    }

    @Test func continuesWhenSignalled() async throws {
        let go = Signal()
        let sent = Signal()
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.drip(Array("ab".utf8), on: go)
            sent.fire()
        }
        async let result = socat(server.port, sending: "")
        try await server.accepted()
        go.fire()
        go.fire()
        try await sent.wait()
        #expect(try await result.text == "ab")
    }

    @Test func seesAClientThatResets() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.read(5)
            try connection.readToEnd()
        }
        let client = """
            import socket, struct
            s = socket.create_connection(("127.0.0.1", \(server.port)))
            s.sendall(b"hello")
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()
            """
        _ = try await Command("python3", "-c", client).run()
        #expect(try await server.finished().first?.ending == .reset)
    }

    @Test func servesIPv6AndManyConnections() async throws {
        let server = try ScriptedServer(isIPv6: true) { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\(connection.number)")
        }
        let url = "http://[::1]:\(server.port)/"
        #expect(try await Command("curl", "-sS", url, url, url).run().text == "012")
        #expect(try await server.finished(connections: 3).count == 3)
    }

    @Test func stopEndsScriptsThatWait() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in try connection.readToEnd() }
        async let result = Command("socat", "TCP4:127.0.0.1:\(server.port)", "EXEC:sleep 60").run()
        try await server.accepted()
        server.stop()
        #expect(try await result.status == 0)
        try await server.finished()
    }

    @Test func anUnansweredPortIsSilent() async throws {
        let silent = try UnansweredPort()
        let result = try await Command(
            "curl", "-sS", "--connect-timeout", "0.3", "http://127.0.0.1:\(silent.port)/"
        ).run()
        #expect(result.status == 28, "\(result.errors)")
    }
}

@Suite struct HTTPOriginTests {
    @Test func recordsAndAnswers() async throws {
        let origin = try HTTPOrigin { request in
            switch request.target {
            case "/old": .init(301, fields: [.init("Location", "/new")])
            case "/none": .init(204)
            case "/last": .init(fields: [.init("Connection", "close")], body: "bye")
            default: .init(body: "hello")
            }
        }
        defer { origin.stop() }
        let answer = try await Command(
            "curl", "-sS", "-L", "-HX-Color: red", "-w|%{http_code}|", origin.url("/old"), origin.url("/none"),
            origin.url("/last"), origin.url("/new")
        ).run()
        #expect(answer.text == "hello|200||204|bye|200|hello|200|")
        #expect(origin.requests.map(\.target) == ["/old", "/new", "/none", "/last", "/new"])
        #expect(origin.requests.map(\.connection) == [0, 0, 0, 0, 1])
        #expect(origin.requests.first?["x-color"] == ["red"])
        #expect(origin.recordings.first?.text.hasPrefix("GET /old HTTP/1.1\r\nHost: 127.0.0.1:") == true)
    }

    @Test(arguments: [[], ["-HTransfer-Encoding: chunked"], ["-HExpect: 100-continue"]])
    func readsBodies(options: [String]) async throws {
        let origin = try HTTPOrigin { .init(body: "\($0.body.count)") }
        defer { origin.stop() }
        let body = String(repeating: "0123456789", count: 20_000)
        let command = Command(
            Program("curl"), ["-sS", "--data-binary", "@-", origin.url()] + options, input: Array(body.utf8))
        #expect(try await command.run().text == "200000")
        #expect(origin.requests.first?.body == Array(body.utf8))
    }

    @Test func answersHEADWithoutABody() async throws {
        let origin = try HTTPOrigin { _ in .init(body: "hello") }
        defer { origin.stop() }
        let head = try await Command("curl", "-sS", "-I", origin.url()).run()
        #expect(head.text.contains("Content-Length: 5\r\n") && head.text.hasSuffix("\r\n\r\n"))
    }
}
