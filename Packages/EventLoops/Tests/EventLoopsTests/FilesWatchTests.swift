import Foundation
import Glibc
import Testing

@_spi(Packages) @testable import EventLoops

/// A watch of files in a folder of the test's, and its reports.
private final class WatchedFolder: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "files-watch-\(UUID())").path
    private let reports = Mailbox<Void>(limit: .max)

    init(folders: [String] = []) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        for folder in folders { try make(folder) }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func at(_ name: String) -> String { path + "/" + name }

    func watch(
        _ names: [String], onlyWhenWritten: Bool = false, kernel: FilesWatch.Kernel = FilesWatch.Kernel(),
        pollInterval: Duration = FilesWatch.pollInterval,
        threads: @escaping @Sendable (String) -> BlockingThreads = { .files(at: $0) }
    ) -> FilesWatch {
        FilesWatch(
            names.map(at), onlyWhenWritten: onlyWhenWritten, kernel: kernel, pollInterval: pollInterval,
            threads: threads
        ) { [reports] in reports.put(()) }
    }

    /// Waits for the next report.
    func report() async throws { _ = try #require(await reports.next() as Void?) }

    /// The reports that have arrived and were not waited for.
    var reportCount: Int { reports.count }

    /// Makes a folder, which is one event of the kernel, as a file is not.
    func make(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: at(name), withIntermediateDirectories: false)
    }

    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: at(name)) }

    /// Puts a new file at a name. That is one event.
    func replace(_ name: String) throws {
        try Data("text".utf8).write(to: URL(filePath: at("draft")))
        try #require(rename(at("draft"), at(name)) == 0)
    }

    /// Puts a new link at a name. That is one event.
    func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: at("draft"), withDestinationPath: target)
        try #require(rename(at("draft"), at(name)) == 0)
    }
}

/// A thread that waits until it is released.
private final class HeldThread: Sendable {
    private let answer = OneShot<Void>()

    /// Occupies a thread.
    init(of threads: BlockingThreads) async throws {
        let isHeld = OneShot<Void>()
        threads.run(
            BlockingThreads.Work { [answer] in
                isHeld.provide(())
                _ = try? answer.value()
            } refuse: { _ in
            })
        try await isHeld.value()
    }

    func release() { answer.provide(()) }
}

@Suite(.timeLimit(.minutes(5)))
struct FilesWatchTests {
    /// A file is replaced where a link leads to, and another one is created in folders that did not exist.
    @Test func filesBehindLinksAndInNewFolders() async throws {
        let folder = try WatchedFolder(folders: ["real"])
        try folder.replace("real/file")
        try folder.link("link", to: folder.at("real/file"))
        let watch = folder.watch(["link", "new/deep/file"])
        try folder.replace("real/other")
        try folder.replace("real/file")
        try await folder.report()
        for name in ["new", "new/deep"] {
            try folder.make(name)
            try await folder.report()
        }
        try folder.replace("new/deep/file")
        try await folder.report()
        #expect(!watch.isPolling && folder.reportCount == 0)
    }

    /// A chain of links, which leads through a folder and at first to nothing. Each part comes, goes and is replaced.
    @Test func linksThatLeadToNothingYet() async throws {
        let folder = try WatchedFolder(folders: ["etc"])
        try folder.link("etc/file", to: "../run/./current/file")
        let watch = folder.watch(["etc/file"])
        try folder.make("run")
        try await folder.report()
        for name in ["run/one", "two"] { try folder.make(name) }
        try folder.link("run/current", to: "one")
        try await folder.report()
        for _ in 0..<2 {
            try folder.replace("run/one/file")
            try await folder.report()
            try folder.remove("run/one/file")
            try await folder.report()
        }
        // Another folder, by an absolute path; then a circle, and the folder again.
        for target in [folder.at("two"), "current", folder.at("two")] {
            try folder.link("run/current", to: target)
            try await folder.report()
        }
        try folder.replace("two/file")
        try await folder.report()
        // Each change was one report: an event of another name is none.
        #expect(!watch.isPolling && folder.reportCount == 0)
    }

    /// A disk that does not answer costs its own path only: neither the connections of the loop nor the other paths wait for it. What happens
    /// elsewhere meanwhile has no path walked again.
    @Test func eachPathIsWalkedByItself() async throws {
        let folder = try WatchedFolder(folders: ["slow", "quick"])
        let (slow, quick) = (BlockingThreads(limit: 1), BlockingThreads(limit: 1))
        let walks = Locked(0)
        let (slowPath, quickPath) = ("slow/new/file", "quick/new/file")
        let watch = folder.watch([slowPath, quickPath]) { path in
            if path.hasSuffix(quickPath) { return quick }
            walks.withLock { $0 += 1 }
            return slow
        }
        let thread = try await HeldThread(of: slow)
        try folder.make("slow/new")
        while slow.queueCount == 0, !Task.isCancelled { await Task.yield() }
        try folder.make("slow/other")
        for name in ["quick/new", quickPath] {
            try folder.make(name)
            try await folder.report()
        }
        #expect(slow.queueCount == 1)
        thread.release()
        try await folder.report()
        // The walk has ended, and with it the decision about another one.
        try await HeldThread(of: slow).release()
        #expect(walks.withLock { $0 } == 2 && folder.reportCount == 0)
        try folder.make(slowPath)
        try await folder.report()
        withExtendedLifetime(watch) {}
    }

    /// The watched folder is changed during the walk that finds it, before the walk has told its number. The kernel's events arrive in order: once
    /// that of the other path is reported, so much of them is known.
    private static func walk(
        changing change: @escaping @Sendable (WatchedFolder) throws -> Void
    ) async throws -> (WatchedFolder, FilesWatch) {
        let folder = try WatchedFolder(folders: ["slow", "quick"])
        let isNoted = OneShot<Void>()
        let isChanged = Locked(false)
        var kernel = FilesWatch.Kernel()
        kernel.add = { [folder] descriptor, path, mask in
            let watch = inotify_add_watch(descriptor, path, mask)
            if watch >= 0, path == Array(folder.at("slow/new").utf8CString), !isChanged.withLock({ $0 }) {
                isChanged.withLock { $0 = true }
                try? change(folder)
                try? folder.make("quick/file")
                _ = try? isNoted.value()
            }
            return watch
        }
        let watch = folder.watch(
            ["slow/new/file", "quick/file"], kernel: kernel, threads: { _ in BlockingThreads(limit: 1) })
        try folder.make("slow/new")
        try await folder.report()
        isNoted.provide(())
        // The end of the walk, and of the one because of the change.
        for _ in 0..<2 { try await folder.report() }
        return (folder, watch)
    }

    @Test func aFileThatAppearsDuringTheWalkOfItsFolder() async throws {
        let (folder, watch) = try await FilesWatchTests.walk { try $0.make("slow/new/file") }
        try folder.remove("slow/new/file")
        try await folder.report()
        #expect(!watch.isPolling)
    }

    @Test func aFolderThatGoesDuringItsWalk() async throws {
        let (folder, watch) = try await FilesWatchTests.walk { try $0.remove("slow/new") }
        for name in ["slow/new", "slow/new/file"] {
            try folder.make(name)
            try await folder.report()
        }
        #expect(!watch.isPolling)
    }

    /// The user has no instance of inotify(7) left, or no watch, and later some again.
    @Test(arguments: [true, false]) func theKernelWatchesNothingForAWhile(hasInstance: Bool) async throws {
        let folder = try WatchedFolder(folders: ["one"])
        let isUsedUp = Locked(true)
        var kernel = FilesWatch.Kernel()
        let system = kernel
        let refuse: @Sendable (CInt) -> Bool = { error in
            errno = error
            return isUsedUp.withLock { $0 }
        }
        if hasInstance {
            kernel.add = { refuse(ENOSPC) ? -1 : system.add($0, $1, $2) }
        } else {
            kernel.open = { refuse(EMFILE) ? -1 : system.open() }
        }
        let watch = folder.watch(["one/file", "two/file"], kernel: kernel, pollInterval: .milliseconds(1))
        for name in ["one/file", "one/file"] {
            try folder.replace(name)
            try await folder.report()
        }
        try folder.remove("one/file")
        try await folder.report()
        #expect(watch.isPolling)
        isUsedUp.withLock { $0 = false }
        while watch.isPolling, !Task.isCancelled { await Task.yield() }
        #expect(folder.reportCount == 0)
        try folder.make("two")
        try await folder.report()
        try folder.replace("two/file")
        try await folder.report()
    }

    /// A directory that the process may not read is watched by the second method, and the others by the first.
    @Test func aDirectoryThatTheKernelDoesNotWatch() async throws {
        let folder = try WatchedFolder(folders: ["secret", "open"])
        var kernel = FilesWatch.Kernel()
        kernel.add = { [folder] descriptor, path, mask in
            errno = EACCES
            return path == Array(folder.at("secret").utf8CString) ? -1 : inotify_add_watch(descriptor, path, mask)
        }
        let watch = folder.watch(["secret/file", "open/file"], kernel: kernel, pollInterval: .milliseconds(1))
        for name in ["secret/file", "open/file", "secret/file"] {
            try folder.replace(name)
            try await folder.report()
        }
        #expect(watch.isPolling)
    }

    /// A file that is being written does not count yet; its end, its replacement and its removal do.
    @Test func onlyWhenWritten() async throws {
        let folder = try WatchedFolder()
        let watch = folder.watch(["file"], onlyWhenWritten: true)
        let descriptor = open(folder.at("file"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        #expect(write(descriptor, "text", 4) == 4 && fchmod(descriptor, 0o644) == 0)
        close(descriptor)
        try await folder.report()
        try folder.replace("file")
        try await folder.report()
        try folder.remove("file")
        try await folder.report()
        #expect(folder.reportCount == 0 && !watch.isPolling)
    }

    @Test func aPathFromTheCurrentFolder() async throws {
        let folder = try WatchedFolder()
        let up = String(repeating: "../", count: FileManager.default.currentDirectoryPath.split(separator: "/").count)
        let changes = Mailbox<Void>(limit: 1)
        let watch = FilesWatch([up + folder.at("file").dropFirst()]) { changes.put(()) }
        try folder.replace("file")
        _ = try #require(await changes.next() as Void?)
        withExtendedLifetime(watch) {}
    }

    /// The kernel's events, at every length.
    @Test func eventsOfInotify() {
        let bytes: [UInt8] =
            [1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0] + Array("proxies\0".utf8)
            + [2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        let first = InotifyEvent(watch: 1, mask: 8, name: Array("proxies".utf8))
        #expect(InotifyEvent.events(in: bytes[...]) == [first, InotifyEvent(watch: 2, mask: 512, name: [])])
        for count in 0..<bytes.count {
            #expect(InotifyEvent.events(in: bytes[..<count]) == (count < 24 ? [] : [first]))
        }
    }
}
