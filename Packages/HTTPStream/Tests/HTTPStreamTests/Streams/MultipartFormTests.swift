import EventLoops
import FoundationEssentials
import Glibc
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

@Suite(.timeLimit(.minutes(5))) struct MultipartFormTests {
    private func read(_ form: MultipartForm, by size: Int = 7) async throws -> String {
        let stream = ReadStream(transport: BodyPartsTransport(form.encodedParts, loop: .shared))
        try stream.open()
        defer { stream.close() }
        var bytes: [UInt8] = []
        while case let piece = try await stream.read(upTo: size), !piece.isEmpty { bytes += piece }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("encodes fields and files", arguments: [1, 7, 4096]) func encoding(_ size: Int) async throws {
        var form = MultipartForm()
        try form.append("a", "1")
        try form.append("é\"\r\n", bytes: [0x78], fileName: "x\"y.txt", contentType: "text/plain")
        try form.append("s", length: 3, fileName: "s") { ReadStream(bytes: Array("abcdef".utf8)) }
        try form.append("empty", length: 0, fileName: "e") { ReadStream(bytes: []) }
        let text = try await read(form, by: size)
        let b = form.boundary
        #expect(
            text == """
                --\(b)\r
                Content-Disposition: form-data; name="a"\r
                \r
                1\r
                --\(b)\r
                Content-Disposition: form-data; name="é%22%0D%0A"; filename="x%22y.txt"\r
                Content-Type: text/plain\r
                \r
                x\r
                --\(b)\r
                Content-Disposition: form-data; name="s"; filename="s"\r
                Content-Type: application/octet-stream\r
                \r
                abc\r
                --\(b)\r
                Content-Disposition: form-data; name="empty"; filename="e"\r
                Content-Type: application/octet-stream\r
                \r
                \r
                --\(b)--\r

                """)
        #expect(form.length == Int64(text.utf8.count) && form.contentType == "multipart/form-data; boundary=\(b)")
        #expect(MultipartForm().boundary != b)
    }

    @Test func filesAreReadWhileTheFormIsSent() async throws {
        let path = "/tmp/netkit-form-\(getpid())-\(UInt32.random(in: 0 ... .max)).txt"
        defer { unlink(path) }
        #expect(FileManager.default.createFile(atPath: path, contents: Data("old".utf8)))
        var form = MultipartForm()
        try await form.append("f", file: path)
        #expect(FileManager.default.createFile(atPath: path, contents: Data("longer".utf8)))
        #expect(try await read(form).contains("\r\n\r\nlon\r\n--"))
        #expect(FileManager.default.createFile(atPath: path, contents: Data("x".utf8)))
        let short = form
        await #expect(throws: StreamError.self) { _ = try await read(short) }
    }

    @Test(
        "a file has the type of its ending",
        arguments: [
            ("form.txt", nil, nil, "text/plain"), ("form.JPG", nil, nil, "image/jpeg"),
            ("form.txt", "page.html", nil, "text/html"), ("form.txt", "a.b", nil, "text/plain"),
            ("form", nil, nil, "application/octet-stream"),
            ("form.txt", nil, "a/b", "a/b"),
        ])
    func typesOfFiles(_ file: String, _ fileName: String?, _ type: String?, _ expected: String) throws {
        let folder = "/tmp/netkit-form-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(FileManager.default.createFile(atPath: "\(folder)/\(file)", contents: nil))
        var form = MultipartForm()
        try form.append("f", file: "\(folder)/\(file)", fileName: fileName, contentType: type)
        guard case .bytes(let head)? = form.encodedParts.first else { return #expect(Bool(false)) }
        #expect(String(decoding: head, as: UTF8.self).contains("\r\nContent-Type: \(expected)\r\n"))
    }

    /// The server learns the file's name and no folder, also if a combining mark follows the slash.
    @Test func theFileNameHasNoFolder() throws {
        let folder = "/tmp/netkit-form-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(FileManager.default.createFile(atPath: "\(folder)/\u{301}a", contents: nil))
        var form = MultipartForm()
        try form.append("f", file: "\(folder)/\u{301}a")
        let head = form.encodedParts.reduce(into: [UInt8]()) { head, part in
            if case .bytes(let bytes) = part { head += bytes }
        }
        #expect(head.split(separator: UInt8(ascii: "\"")).contains(Array("\u{301}a".utf8)[...]))
    }

    @Test func invalidFieldsAreRefused() throws {
        var form = MultipartForm()
        let empty = form.length
        #expect(throws: StreamError(posix: ENOENT)) { try form.append("f", file: "/nowhere") }
        #expect(throws: StreamError(posix: EINVAL)) { try form.append("f", file: "/dev/null") }
        #expect(throws: StreamError(posix: EINVAL)) { try form.append("f", bytes: [], contentType: "a\r\nb: c") }
        #expect(throws: StreamError(posix: EINVAL)) {
            try form.append("f", length: -1, fileName: "x") { ReadStream(bytes: []) }
        }
        #expect(form.length == empty)
    }

    @Test func aRequestGetsTheTypeOfTheForm() async throws {
        let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        let server = try TurnServer([ok, ok], readsBodies: true)
        var form = MultipartForm()
        try form.append("a", "1")
        var request = try HTTPRequest(method: .post, url: #require(URL(string: "http://127.0.0.1:\(server.port)/")))
        for own in [nil, "text/x"] {
            if let own { try request.fields.set(own, for: .contentType) }
            let stream = ReadStream(request: request, body: .multipart(form))
            try stream.open()
            #expect(try await stream.response().status == .ok)
            stream.close()
        }
        let first = try #require(server.requests.first)
        #expect(first.contains("Content-Type: multipart/form-data; boundary=\(form.boundary)\r\n"))
        #expect(first.contains("Content-Length: \(form.length)\r\n"))
        #expect(server.requests.contains { $0.contains("Content-Type: text/x\r\n") && !$0.contains("multipart") })
    }
}
