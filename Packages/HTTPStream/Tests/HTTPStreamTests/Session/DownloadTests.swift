import FoundationEssentials
import Glibc
import HTTPMessage
import StreamKit
import Testing

@_spi(Packages) @testable import EventLoops
@testable import HTTPStream

@Suite(.timeLimit(.minutes(5))) struct DownloadTests {
    private static let date = "Date: Mon, 23 Nov 2026 08:00:00 GMT\r\nLast-Modified: Sun, 22 Nov 2026 08:00:00 GMT\r\n"
    private static let whole = "HTTP/1.1 200 OK\r\n\(date)Content-Length: 6\r\n\r\nabcdef"
    private static let rest =
        "HTTP/1.1 206 Partial\r\n\(date)Content-Range: bytes 3-5/6\r\nContent-Length: 3\r\n\r\ndef"

    /// A folder that is removed at the end of a test.
    private final class Folder {
        let path: String
        var file: String { path + "/file" }

        init() throws {
            path = "/tmp/netkit-download-\(getpid())-\(UInt32.random(in: 0 ... .max))"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func text(_ name: String) -> String? {
            FileManager.default.contents(atPath: "\(path)/\(name)").map { String(decoding: $0, as: UTF8.self) }
        }

        var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }
    }

    /// The requests that a server has received.
    private final class Requests: Sendable {
        private let texts = Locked<[String]>([])

        subscript(_ index: Int) -> String { texts.withLock { $0.indices.contains(index) ? $0[index] : "" } }

        var count: Int { texts.withLock { $0.count } }

        func add(_ text: String) -> Int {
            texts.withLock { texts in
                texts.append(text)
                return texts.count - 1
            }
        }
    }

    private func session(_ retries: RetryPolicy = .never) -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.proxies = .direct
        configuration.retries = retries
        return HTTPSession(configuration)
    }

    /// Serves one response per connection, and closes it afterwards, whether or not the response is complete.
    private func serve(_ responses: String..., body: (URL, Requests) async throws -> Void) async throws {
        let listener = try StreamListener(address: .ip(.v4(.loopback), port: 0))
        let requests = Requests()
        let running = Task {
            try await listener.run { client in
                let request = String(decoding: (try? await client.input.read(upTo: 8192)) ?? [], as: UTF8.self)
                let number = requests.add(request)
                if number < responses.count { try? await client.output.writeAll(Array(responses[number].utf8)) }
            }
        }
        try await body(#require(URL(string: "http://127.0.0.1:\(listener.port ?? 0)/film")), requests)
        listener.stop()
        try await running.value
    }

    @Test func writesTheFileAndReportsProgress() async throws {
        let folder = try Folder()
        try await serve(Self.whole) { url, requests in
            let reports = Locked<[HTTPProgress]>([])
            let response = try await session().download(url, to: folder.file) { progress in
                reports.withLock { $0.append(progress) }
            }
            #expect(response.status == .ok && response.body.isEmpty && response.isFileComplete && response.url == url)
            #expect(folder.names == ["file"] && folder.text("file") == "abcdef")
            #expect(reports.withLock { $0.last?.received } == 6 && reports.withLock { $0.last?.toReceive } == 6)
            #expect(!requests[0].contains("Accept-Encoding"))
        }
    }

    @Test func anotherResponseLeavesTheFile() async throws {
        let folder = try Folder()
        #expect(FileManager.default.createFile(atPath: folder.file, contents: Data("old".utf8)))
        try await serve("HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\ngone") { url, _ in
            let response = try await session().download(url, to: folder.file)
            #expect(response.status == .notFound && response.text == "gone" && !response.isFileComplete)
        }
        // A 416 without a kept file is no report of completeness.
        try await serve("HTTP/1.1 416 X\r\nContent-Range: bytes */6\r\nContent-Length: 0\r\n\r\n") { url, _ in
            let response = try await session().download(url, to: folder.file)
            #expect(response.status == .rangeNotSatisfiable && !response.isFileComplete)
        }
        #expect(folder.names == ["file"] && folder.text("file") == "old")
    }

    @Test func aLostConnectionIsResumed() async throws {
        let folder = try Folder()
        try await serve(String(Self.whole.dropLast(3)), Self.rest) { url, requests in
            let policy = RetryPolicy(maximumRetries: 1, firstDelay: .zero)
            let response = try await session(policy).download(url, to: folder.file)
            #expect(response.status == .partialContent && folder.text("file") == "abcdef" && response.isFileComplete)
            let second = requests[1]
            #expect(second.contains("Range: bytes=3-\r\n"))
            #expect(second.contains("If-Range: Sun, 22 Nov 2026 08:00:00 GMT\r\n"))
        }
    }

    /// The whole download makes as many retries as the policy permits, and none whose pause passes its time limit.
    @Test func retriesAreCountedOnce() async throws {
        let folder = try Folder()
        let part = String(Self.whole.dropLast(3))
        try await serve(part, "", "", "", "", "") { url, requests in
            let policy = RetryPolicy(maximumRetries: 2, firstDelay: .zero)
            await #expect(throws: StreamError.self) { try await session(policy).download(url, to: folder.file) }
            #expect(requests.count == 3)
        }
        try await serve(part) { url, requests in
            let policy = RetryPolicy(maximumRetries: 2, firstDelay: .seconds(3600), maximumDelay: .seconds(3600))
            await #expect(throws: StreamError.self) {
                try await session(policy).download(url, to: folder.file, within: .seconds(1800))
            }
            #expect(requests.count == 1)
        }
    }

    /// The framing of the rest contradicts its range: the file stays incomplete.
    @Test(
        "a rest of another length is refused",
        arguments: ["2\r\n\r\nde", "4\r\n\r\ndefg", "9223372036854775807\r\n\r\ndef"])
    func otherLength(_ end: String) async throws {
        let folder = try Folder()
        let rest = "HTTP/1.1 206 X\r\n\(Self.date)Content-Range: bytes 3-5/6\r\nContent-Length: \(end)"
        try await serve(String(Self.whole.dropLast(3)), rest) { url, _ in
            let policy = RetryPolicy(maximumRetries: 1, firstDelay: .zero)
            await #expect(throws: StreamError.self) { try await session(policy).download(url, to: folder.file) }
            #expect(folder.names == ["file.part"])
        }
    }

    @Test func anEarlierDownloadIsCompleted() async throws {
        let folder = try Folder()
        try await serve(String(Self.whole.dropLast(3)), Self.rest) { url, requests in
            await #expect(throws: StreamError.self) { try await session().download(url, to: folder.file) }
            #expect(folder.names == ["file.part"] && folder.text("file.part") == "abc")
            _ = try await session().download(url, to: folder.file, resuming: true)
            #expect(folder.names == ["file"] && folder.text("file") == "abcdef")
            #expect(requests[1].contains("If-Range: Sun, 22 Nov 2026 08:00:00 GMT\r\n"))
        }
    }

    @Test("a complete file is kept if the resource is unchanged", arguments: [("6", 416), ("7", 200), (nil, 200)])
    func complete(_ length: String?, _ status: Int) async throws {
        let folder = try Folder()
        let range = length.map { "Content-Range: bytes */\($0)\r\n" } ?? ""
        let none = "HTTP/1.1 416 X\r\n\(Self.date)\(range)Content-Length: 0\r\n\r\n"
        try await serve(Self.whole, none, Self.whole) { url, requests in
            _ = try await session().download(url, to: folder.file)
            let response = try await session().download(url, to: folder.file, resuming: true)
            #expect(response.status.code == status && response.body.isEmpty && response.isFileComplete)
            #expect(folder.names == ["file"] && folder.text("file") == "abcdef")
            #expect(requests[1].contains("Range: bytes=6-\r\n"))
            #expect(requests[1].contains("If-Range: Sun, 22 Nov 2026 08:00:00 GMT\r\n"))
            #expect(requests.count == (status == 416 ? 2 : 3) && !requests[2].contains("Range"))
        }
    }

    /// While the request for the rest is under way, something else deletes the partial file, cuts it off, or makes it longer.
    @Test(arguments: [nil, "", "ab", "abcd"])
    func aPartialFileThatHasChangedReplacesNothing(_ text: String?) async throws {
        let folder = try Folder()
        let part = folder.file + ".part"
        #expect(FileManager.default.createFile(atPath: folder.file, contents: Data("old".utf8)))
        #expect(FileManager.default.createFile(atPath: part, contents: Data("abc".utf8)))
        #expect(utimensat(AT_FDCWD, part, [timespec(), timespec(tv_sec: 1, tv_nsec: 0)], 0) == 0)
        var file = try await DownloadFile(folder.file, resuming: true)
        #expect(file.kept?.count == 3)
        unlink(part)
        if let text { #expect(FileManager.default.createFile(atPath: part, contents: Data(text.utf8))) }
        await #expect(throws: StreamError.self) { try await file.finish(3) }
        #expect(folder.text("file") == "old" && folder.text("file.part") == text)
        // Nothing is added to bytes that are missing. Surplus ones are cut off.
        var error: StreamError?
        do throws(StreamError) { try await file.begin(at: 3) } catch let failure { error = failure }
        #expect(error?.isPOSIX(text == nil ? ENOENT : ESTALE) == (text == "abcd" ? nil : true))
        #expect(folder.text("file.part") == (text == "abcd" ? "abc" : text))
    }

    /// A disk that does not answer ends a download, and one that waits for it can be cancelled.
    @Test func aDiskThatNeverAnswersEndsTheTransfer() async throws {
        let folder = try Folder()
        let threads = BlockingThreads(limit: 1)
        var file = try await DownloadFile(folder.file, resuming: false, threads: threads)
        try await file.begin(at: 0)
        let answer = OneShot<Bool>()
        let isHeld = OneShot<Bool>()
        threads.run(
            BlockingThreads.Work {
                isHeld.provide(true)
                _ = try? answer.value()
            } refuse: { _ in
            })
        #expect(try await isHeld.value())
        let waiting = Task { [file] in try await file.write([1], at: 0) }
        waiting.cancel()
        await #expect(throws: StreamError.cancelled) { try await waiting.value }
        var error: StreamError?
        do throws(StreamError) {
            _ = try await DownloadFile(folder.file, resuming: true, threads: threads, fileTimeout: .zero)
        } catch let failure {
            error = failure
        }
        #expect(error?.reason == .unansweredCall && error?.isPOSIX(ETIMEDOUT) == true)
        answer.provide(true)
        #expect(try await threads.value { true })
        // Work that was withdrawn has written nothing.
        #expect(folder.text("file.part")?.isEmpty == true)
    }

    /// The bytes that arrived before a cancellation are kept, with the date of the resource.
    @Test func aCancelledDownloadIsCompletedLater() async throws {
        let folder = try Folder()
        let listener = try StreamListener(address: .ip(.v4(.loopback), port: 0))
        let serving = Task {
            try await listener.run { client in
                _ = try? await client.input.read(upTo: 8192)
                try? await client.output.writeAll(Array(Self.whole.dropLast(3).utf8))
                _ = try? await client.input.read(upTo: 1)  // until the client has ended
            }
        }
        let url = try #require(URL(string: "http://127.0.0.1:\(listener.port ?? 0)/film"))
        let session = self.session()
        let threads = BlockingThreads(limit: 1)
        let file = try await DownloadFile(folder.file, resuming: false, threads: threads)
        let request = try HTTPRequest(method: .get, url: url)
        let (isReceiving, answer) = (OneShot<Bool>(), OneShot<Bool>())
        let loading = Task {
            try await session.download(request, into: file, LoadOptions(time: session.configuration.time)) { _ in
                Self.hold(threads, answer)
                isReceiving.provide(true)
            }
        }
        #expect(try await isReceiving.value())
        loading.cancel()
        // The last bytes wait for their disk.
        while threads.queueCount == 0, !Task.isCancelled { await Task.yield() }
        answer.provide(true)
        await #expect(throws: StreamError.cancelled) { try await loading.value }
        listener.stop()
        try await serving.value
        #expect(folder.text("file.part") == "abc")
        try await serve(Self.rest) { url, requests in
            _ = try await session.download(url, to: folder.file, resuming: true)
            #expect(folder.names == ["file"] && folder.text("file") == "abcdef")
            #expect(requests[0].contains("If-Range: Sun, 22 Nov 2026 08:00:00 GMT\r\n"))
        }
    }

    /// A download whose disk does not answer is not retried: a call may still be writing.
    @Test func aDownloadIsNotRetriedAfterItsDisk() async throws {
        let folder = try Folder()
        let isHung = Locked(false)
        let threads = BlockingThreads(limit: 1, maximumQueueLength: .max, idleTime: .zero) { body in
            isHung.withLock { $0 } ? ETIMEDOUT : BlockingThreads.spawn(body)
        }
        let part = String(Self.whole.dropLast(3))
        try await serve(part, String(Self.rest.dropLast(1)), Self.rest) { url, requests in
            await #expect(throws: StreamError.self) { try await self.session().download(url, to: folder.file) }
            let session = self.session(RetryPolicy(maximumRetries: 1, firstDelay: .zero))
            let file = try await DownloadFile(folder.file, resuming: true, threads: threads)
            let request = try HTTPRequest(method: .get, url: url)
            var error: StreamError?
            do throws(StreamError) {
                let options = LoadOptions(time: session.configuration.time)
                _ = try await session.download(request, into: file, options) { _ in
                    // From now on, there is no thread. The code is one after which a load is repeated.
                    isHung.withLock { $0 = true }
                    while threads.threadCount > 0 { sched_yield() }
                }
            } catch let failure {
                error = failure
            }
            #expect(error?.reason == .unansweredCall && error?.isPOSIX(ETIMEDOUT) == true && requests.count == 2)
            #expect(folder.names == ["file.part"] && folder.text("file.part") == "abc")
        }
    }

    /// Holds the only thread until the answer.
    private static func hold(_ threads: BlockingThreads, _ answer: OneShot<Bool>) {
        let isHeld = OneShot<Bool>()
        threads.run(
            BlockingThreads.Work {
                isHeld.provide(true)
                _ = try? answer.value()
            } refuse: { _ in
            })
        _ = try? isHeld.value()
    }

    @Test func aNewVersionReplacesACompleteFile() async throws {
        let folder = try Folder()
        try await serve(Self.whole, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew") { url, requests in
            _ = try await session().download(url, to: folder.file)
            let response = try await session().download(url, to: folder.file, resuming: true)
            #expect(response.status == .ok && folder.names == ["file"] && folder.text("file") == "new")
            #expect(requests[1].contains("Range: bytes=6-\r\n"))
        }
    }

    /// Something has cut the file off, and kept its date. Nothing is added to it: it would be incomplete in the meantime.
    @Test func aShortenedFileIsLoadedAgain() async throws {
        let folder = try Folder()
        try await serve(Self.whole, Self.rest, Self.whole) { url, requests in
            _ = try await session().download(url, to: folder.file)
            let date = try FileManager.default.attributesOfItem(atPath: folder.file)[.modificationDate]
            #expect(truncate(folder.file, 3) == 0)
            try FileManager.default.setAttributes([.modificationDate: try #require(date)], ofItemAtPath: folder.file)
            let response = try await session().download(url, to: folder.file, resuming: true)
            #expect(response.status == .ok && folder.text("file") == "abcdef")
            #expect(requests[1].contains("Range: bytes=3-\r\n") && !requests[2].contains("Range"))
        }
    }

    @Test func aFileOfAnotherOriginIsNotCompared() async throws {
        let folder = try Folder()
        #expect(FileManager.default.createFile(atPath: folder.file, contents: Data("xyz".utf8)))
        // A file that was written by something else has a date with a fraction.
        #expect(utimensat(AT_FDCWD, folder.file, [timespec(), timespec(tv_sec: 1, tv_nsec: 1)], 0) == 0)
        try await serve(Self.whole) { url, requests in
            _ = try await session().download(url, to: folder.file, resuming: true)
            #expect(folder.text("file") == "abcdef" && !requests[0].contains("Range"))
        }
    }

    @Test("a part that cannot be verified is loaded again", arguments: [false, true])
    func restart(_ resuming: Bool) async throws {
        let folder = try Folder()
        // The date of the last write is not that of a resource.
        #expect(FileManager.default.createFile(atPath: folder.file + ".part", contents: Data("xyz".utf8)))
        try await serve(Self.whole) { url, requests in
            _ = try await session().download(url, to: folder.file, resuming: resuming)
            #expect(folder.text("file") == "abcdef" && !requests[0].contains("Range"))
        }
    }

    /// A server may send less than the rest, or begin earlier; the parts are requested until the file has its length.
    @Test(
        "several parts",
        arguments: [
            [("3-3/6", "d"), ("4-5/6", "ef")], [("1-4/6", "bcde"), ("5-5/6", "f")], [("3-5/*", "def"), ("*/6", "")],
        ])
    func severalParts(_ parts: [(String, String)]) async throws {
        let folder = try Folder()
        let answers = parts.map { range, body in
            "HTTP/1.1 \(body.isEmpty ? 416 : 206) X\r\n\(Self.date)Content-Range: bytes \(range)\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        }
        try await serve(String(Self.whole.dropLast(3)), answers[0], answers[1]) { url, requests in
            await #expect(throws: StreamError.self) { try await session().download(url, to: folder.file) }
            let response = try await session().download(url, to: folder.file, resuming: true)
            #expect(response.isFileComplete && folder.names == ["file"] && folder.text("file") == "abcdef")
            #expect(requests.count == 3 && requests[2].contains("If-Range: Sun, 22 Nov 2026 08:00:00 GMT\r\n"))
        }
    }

    @Test func aShortPartWithoutMoreStaysPartial() async throws {
        let folder = try Folder()
        let part = "HTTP/1.1 206 X\r\n\(Self.date)Content-Range: bytes 3-3/6\r\nContent-Length: 1\r\n\r\nd"
        try await serve(String(Self.whole.dropLast(3)), part, "") { url, _ in
            await #expect(throws: StreamError.self) { try await session().download(url, to: folder.file) }
            await #expect(throws: StreamError.self) {
                try await session().download(url, to: folder.file, resuming: true)
            }
            #expect(folder.names == ["file.part"] && folder.text("file.part") == "abcd")
        }
    }

    @Test("the file keeps the mode of its own user's file, without set-id bits", arguments: [0o600, 0o640, 0o4755])
    func modes(_ mode: Int) async throws {
        let folder = try Folder()
        #expect(FileManager.default.createFile(atPath: folder.file, contents: Data("old".utf8)))
        #expect(chmod(folder.file, mode_t(mode)) == 0)
        try await serve(Self.whole) { url, _ in _ = try await session().download(url, to: folder.file) }
        var status = stat()
        #expect(stat(folder.file, &status) == 0 && Int(status.st_mode & 0o7777) == mode & 0o777)
    }

    @Test func aLinkInPlaceOfThePartIsRefused() async throws {
        let folder = try Folder()
        let target = folder.path + "/target"
        #expect(FileManager.default.createFile(atPath: target, contents: Data("keep".utf8)))
        try FileManager.default.createSymbolicLink(atPath: folder.file + ".part", withDestinationPath: target)
        try await serve(Self.whole) { url, _ in
            let error = await #expect(throws: StreamError.self) {
                try await session().download(url, to: folder.file)
            }
            #expect(error?.description.contains("file.part cannot be written: it is a symbolic link") == true)
        }
        #expect(folder.text("target") == "keep" && folder.names == ["file.part", "target"])
    }

    @Test func aLinkIsNoEarlierDownload() async throws {
        let folder = try Folder()
        #expect(FileManager.default.createFile(atPath: folder.path + "/target", contents: Data("abcdef".utf8)))
        try FileManager.default.createSymbolicLink(
            atPath: folder.file + ".part", withDestinationPath: folder.path + "/target")
        #expect(DownloadFile.earlier(folder.file, resuming: true).kept == nil)
    }

    @Test func aFolderThatDoesNotExistIsAnError() async throws {
        try await serve(Self.whole) { url, _ in
            let error = await #expect(throws: StreamError.self) {
                try await session().download(url, to: "/nowhere/at/all")
            }
            #expect(error?.isPOSIX(ENOENT) == true && error.map { "\($0)" }?.contains("/nowhere/at/all.part") == true)
        }
    }

    @Test("fields of a partial request are refused", arguments: [HTTPFieldName.range, .ifRange])
    func refused(_ name: HTTPFieldName) async throws {
        var request = try HTTPRequest(method: .get, url: #require(URL(string: "http://127.0.0.1/")))
        try request.fields.set("bytes=1-", for: name)
        let (session, refused) = (session(), request)
        let error = await #expect(throws: StreamError.self) {
            _ = try await session.download(refused, to: "/tmp/x")
        }
        #expect(error?.isPOSIX(EINVAL) == true)
    }

    // MARK: Decisions

    private func response(_ head: String) throws -> HTTPResponse {
        var parser = MessageParser(.response)
        try parser.append(Array("HTTP/1.1 \(head)\r\n\r\n".utf8))
        guard case .response(let response)? = try parser.next() else { throw StreamError.closed }
        return response
    }

    @Test(
        "validators",
        arguments: [
            ("ETag: \"a\"", "\"a\""), ("ETag: W/\"a\"", nil), ("", nil),
            ("Date: Mon, 23 Nov 2026 08:00:00 GMT\r\nLast-Modified: Mon, 23 Nov 2026 07:59:01 GMT", nil),
            (
                "Date: Mon, 23 Nov 2026 08:00:00 GMT\r\nLast-Modified: Mon, 23 Nov 2026 07:59:00 GMT",
                "Mon, 23 Nov 2026 07:59:00 GMT"
            ),
        ] as [(String, String?)])
    func validators(_ fields: String, _ expected: String?) throws {
        var download = DownloadState(nil)
        #expect(try download.begin(response("200 OK\r\nContent-Length: 9\r\n\(fields)")) == .write)
        #expect(download.validator == expected && !download.isResumable)
        download.offset = 4
        #expect(download.isResumable == (expected != nil))
    }

    @Test(
        "responses to a request for the rest",
        arguments: [
            ("206 X\r\nContent-Range: bytes 4-8/9\r\nETag: \"a\"", .write),
            ("206 X\r\nContent-Range: Bytes 4-8/9", .write), ("206 X\r\nContent-Range: 4-8/9", .write),
            ("206 X\r\nContent-Range: bytes 4-8/9\r\nETag: \"b\"", .again),
            ("206 X\r\nContent-Range: bytes 4-8/9\r\nETag: W/\"a\"", .again),
            ("206 X\r\nContent-Range: bytes 3-8/9\r\nETag: \"a\"", .write), ("206 X", .again),
            ("206 X\r\nContent-Range: bytes 0-3/9\r\nETag: \"a\"", .again),
            ("206 X\r\nContent-Range: bytes 5-8/9\r\nETag: \"a\"", .again),
            ("206 X\r\nContent-Range: bytes 4-7/9\r\nETag: \"a\"", .write),
            ("206 X\r\nContent-Range: bytes 4-8/*\r\nETag: \"a\"", .write),
            ("206 X\r\nContent-Range: bytes 4/9-8\r\nETag: \"a\"", .again),
            ("206 X\r\nContent-Range: lines 4-8/9", .again), ("206 X\r\nContent-Type: multipart/byteranges", .again),
            ("206 X\r\nContent-Range: bytes 4-8/-9223372036854775808", .again),
            ("206 X\r\nContent-Range: bytes 4-9223372036854775807/9223372036854775807", .again),
            ("416 X\r\nContent-Range: bytes */4", .complete), ("416 X\r\nContent-Range: bytes */3", .again),
            ("416 X\r\nContent-Range: bytes 0-3/4", .again),
            ("416 X", .again), ("404 X", .leaveFile), ("200 X", .write),
        ] as [(String, DownloadState.Action)])
    func parts(_ head: String, _ expected: DownloadState.Action) throws {
        var download = DownloadState(nil)
        _ = try download.begin(response("200 OK\r\nContent-Length: 9\r\nETag: \"a\""))
        download.offset = 4
        #expect(try download.begin(response(head)) == expected)
        if head.hasPrefix("200") { #expect(download.offset == 0) }
        if head.contains("3-8") { #expect(download.offset == 3) }
        if expected == .again {
            #expect(!download.isResumable)
            // The second request is for everything: a part would then be one that was not requested.
            #expect(throws: StreamError.wrongPart) {
                try download.begin(response("206 X\r\nContent-Range: bytes 4-8/9"))
            }
        }
    }

    @Test(
        "a part is the whole file only if its end is that of the resource",
        arguments: [
            ("4-8/9", 9, true), ("4-6/9", 7, false), ("4-8/*", 9, false), ("4-8/9", 8, nil), ("4-8/9", 10, nil),
        ] as [(String, Int64, Bool?)])
    func ends(_ range: String, _ offset: Int64, _ isComplete: Bool?) throws {
        var download = DownloadState(nil)
        _ = try download.begin(response("200 OK\r\nContent-Length: 9\r\nETag: \"a\""))
        download.offset = 4
        _ = try download.begin(response("206 X\r\nContent-Range: bytes \(range)"))
        download.offset = offset
        #expect((try? download.end()) == isComplete)
        guard isComplete == false else { return }
        let next = try download.request(for: HTTPRequest(method: .get, target: "/"))
        #expect(next.fields[.ifRange] == "\"a\"" && next.fields[.range] == "bytes=\(offset)-")
    }
}
