import Dispatch
import Foundation
import Glibc
import HostResolver
import RunLoopDelivery
import Testing

@testable import EventLoops
@testable import StreamKit
@testable import StreamProxies

@Suite("SK-121, SK-122: watched settings", .timeLimit(.minutes(5)))
struct ProxySettingsMonitorTests {
    /// A temporary directory, removed at the end.
    private final class Folder: Sendable {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("sk-\(UUID().uuidString)").path

        init() throws {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        var file: String { path + "/proxies" }

        /// Writes the file in place.
        func write(_ text: String, to name: String = "proxies") throws {
            let descriptor = Glibc.open(path + "/" + name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            try #require(descriptor >= 0)
            defer { Glibc.close(descriptor) }
            let bytes = Array(text.utf8)
            try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
        }

        /// Replaces the file with a new one.
        func replace(_ text: String) throws {
            try write(text, to: "new")
            try #require(rename(path + "/new", file) == 0)
        }
    }

    private func proxies(_ content: Result<ProxySettings?, StreamError>?) throws -> [String]? {
        try content?.get()?.http.map(\.description)
    }

    /// Otherwise all connections of the loop would wait for the disk.
    @Test("the file is read on a thread for files") func slowDisk() async throws {
        let folder = try Folder()
        try folder.write("http_proxy=a")
        let threads = BlockingThreads(limit: 1)
        let (isHeld, answer) = (OneShot<Bool>(), OneShot<Bool>())
        threads.run(
            BlockingThreads.Work {
                isHeld.provide(true)
                _ = try? answer.value()
            } refuse: { _ in
            })
        _ = try await isHeld.value()
        let monitor = try ProxySettingsMonitor(path: folder.file, threads: threads)
        var changes = monitor.changes().makeAsyncIterator()
        try folder.write("http_proxy=b")
        while threads.queueCount == 0, !Task.isCancelled { await Task.yield() }
        #expect(try monitor.settings()?.http.map(\.description) == ["http://a:80"])
        answer.provide(true)
        #expect(try proxies(await changes.next()) == ["http://b:80"])
    }

    @Test("each iterator of a sequence gets each change") func iterators() async throws {
        let folder = try Folder()
        let monitor = try ProxySettingsMonitor(path: folder.file)
        let changes = monitor.changes()
        var (first, second) = (changes.makeAsyncIterator(), changes.makeAsyncIterator())
        try folder.write("http_proxy=b")
        #expect(try proxies(await first.next()) == ["http://b:80"])
        #expect(try proxies(await second.next()) == ["http://b:80"])
    }

    // Parity: SK-121
    @Test("as a sequence: written, replaced, removed, made again; other files and equal content do not count")
    func sequence() async throws {
        let folder = try Folder()
        try folder.write("http_proxy=a")
        let monitor = try ProxySettingsMonitor(path: folder.file)
        #expect(try monitor.settings()?.http.map(\.description) == ["http://a:80"])
        var changes = monitor.changes().makeAsyncIterator()
        try folder.write("http_proxy=b")
        #expect(try proxies(await changes.next()) == ["http://b:80"])
        #expect(try monitor.settings()?.http.map(\.description) == ["http://b:80"])
        try folder.write("http_proxy=z", to: "another")
        try folder.write("# said otherwise\nHTTP_PROXY=b")
        try folder.replace("http_proxy=c")
        #expect(try proxies(await changes.next()) == ["http://c:80"])
        unlink(folder.file)
        let gone = try #require(await changes.next())
        #expect(try gone.get() == nil)
        try folder.write("http_proxy=d://")
        let broken = try #require(await changes.next())
        #expect(throws: StreamError(posix: EINVAL)) { try broken.get() }
        #expect(throws: StreamError(posix: EINVAL)) { try monitor.settings() }
        try folder.write("http_proxy=e")
        #expect(try proxies(await changes.next()) == ["http://e:80"])
        monitor.stop()
        #expect(await changes.next() == nil)
        var late = monitor.changes().makeAsyncIterator()
        #expect(await late.next() == nil)
    }

    @Test("a name that begins with a combining mark, which forms one character with the slash before it")
    func combiningName() async throws {
        let folder = try Folder()
        try folder.write("http_proxy=a", to: "\u{301}proxies")
        let monitor = try ProxySettingsMonitor(path: folder.path + "/\u{301}proxies")
        var changes = monitor.changes().makeAsyncIterator()
        try folder.write("http_proxy=b", to: "\u{301}proxies")
        #expect(try proxies(await changes.next()) == ["http://b:80"])
    }

    // Parity: SK-121
    @Test("on a queue: once per change, and never after cancelling")
    func queue() async throws {
        let folder = try Folder()
        let monitor = try ProxySettingsMonitor(path: folder.file)
        let (told, teller) = AsyncStream.makeStream(of: Int?.self)
        let target = DispatchQueue(label: "settings")
        let subscription = monitor.observe(on: .queue(target)) { monitor in
            teller.yield((try? monitor.settings())?.http.count)
        }
        var calls = told.makeAsyncIterator()
        try folder.write("http_proxy=a,b")
        #expect(await calls.next() == 2)
        // The file was made and then written: two events, one content, one call.
        try folder.write("http_proxy=a,b,c")
        #expect(await calls.next() == 3)
        target.sync { subscription.cancel() }
        var changes = monitor.changes().makeAsyncIterator()
        try folder.write("http_proxy=a")
        _ = await changes.next()
        target.sync {}
        teller.finish()
        #expect(await calls.next() == nil)
    }

    // Parity: SK-121
    @Test("on a run loop")
    func runLoop() async throws {
        let folder = try Folder()
        let count: Int? = try await onThread {
            let monitor = try ProxySettingsMonitor(path: folder.file)
            let seen = Locked<Int?>(nil)
            let subscription = monitor.observe(on: .currentRunLoop) { monitor in
                let count = (try? monitor.settings())?.http.count
                seen.withLock { $0 = count }
            }
            try folder.write("http_proxy=a,b")
            while seen.withLock({ $0 }) == nil {
                _ = RunLoop.current.run(mode: .default, before: .distantFuture)
            }
            subscription.cancel()
            return seen.withLock { $0 }
        }
        #expect(count == 2)
    }

    // Parity: SK-122
    @Test("cancelling the task ends the sequence")
    func ends() async throws {
        let folder = try Folder()
        let monitor = try ProxySettingsMonitor(path: folder.file)
        let changes = monitor.changes()
        let waiting = Task {
            var iterator = changes.makeAsyncIterator()
            return await iterator.next() == nil
        }
        waiting.cancel()
        #expect(await waiting.value)
    }

    @Test("the directory appears later")
    func noFolder() async throws {
        let folder = try Folder()
        let monitor = try ProxySettingsMonitor(path: folder.path + "/new/proxies")
        #expect(try monitor.settings() == nil)
        var changes = monitor.changes().makeAsyncIterator()
        try FileManager.default.createDirectory(atPath: folder.path + "/new", withIntermediateDirectories: false)
        try folder.write("http_proxy=a", to: "new/proxies")
        #expect(try proxies(await changes.next()) == ["http://a:80"])
        #expect(throws: StreamError(posix: EINVAL)) { try ProxySettingsMonitor(path: "/") }
    }
}
