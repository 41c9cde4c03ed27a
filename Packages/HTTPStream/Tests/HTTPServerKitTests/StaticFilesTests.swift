import Dispatch
@_spi(Packages) import EventLoops
import FoundationEssentials
import Glibc
import HTTPStreamTesting
import StreamKit
import Testing

@testable import HTTPServerKit

/// A folder, served.
@Suite(.timeLimit(.minutes(5))) final class StaticFilesTests: Sendable {
    private let folder: String

    init() throws {
        folder = TemporaryFolder.make()
        try write("index.html", "<p>home</p>")
        try write("digits.txt", "0123456789")
        try write("long.txt", String(repeating: "0123456789", count: 1000))
        try write("empty.txt", "")
        try write(".env", "secret")
        mkdir(folder + "/sub", 0o755)
        mkdir(folder + "/bare", 0o755)
        mkdir(folder + "/.well-known", 0o755)
        mkdir(folder + "/.git", 0o755)
        try write("sub/index.html", "<p>sub</p>")
        try write("sub/a b.txt", "spaced")
        try write(".git/config", "secret")
        try write(".well-known/x", "known")
        symlink("digits.txt", folder + "/link.txt")
        symlink("/etc", folder + "/etc")
        symlink("..", folder + "/sub/up")
        mkfifo(folder + "/fifo", 0o644)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
    }

    private func load(
        _ path: String, _ method: HTTPMethod = .get, _ fields: [String: String] = [:], compressed: Bool = false,
        minimumLength: Int64 = 1024, fileTimeout: Duration = .seconds(3600),
        threads: BlockingThreads? = nil
    ) async throws -> HTTPResponse {
        var router = Router()
        if compressed {
            var compression = ResponseCompression()
            compression.minimumLength = minimumLength
            router.compression = compression
        }
        var files = try StaticFiles(folder, threads: threads)
        files.fileTimeout = fileTimeout
        router.files("/*path", files)
        let server = try HTTPServer(port: 0, isLocal: true, configuration: .patient)
        let running = Task { [router] in try await server.run(router) }
        defer { running.cancel() }
        let target = try #require(RequestTarget(path))
        var request = try HTTPRequest(method: method, target: target)
        try request.fields.set("localhost", for: .host)
        try request.fields.set("close", for: .connection)
        for (name, value) in fields { try request.fields.set(value, for: name) }
        let pair = StreamPair(host: "localhost", port: try #require(server.port))
        defer { pair.close() }
        try pair.open()
        try await pair.output.writeAll(request.serialized())
        var parser = MessageParser(.response)
        parser.expectResponse(to: method)
        try parser.append(try await pair.input.readAll(limit: 1 << 20))
        server.stop(within: .zero)
        try await running.value
        var response: HTTPResponse?
        var body: [UInt8] = []
        while let event = try parser.next() {
            switch event {
            case .response(let head): response = head
            case .body(let bytes): body += bytes
            case .end:
                response?.body = body
                return try #require(response)
            default: break
            }
        }
        throw StreamError.closed
    }

    @Test(
        arguments: [
            ("/digits.txt", 200, "0123456789"), ("/", 200, "<p>home</p>"), ("/sub/", 200, "<p>sub</p>"),
            ("/sub/a%20b.txt", 200, "spaced"), ("/.well-known/x", 200, "known"), ("/empty.txt", 200, ""),
            ("/digits.txt?v=2", 200, "0123456789"),
            ("/digits.txt?utm=50%off&q=%E9", 200, "0123456789"), ("/link.txt", 404, nil), ("/etc/passwd", 404, nil),
            ("/sub/up/digits.txt", 404, nil), ("/.env", 404, nil), ("/.git/config", 404, nil), ("/%2eenv", 404, nil),
            ("/bare/", 404, nil), ("/fifo", 404, nil), ("/none", 404, nil), ("/digits.txt/", 404, nil),
            ("/digits.txt/x", 404, nil), ("//etc/passwd", 404, nil), ("/sub//a%20b.txt", 404, nil),
            ("/../digits.txt", 400, nil), ("/%2e%2e/digits.txt", 400, nil), ("/..%2fdigits.txt", 400, nil),
            ("/sub/..%2F..%2Fetc%2Fpasswd", 400, nil), ("/digits.txt%00.html", 400, nil), ("/a\\..\\b", 404, nil),
        ] as [(String, HTTPStatus, String?)])
    func paths(_ sample: (path: String, status: HTTPStatus, text: String?)) async throws {
        let response = try await load(sample.path)
        #expect(response.status == sample.status)
        if let text = sample.text { #expect(response.text ?? "" == text) }
        #expect(response.text?.contains("secret") != true)
    }

    /// U+0D4E and U+0301 form one character with a `/` after or before them, which still separates folders.
    @Test(arguments: [
        ("/a%E0%B5%8E%2F.secret", HTTPStatus.badRequest), ("/a%E0%B5%8E/.secret", .notFound),
        ("/etc/%CC%81", .notFound),
        ("/etc%2F%CC%81", .badRequest),
    ])
    func charactersAcrossASeparator(_ path: String, _ status: HTTPStatus) async throws {
        let folder = folder + "/a\u{d4e}"
        mkdir(folder, 0o755)
        try Data("secret".utf8).write(to: URL(filePath: folder + "/.secret"))
        // The folder behind the link has a file.
        let outside = TemporaryFolder.make()
        defer { try? FileManager.default.removeItem(atPath: outside) }
        try Data("secret".utf8).write(to: URL(filePath: outside + "/\u{301}"))
        unlink(self.folder + "/etc")
        symlink(outside, self.folder + "/etc")
        #expect(try await load(path).status == status)
    }

    /// Threads for a disk that does not answer until it is released.
    private final class HungDisk: Sendable {
        let threads = BlockingThreads(limit: 1)
        private let answer = DispatchSemaphore(value: 0)

        init() {
            threads.run(
                BlockingThreads.Work { [answer] in
                    answer.wait()
                } refuse: { _ in
                })
        }

        func release() { answer.signal() }
    }

    /// A disk that does not answer: its clients wait, and the others are served.
    @Test func aSlowDiskDelaysNoOtherClient() async throws {
        let disk = HungDisk()
        let file = Task { try await load("/digits.txt", threads: disk.threads) }
        // The server that is asked for the file has a thread of its loop, which this one uses, too.
        let other = try await load("/..")
        #expect(other.status == .badRequest)
        // So does a server with the files of another disk.
        #expect(try await load("/digits.txt").text == "0123456789")
        disk.release()
        #expect(try await file.value.text == "0123456789")
    }

    @Test func theLastDescriptorsAreNotUsedForFiles() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder.make()
            try Data("text".utf8).write(to: URL(filePath: folder + "/text.txt"))
            let root = FileDescriptor(open(folder, O_RDONLY | O_DIRECTORY))
            // Open until the end: the descriptor of a closed one would be free for another file, at some moment, since a thread closes it.
            let first = try OpenedFile.open(["text.txt"], below: root)
            guard case .file = first else { throw CancellationError() }
            var last = root.number
            while last < 90 { last = dup(root.number) }
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = 120  // of which 30 are in reserve
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            #expect(throws: StreamError(posix: EMFILE)) {
                try OpenedFile.open(["text.txt"], below: root)
            }
            withExtendedLifetime(first) {}
            try FileManager.default.removeItem(atPath: folder)
        }
    }

    @Test func aDiskThatNeverAnswersEndsTheRequest() async throws {
        let disk = HungDisk()
        let response = try await load("/digits.txt", fileTimeout: .zero, threads: disk.threads)
        #expect(response.status == .serviceUnavailable)
        disk.release()
    }

    /// What is in memory needs no thread: the file was just written.
    @Test func aCachedPieceIsReadWithoutAThread() throws {
        let root = FileDescriptor(open(folder, O_RDONLY | O_DIRECTORY))
        guard case .file(let file) = try OpenedFile.open(["digits.txt"], below: root) else {
            throw CancellationError()
        }
        let descriptor = open(folder + "/digits.txt", O_RDONLY)
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4)
        let known = bytes.withUnsafeMutableBytes { SystemCall.readCached(descriptor, into: $0, at: 2) }
        let pieces = try FilePieces(file, 2..<6, level: nil)
        if known == 4 {
            #expect(pieces.cached() == Array("2345".utf8))
            #expect(try pieces.next() == nil)
        } else {
            // The file system cannot tell what is in memory.
            #expect([EOPNOTSUPP, ENOSYS, EINVAL].contains(CInt(-known)), "\(known)")
            #expect(pieces.cached() == nil)
            #expect(try pieces.next() == Array("2345".utf8))
        }
        // A compressed file is read on a thread, since it takes time.
        #expect(try FilePieces(file, 0..<10, level: 1).cached() == nil)
    }

    @Test func fields() async throws {
        let response = try await load("/digits.txt")
        #expect(response.fields[.contentType] == "text/plain; charset=utf-8")
        #expect(response.fields[.contentLength] == "10" && response.fields[.acceptRanges] == "bytes")
        let tag = try #require(response.fields[.entityTag])
        let date = try #require(response.fields[.lastModified])
        let unchanged = try await load("/digits.txt", .get, ["If-None-Match": tag])
        #expect(
            unchanged.status == .notModified && unchanged.fields[.entityTag] == tag && unchanged.body.isEmpty)
        #expect(try await load("/digits.txt", .get, ["If-Modified-Since": date]).status == .notModified)
        #expect(try await load("/digits.txt", .get, ["If-Match": "\"other\""]).status == .preconditionFailed)
        #expect(try await load("/digits.txt", .get, ["If-Range": tag, "Range": "bytes=1-2"]).text == "12")
        #expect(
            try await load("/digits.txt", .get, ["If-Range": "\"other\"", "Range": "bytes=1-2"]).text == "0123456789")
        let head = try await load("/digits.txt", .head, ["Range": "bytes=1-2"])
        #expect(head.status == .ok && head.fields[.contentLength] == "10")
        #expect(try await load("/digits.txt", .post).status == .methodNotAllowed)
        try write("digits.txt", "9876543210")
        #expect(try await load("/digits.txt", .get, ["If-None-Match": tag]).text == "9876543210")
    }

    @Test func ranges() async throws {
        let one = try await load("/digits.txt", .get, ["Range": "bytes=-3"])
        #expect(one.status == .partialContent && one.text == "789" && one.fields[.contentRange] == "bytes 7-9/10")
        let none = try await load("/digits.txt", .get, ["Range": "bytes=10-"])
        #expect(none.status == .rangeNotSatisfiable && none.fields[.contentRange] == "bytes */10")
        // Two parts of a short file are longer than the file.
        #expect(try await load("/digits.txt", .get, ["Range": "bytes=0-0,9-9"]).status == .ok)
        let two = try await load("/long.txt", .get, ["Range": "bytes=0-1,9998-"])
        #expect(two.status == .partialContent && two.fields[.contentLength] == "\(two.body.count)")
        #expect(two.fields[.contentType]?.hasPrefix("multipart/byteranges; boundary=") == true)
        #expect(two.text?.contains("Content-Range: bytes 9998-9999/10000\r\n\r\n89\r\n--") == true)
    }

    @Test func redirects() async throws {
        let response = try await load("/sub?x=1")
        #expect(response.status == .permanentRedirect && response.fields[.location] == "/sub/?x=1")
    }

    /// A compressed file has a weak tag, which still makes a 304; a range is not compressed.
    @Test func compression() async throws {
        let plain = try await load("/long.txt")
        let tag = try #require(plain.fields[.entityTag])
        let coded = try await load("/long.txt", .get, ["Accept-Encoding": "gzip"], compressed: true)
        #expect(coded.fields[.contentEncoding] == "gzip" && coded.fields[.entityTag] == "W/\(tag)")
        #expect(coded.fields[.vary] == "Accept-Encoding" && coded.fields[.contentLength] == nil)
        #expect(coded.body.count < 1000)
        let range = try await load(
            "/long.txt", .get, ["Accept-Encoding": "gzip", "Range": "bytes=0-1"], compressed: true)
        #expect(range.text == "01" && range.fields[.contentEncoding] == nil && range.fields[.vary] == "Accept-Encoding")
        // No bytes at all are not valid gzip.
        let empty = try await load(
            "/empty.txt", .get, ["Accept-Encoding": "gzip"], compressed: true, minimumLength: 0)
        #expect(empty.fields[.contentEncoding] == nil && empty.fields[.contentLength] == "0")
        let unchanged = try await load(
            "/long.txt", .get, ["Accept-Encoding": "gzip", "If-None-Match": "W/\(tag)"], compressed: true)
        #expect(unchanged.status == .notModified && unchanged.fields[.vary] == "Accept-Encoding")
        #expect(unchanged.fields[.entityTag] == "W/\(tag)" && unchanged.fields[.contentEncoding] == nil)
    }
}

private enum TemporaryFolder {
    /// Makes an empty folder.
    static func make() -> String {
        var template = Array("/tmp/static-files-XXXXXX".utf8CString)
        return template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
    }
}
