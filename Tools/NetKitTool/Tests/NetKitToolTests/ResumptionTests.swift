import Foundation
import NetKit
import Peers
import Testing

@testable import netkit

/// What the responses to `--resume` mean.
@Suite struct ResumptionTests {
    private func resumption(_ status: Int, _ range: String?, hasEnd: Bool = true) throws -> Resumption {
        var response = try HTTPResponse(status: #require(HTTPStatus(status)))
        if let range { try response.fields.set(range, for: .contentRange) }
        return Resumption(response, at: 400, hasEnd: hasEnd)
    }

    @Test func parts() throws {
        #expect(try resumption(206, "bytes 400-999/1000") == .part(400..<1000, length: 1000))
        #expect(try resumption(206, "Bytes 400-499/1000") == .part(400..<500, length: 1000))
        #expect(try resumption(206, "400-999/*") == .part(400..<1000, length: nil))
        #expect(try resumption(206, "bytes 100-999/1000") == .part(100..<1000, length: 1000))
        for range in [
            nil, "bytes 401-999/1000", "bytes 0-399/1000", "bytes */1000", "lines 400-999/1000", "bytes 400-1000/1000",
            "bytes: 400-999",
        ] {
            #expect(try resumption(206, range) == .restart)
        }
    }

    @Test func otherResponses() throws {
        #expect(try resumption(416, "bytes */400") == .complete)
        #expect(try resumption(416, "bytes */300") == .restart && resumption(416, nil) == .restart)
        #expect(try resumption(416, "bytes 0-399/400") == .restart, "a range is no proof that nothing is left")
        #expect(try resumption(200, nil) == .whole)
        guard case .refusal = try resumption(200, nil, hasEnd: false) else { return #expect(Bool(false)) }
    }

    /// A server that answers a request for a range with `part`, and any other one with the whole file.
    private func server(_ part: String) throws -> ScriptedServer {
        try ScriptedServer { connection throws(PeerError) in
            while let head = try? connection.readHead() {
                let isPart = head.contains("Range: bytes=3-")
                try connection.send(isPart ? part : "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabcdef")
            }
        }
    }

    @Test(
        "a partial file is continued or begun anew",
        arguments: [
            ("206 Partial Content\r\nContent-Range: Bytes 3-5/6\r\nContent-Length: 3\r\n\r\ndef", "abcdef"),
            ("206 Partial Content\r\nContent-Range: bytes 1-5/6\r\nContent-Length: 5\r\n\r\nbcdef", "abcdef"),
            ("206 Partial Content\r\nContent-Length: 3\r\n\r\nxxx", "abcdef"),
            ("206 Partial Content\r\nContent-Range: bytes 4-5/6\r\nContent-Length: 2\r\n\r\nxx", "abcdef"),
            ("206 Partial Content\r\nContent-Range: bytes 0-2/6\r\nContent-Length: 3\r\n\r\nXYZ", "abcdef"),
            ("416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n", "abcdef"),
            ("416 Range Not Satisfiable\r\nContent-Range: bytes */2\r\nContent-Length: 0\r\n\r\n", "abcdef"),
            ("416 Range Not Satisfiable\r\nContent-Range: bytes */3\r\nContent-Length: 0\r\n\r\n", "abc"),
        ])
    func files(_ part: String, _ contents: String) async throws {
        let server = try server("HTTP/1.1 " + part)
        defer { server.stop() }
        let folder = try TemporaryFolder()
        try folder.write("abc", to: "file.part")
        let run = try await Tool.run(["get", "--resume", "-o", folder.file("file"), "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 0, "\(run.text)")
        #expect(try folder.names == ["file"])
        #expect(try String(contentsOfFile: folder.file("file"), encoding: .utf8) == contents)
    }

    /// RFC 9110 §15.3.7: a server may send less than was requested.
    @Test func aPartOfTheRestIsNotTheWhole() async throws {
        let server = try server("HTTP/1.1 206 OK\r\nContent-Range: bytes 3-4/6\r\nContent-Length: 2\r\n\r\nde")
        defer { server.stop() }
        let folder = try TemporaryFolder()
        let partial = try folder.write("abc", to: "file.part")
        let run = try await Tool.run(["get", "--resume", "-o", folder.file("file"), "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 18 && run.errors.contains("5 of 6 bytes are here"), "\(run.text)")
        #expect(try String(contentsOfFile: partial, encoding: .utf8) == "abcde")
    }

    /// The length of a body contradicts its Content-Range.
    @Test(
        "a part is as long as its range",
        arguments: [
            // The whole as a part: nothing of it is kept.
            ("bytes 3-5/6", "Content-Length: 6\r\n\r\nabcdef", "abc"),
            ("bytes 3-5/*", "Content-Length: 6\r\n\r\nabcdef", "abc"),
            ("bytes 3-5/6", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n", "abc"),
            ("bytes 3-5/6", "\r\nabcdef", "abc"),
            // Less: --resume continues it.
            ("bytes 3-5/6", "\r\nd", "abcd"), ("bytes 3-5/*", "\r\nd", "abcd"),
            ("bytes 3-5/*", "Content-Length: 1\r\n\r\nd", "abcd"),
        ])
    func contradictedRanges(_ range: String, _ rest: String, _ kept: String) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 206 OK\r\nConnection: close\r\nContent-Range: \(range)\r\n\(rest)")
        }
        defer { server.stop() }
        let folder = try TemporaryFolder()
        let partial = try folder.write("abc", to: "file.part")
        let run = try await Tool.run(["get", "--resume", "-o", folder.file("file"), "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 18, "\(run.text)")
        #expect(try folder.names == ["file.part"])
        #expect(try String(contentsOfFile: partial, encoding: .utf8) == kept)
    }

    /// The same for a range that the caller has asked for.
    @Test(arguments: [("abc", 0), ("ab", 18), ("abcdef", 18)] as [(String, Int32)], [false, true])
    func rangesOfTheCaller(_ answer: (body: String, status: Int32), _ isFile: Bool) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 206 OK\r\nContent-Range: bytes 0-2/6\r\n\r\n\(answer.body)")
        }
        defer { server.stop() }
        let folder = try TemporaryFolder()
        let output = isFile ? ["-o", folder.file("file")] : []
        let run = try await Tool.run(["get", "--range", "0-2"] + output + ["http://127.0.0.1:\(server.port)/"])
        #expect(run.status == answer.status, "\(run.text)")
        #expect(try folder.names == (isFile ? [answer.status == 0 ? "file" : "file.part"] : []))
    }

    /// A 206 that was not requested is no whole file, unless it is by its own account.
    @Test(
        "a part in answer to a request for the whole",
        arguments: [
            ("bytes 0-2/6", "abc", 18), ("bytes 3-5/6", "def", 18), ("bytes 0-2/*", "abc", 18), ("", "abc", 18),
            ("bytes 0-5/6", "abcdef", 0),
        ] as [(String, String, Int32)], [false, true])
    func unrequestedParts(_ answer: (range: String, body: String, status: Int32), _ isFile: Bool) async throws {
        let (range, body, status) = answer
        let field = range.isEmpty ? "" : "Content-Range: \(range)\r\n"
        let server = try ScriptedServer { connection throws(PeerError) in
            while (try? connection.readHead()) != nil {
                try connection.send("HTTP/1.1 206 OK\r\n\(field)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            }
        }
        defer { server.stop() }
        let folder = try TemporaryFolder()
        let output = isFile ? ["-o", folder.file("file")] : []
        let url = "http://127.0.0.1:\(server.port)/"
        let run = try await Tool.run(["get"] + output + [url])
        #expect(run.status == status, "\(run.text)")
        // The beginning of the file is kept for --resume, any other part is not.
        let name = status == 0 ? "file" : range.hasPrefix("bytes 0-") ? "file.part" : nil
        #expect(try folder.names == (isFile ? [name].compactMap(\.self) : []))
        // A caller that asks for a range gets it.
        #expect(try await Tool.run(["get", "-H", "Range: bytes=0-9", url]).status == 0)
    }
}
