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
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("netkit-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = folder + "/file"
        try Data("content".utf8).write(to: URL(fileURLWithPath: file))
        var arguments = verb.split(separator: " ").map(String.init)
        if verb == "get -r -o" { arguments.append(folder + "/tree") }
        if verb == "put" { arguments.append(file) }
        arguments += ["--timeout", "1", "--json", "ftp://ann:pw@127.0.0.1:\(control.port)/x"]
        let run = try await Tool.run(arguments)
        #expect(run.status == 28 && run.text.contains("Timed out after 1.0 seconds."), "\(run.text)")
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

    /// The length of the rest and the size of the partial file exceed the largest integer.
    @Test func resumesBeforeARestOfTheLargestLength() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send(
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 3-9/*\r\n"
                    + "Content-Length: 9223372036854775807\r\n\r\ndef")
        }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("netkit-\(UUID())")
        try Data("abc".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let run = try await Tool.run(["get", "--resume", "-o", file.path, "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 18, "\(run.text)")
        #expect(try String(contentsOf: file, encoding: .utf8) == "abcdef")
    }
}
