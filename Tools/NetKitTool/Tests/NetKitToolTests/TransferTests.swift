import Foundation
import Peers
import Testing

/// Transfers with servers that misbehave.
@Suite struct TransferTests {
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
