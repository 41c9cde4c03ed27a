import Foundation
import Peers
import Testing

/// Transfers with servers that misbehave.
@Suite struct TransferTests {
    /// An FTP server that sends nothing on its data connections, and never confirms a transfer.
    private static func silentServer() throws -> (control: ScriptedServer, data: ScriptedServer) {
        let data = try ScriptedServer { connection throws(PeerError) in try connection.readToEnd() }
        let control = try ScriptedServer { connection throws(PeerError) in
            try connection.send("220 Hello.\r\n")
            while true {
                let line = try connection.read(until: "\r\n")
                let reply =
                    switch line.prefix(4) {
                    case "USER": "331 Password?"
                    case "PASS": "230 Welcome."
                    case "TYPE", "CWD ": "200 OK."
                    case "EPSV": "229 (|||\(data.port)|)"
                    case "RETR", "MLSD", "LIST", "STOR": "150 Here it comes."
                    default: "502 Unknown."
                    }
                try connection.send(reply + "\r\n")
            }
        }
        return (control, data)
    }

    @Test("--timeout limits a whole FTP transfer", arguments: ["get", "get -r -o", "put"])
    func totalLimitOfFTP(_ verb: String) async throws {
        let (control, data) = try Self.silentServer()
        defer {
            control.stop()
            data.stop()
        }
        let folder = try TemporaryFolder()
        let file = try folder.write("content", to: "file")
        var arguments = verb.split(separator: " ").map(String.init)
        if verb == "get -r -o" { arguments.append(folder.file("tree")) }
        if verb == "put" { arguments.append(file) }
        // Long enough for a loaded machine to open the data connection.
        arguments += ["--timeout", "4", "--json", "ftp://ann:pw@127.0.0.1:\(control.port)/x"]
        let run = try await Tool.run(arguments)
        #expect(run.status == 28 && run.text.contains("Timed out after 4 s."), "\(run.text)")
        #expect(run.text.contains(#""error":{"#), "\(run.text)")
        try await data.accepted()
    }

    @Test(arguments: ["get", "put"]) func refusesTimeoutsOfNoTime(_ verb: String) async throws {
        let run = try await Tool.run(
            [verb] + (verb == "put" ? ["x"] : []) + ["--timeout", "0", "ftp://a:b@h.invalid/"])
        #expect(
            run.status == 64
                && run.text.contains("--timeout must be a number of seconds above 0, and at most 1000000000."),
            "\(run.text)")
    }

    /// The server accepts the connection, but does not answer the TLS handshake.
    @Test func connectTimeoutIncludesTLS() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in try connection.readToEnd() }
        let run = try await Tool.run(["get", "--connect-timeout", "0.3", "https://127.0.0.1:\(server.port)/"])
        #expect(run.status == 28, "\(run.text)")
    }

    /// The length of the rest and the size of the partial file exceed the largest integer, and contradict the range.
    @Test func resumesBeforeARestOfTheLargestLength() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send(
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 3-9/*\r\n"
                    + "Content-Length: 9223372036854775807\r\n\r\ndef")
        }
        let folder = try TemporaryFolder()
        let file = try folder.write("abc", to: "file")
        let run = try await Tool.run(["get", "--resume", "-o", file, "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 18, "\(run.text)")
        #expect(try folder.names == ["file"])
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "abc")
    }

    /// The listing is complete each time; it is not appended to the earlier one.
    @Test func aListingIsNotResumed() async throws {
        let data = try ScriptedServer { connection throws(PeerError) in try connection.send("a\r\nb\r\n") }
        let control = try ScriptedServer { connection throws(PeerError) in
            try connection.send("220 Hello.\r\n")
            while true {
                let line = try connection.read(until: "\r\n")
                let reply =
                    switch line.prefix(4) {
                    case "USER": "331 Password?"
                    case "PASS": "230 Welcome."
                    case "TYPE", "CWD ": "200 OK."
                    case "EPSV": "229 (|||\(data.port)|)"
                    case "MLSD", "LIST": "150 Here it comes.\r\n226 Done."
                    case "QUIT": "221 Bye."
                    default: "502 Unknown."
                    }
                try connection.send(reply + "\r\n")
            }
        }
        defer { control.stop() }
        let folder = try TemporaryFolder()
        let file = try folder.write("a\r\n", to: "file")
        let run = try await Tool.run([
            "get", "--resume", "-o", file, "ftp://ann:pw@127.0.0.1:\(control.port)/x/",
        ])
        #expect(run.status == 0, "\(run.text)")
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "a\r\nb\r\n")
    }

    /// The server cannot start in the middle of the file: the whole replaces the part, as over HTTP.
    @Test func aServerWithoutOffsetsSendsTheWholeFile() async throws {
        let data = try ScriptedServer { connection throws(PeerError) in try connection.send("hello") }
        let control = try ScriptedServer { connection throws(PeerError) in
            try connection.send("220 Hello.\r\n")
            while true {
                let line = try connection.read(until: "\r\n")
                let reply =
                    switch line.prefix(4) {
                    case "USER": "331 Password?"
                    case "PASS": "230 Welcome."
                    case "TYPE": "200 OK."
                    case "EPSV": "229 (|||\(data.port)|)"
                    case "SIZE": "213 5"
                    case "RETR": "150 Here it comes.\r\n226 Done."
                    case "QUIT": "221 Bye."
                    default: "502 Unknown."
                    }
                try connection.send(reply + "\r\n")
            }
        }
        defer { control.stop() }
        let folder = try TemporaryFolder()
        let file = try folder.write("oh", to: "file")
        let run = try await Tool.run([
            "get", "--resume", "-o", file, "ftp://ann:pw@127.0.0.1:\(control.port)/x",
        ])
        #expect(run.status == 0, "\(run.text)")
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "hello")
    }

    @Test("The body of an error is written, but not with -f", arguments: [("-s", "nope\n"), ("-f", "")])
    func bodiesOfErrors(_ option: String, _ body: String) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            _ = try connection.readHead()
            try connection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\nConnection: close\r\n\r\nnope\n")
        }
        let run = try await Tool.run(["get", option, "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 22 && run.output == body && run.errors.contains("404 Not Found"), "\(run.text)")
    }

    // MARK: Uploads

    /// Serves one request; the server's recording has its head and body.
    private static func receiver() throws -> ScriptedServer {
        try ScriptedServer { connection throws(PeerError) in
            let head = try connection.readHead()
            if head.contains("Expect: 100-continue") { try connection.send("HTTP/1.1 100 Continue\r\n\r\n") }
            if head.contains("Transfer-Encoding: chunked") {
                _ = try connection.read(until: "\r\n0\r\n\r\n")
            } else if let length = head.firstMatch(of: /Content-Length: ([0-9]+)/).flatMap({ Int($0.1) }) {
                _ = try connection.read(length)
            }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
    }

    /// The bytes that the server received.
    private func received(_ server: ScriptedServer) async throws -> String {
        try await server.finished().map(\.text).joined()
    }

    @Test(
        "-H 'Expect:' uploads a pipe without waiting for consent",
        arguments: [
            "echo hi | $netkit get -H 'Expect:' -T - ",
            "mkfifo pipe && { echo hi >pipe & } && $netkit get -H 'expect: ' -T pipe",
            "mkfifo pipe && { echo hi >pipe & } && $netkit get -H 'Expect:' -H 'Accept:' -T pipe",
        ])
    func uploadsAPipeAtOnce(_ line: String) async throws {
        let server = try Self.receiver()
        let folder = try TemporaryFolder()
        let run = try await Tool.run(shell: "cd \(folder.path) && \(line) http://127.0.0.1:\(server.port)/x")
        #expect(run.status == 0, "\(run.text)")
        let received = try await received(server)
        #expect(!received.contains("Expect"), "\(received)")
        #expect(received.hasSuffix("\r\n\r\n3\r\nhi\n\r\n0\r\n\r\n"), "\(received)")
    }

    @Test(
        "data from a pipe is uploaded with its length",
        arguments: [
            "echo hi | $netkit get -X PUT --data-binary @- ", "echo hi | $netkit get -XPUT --data-binary @/dev/stdin ",
        ])
    func uploadsAPipe(_ line: String) async throws {
        let server = try Self.receiver()
        let run = try await Tool.run(shell: "\(line) http://127.0.0.1:\(server.port)/")
        #expect(run.status == 0, "\(run.text)")
        let received = try await received(server)
        #expect(received.hasPrefix("PUT / HTTP/1.1\r\n") && received.contains("\r\nContent-Length: 3\r\n"))
        #expect(received.hasSuffix("\r\n\r\nhi\n"), "\(received)")
    }

    @Test func aFileWithoutALengthIsUploaded() async throws {
        let server = try Self.receiver()
        let run = try await Tool.run(["get", "--data-binary", "@/proc/self/comm", "http://127.0.0.1:\(server.port)/"])
        let received = try await received(server)
        #expect(run.status == 0 && received.contains("\r\nnetkit\n\r\n0\r\n\r\n"), "\(run.text) \(received)")
    }

    @Test func textsAreJoinedAndHaveAContentType() async throws {
        let server = try Self.receiver()
        let run = try await Tool.run(
            ["get", "-d", "a=b", "-dc=d", "-HX: y", "-d", "-dx", "--data", "-dump", "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 0, "\(run.text)")
        let received = try await received(server)
        #expect(received.hasPrefix("POST / ") && received.hasSuffix("\r\n\r\na=b&c=d&-dx&-dump"), "\(received)")
        #expect(received.contains("Content-Type: application/x-www-form-urlencoded\r\n"))
        #expect(received.contains("X: y\r\n"))
    }

    @Test(arguments: [
        ["-H", "Host: x"], ["-H", "content-length: 1"], ["-H", "Transfer-Encoding: chunked"], ["-G", "-d", "@-"],
        ["--resume", "-o", "-"], ["--retry", "-1"],
    ])
    func whatCannotBeHonouredIsRefused(_ options: [String]) async throws {
        let run = try await Tool.run(["get"] + options + ["http://127.0.0.1:9/"])
        #expect(run.status == 64, "\(run.text)")
    }

    // MARK: Files

    @Test(
        "a response without a body, or an error, leaves the file as it is",
        arguments: [
            ("HTTP/1.1 304 Not Modified\r\n\r\n", [], 0), ("HTTP/1.1 204 No Content\r\n\r\n", [], 0),
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", [], 22),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut", [], 18),
        ] as [(String, [String], Int32)])
    func keepsTheFile(_ response: String, _ options: [String], _ status: Int32) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send(response)
        }
        let folder = try TemporaryFolder()
        let file = try folder.write("old", to: "file")
        let run = try await Tool.run(["get", "-o", file] + options + ["http://127.0.0.1:\(server.port)/"])
        #expect(run.status == status && !run.output.contains("no\n"), "\(run.text)")
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "old")
        #expect(try folder.names == (status == 18 ? ["file", "file.part"] : ["file"]))
    }

    @Test func aHyphenIsStandardOutput() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")
        }
        let run = try await Tool.run(["get", "-o-", "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 0 && run.output == "yes", "\(run.text)")
    }

    @Test func aRefusalByTheProxyIsCalledThat() async throws {
        let proxy = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 407 Login\r\nContent-Length: 0\r\n\r\n")
        }
        let run = try await Tool.run(["get", "-xhttp://127.0.0.1:\(proxy.port)", "http://h.invalid/"])
        #expect(run.status == 97 && run.errors.contains("proxy"), "\(run.text)")
    }
}
