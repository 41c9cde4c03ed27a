import Foundation
import Glibc
import Synchronization
import Testing

@_spi(Packages) @testable import FTPStream

/// Trees at a server in this process: what is skipped, kept and reported.
@Suite(.timeLimit(.minutes(5))) struct TreeTests {
    /// A folder that is removed with this object.
    final class Folder {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("netkit-tree-\(UUID())").path

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func write(_ name: String, _ text: String) throws {
            try text.write(toFile: path + "/" + name, atomically: false, encoding: .utf8)
        }

        func text(_ name: String) -> String? { try? String(contentsOfFile: path + "/" + name, encoding: .utf8) }

        var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    }

    /// A server whose directories have these listings, and whose files have the content "hello".
    func client(_ listings: [String: String], file: String = "hello") throws -> (CommandServer, FTPClient) {
        let directory = Locked("")
        let server = try CommandServer { line in
            if line.hasPrefix("CWD ") { directory.withLock { $0 = String(line.dropFirst(4)) } }
            return nil
        } contents: { line in
            Array((line.hasPrefix("LIST") ? listings[directory.withLock { $0 }] ?? "" : file).utf8)
        }
        return (server, try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/"))))
    }

    static func line(_ name: String, size: Int = 5, mode: String = "-rw-r--r--") -> String {
        "\(mode)   1 ann      staff \(size) Mar  4  2019 \(name)\r\n"
    }

    func options(_ change: (inout FTPTreeOptions) -> Void) -> FTPTreeOptions {
        var options = FTPTreeOptions()
        change(&options)
        return options
    }

    /// A line that was not read may stand for a local file: nothing is deleted in that folder, and the line is reported.
    @Test func aFolderWithUnreadLinesKeepsItsFiles() async throws {
        let listing =
            Self.line("a") + "gone.txt, in an unknown format\r\n" + Self.line("sub", mode: "drwxr-xr-x")
        let (server, client) = try client(["d": listing, "d/sub": Self.line("b")])
        let folder = try Folder()
        try folder.write("gone.txt", "precious")
        mkdir(folder.path + "/sub", 0o755)
        try folder.write("sub/extra", "old")
        let report = try await client.download("d", to: folder.path, options { $0.deletes = true })
        #expect(folder.text("gone.txt") == "precious" && folder.text("a") == "hello" && folder.text("sub/b") == "hello")
        // The other folder was read whole.
        #expect(folder.text("sub/extra") == nil && report.deleted == 1 && report.files == 2)
        #expect(
            report.skipped == [.init(path: "d", reason: .unreadLine("gone.txt, in an unknown format"))]
                && report.skippedCount == 1)
        withExtendedLifetime(server) {}
    }

    /// A name that no file can have stands for others: the lines of a server that ends them with CR, a path, a name that was cut.
    @Test(arguments: [
        "x\r-rw-r--r--   1 ann      staff 5 Mar  4  2019 gone.txt", "sub/gone.txt", "gone\0.txt", "../gone.txt",
    ])
    func aFolderWithAnImpossibleNameKeepsItsFiles(_ name: String) async throws {
        let (server, client) = try client(["d": Self.line("a") + Self.line(name)])
        let folder = try Folder()
        try folder.write("gone.txt", "precious")
        let report = try await client.download("d", to: folder.path, options { $0.deletes = true })
        #expect(folder.names == ["a", "gone.txt"] && report.deleted == 0 && report.files == 1)
        #expect(report.skipped.map(\.reason) == [.unsafeName])
        withExtendedLifetime(server) {}
    }

    /// A fact that cannot be read costs itself, also the type: the file is transferred.
    @Test(arguments: ["type=file:size=5;modify=20190304000000;", "type=;size=5;", "size=5;", "type=fil;size=5;", ""])
    func aFileWithoutAKnownTypeIsDownloaded(_ facts: String) async throws {
        let (server, client) = try client(["d": "type=file;size=5; a\r\n\(facts) b\r\n"])
        let folder = try Folder()
        let report = try await client.download("d", to: folder.path, options { $0.deletes = true })
        #expect(folder.names == ["a", "b"] && folder.text("b") == "hello" && report.skippedCount == 0)
        withExtendedLifetime(server) {}
    }

    /// The same at the server's side: an upload deletes nothing where lines were not read.
    @Test func anUploadKeepsAFolderWithUnreadLines() async throws {
        let folder = try Folder()
        try folder.write("a", "hello")
        let content = Array((Self.line("extra") + "what?\r\n").utf8)
        let server = try CommandServer(content: content) { line in line.hasPrefix("MKD") ? "550 Exists." : nil }
        let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
        let report = try await client.upload(folder.path, to: "d", options { $0.deletes = true })
        #expect(report.files == 1 && report.deleted == 0 && !server.commands.contains { $0.hasPrefix("DELE") })
        #expect(report.skipped == [.init(path: "d", reason: .unreadLine("what?"))])
    }

    @Test func unreadLinesOfAListing() async throws {
        let (server, client) = try client(["d": "what?\r\n" + Self.line("a")])
        let listing = try await client.listing("d")
        #expect(listing.entries.map(\.name) == ["a"] && listing.unread.texts == ["what?"])
        let seen = Locked<[FTPPath]>([])
        let found = try await client.matches("d/*") { path, unread in
            if unread.count == 1 { seen.withLock { $0.append(path) } }
        }
        #expect(found.map(\.path) == ["d/a"] && seen.withLock { $0 } == ["d"])
        withExtendedLifetime(server) {}
    }

    /// Names that a shell or a program would take for something else are not created.
    @Test(arguments: [false, true])
    func unsafeNames(_ permitsHidden: Bool) async throws {
        let names = ["-rf", ".bashrc", "a\u{1B}[2J", "b\u{202E}c", String(repeating: "n", count: 250), "fine"]
        let listing = names.map { Self.line($0) }.joined() + Self.line("sub", mode: "drwxr-xr-x")
        let (server, client) = try client(["d": listing, "d/sub": Self.line(".htaccess") + Self.line("-x")])
        let folder = try Folder()
        let report = try await client.download(
            "d", to: folder.path, options { $0.permitsHiddenNames = permitsHidden })
        #expect(folder.names == (permitsHidden ? [".bashrc", "fine", "sub"] : ["fine", "sub"]))
        #expect(folder.text("sub/.htaccess") == "hello")
        #expect(report.skipped.allSatisfy { $0.reason == .unsafeName })
        #expect(report.skippedCount == (permitsHidden ? 5 : 6))
        withExtendedLifetime(server) {}
    }

    /// A refusal of one file costs that file, whatever its code.
    @Test(arguments: [425, 426, 450, 451, 452, 500, 501, 502, 503, 504, 530, 532, 550, 551, 552, 553, 554])
    func aRefusedFileCostsItself(_ code: Int) async throws {
        let listing = ["a", "b", "c"].map { Self.line($0) }.joined() + Self.line("sub", mode: "drwxr-xr-x")
        let server = try CommandServer(content: Array(listing.utf8)) { line in
            ["RETR d/b", "STOR d/b", "MKD d/sub", "CWD d/sub"].contains(line) ? "\(code) No." : nil
        }
        let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
        let folder = try Folder()
        let expected = ["d/b", "d/sub"].map {
            FTPTreeReport.Skipped(
                path: $0, reason: .refused(FTPReply(code: code, lines: [Array("No.".utf8)])))
        }
        let report = try await client.download("d", to: folder.path)
        #expect(report.skipped == expected && report.files == 2 && folder.names == ["a", "c"])
        // A full disk of the server ends an upload.
        try folder.write("b", "hello")
        mkdir(folder.path + "/sub", 0o755)
        do throws(StreamError) {
            let sent = try await client.upload(folder.path, to: "d")
            #expect(sent.skipped == expected && sent.files == 2 && ![452, 552].contains(code))
        } catch {
            #expect([452, 552].contains(code) && error.code == code, "\(error)")
        }
    }

    /// Where no data connection works, not every file is tried.
    @Test func manyFailuresOfDataConnectionsEndTheTransfer() async throws {
        let listing = (0..<100).map { Self.line("\($0)") }.joined()
        let retrieved = Locked(0)
        let server = try CommandServer(content: Array(listing.utf8)) { line in
            guard line.hasPrefix("RETR") else { return nil }
            let count = retrieved.withLock { count in
                count += 1
                return count
            }
            // The fifth works, and the count begins again.
            return count == 5 ? nil : "425 No connection."
        }
        let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
        let folder = try Folder()
        let error = await #expect(throws: StreamError.self) { try await client.download("d", to: folder.path) }
        #expect(error?.code == 425 && retrieved.withLock { $0 } == 5 + TreeTransfer.maximumBroken)
    }

    /// A local file that cannot be read costs itself; a local disk that cannot be written ends the transfer.
    @Test(arguments: [EIO, EROFS, ENOSPC, EACCES])
    func localFailures(_ number: CInt) throws {
        let tree = TreeTransfer(client: try FTPClient(Self.nowhere), options: FTPTreeOptions())
        let error = StreamError(posix: number, reason: .localFile, underlying: LocalFailure(number: number))
        #expect(throws: Never.self) { try tree.handle(error, "x", filling: .server) }
        #expect(tree.report.skippedCount == 1)
        if number == EACCES {
            #expect(throws: Never.self) { try tree.handle(error, "x", filling: .local) }
        } else {
            #expect(throws: StreamError.self) { try tree.handle(error, "x", filling: .local) }
        }
    }

    /// A download that is shorter than the listed file leaves the old file as it was.
    @Test func anIncompleteFileReplacesNothing() async throws {
        let (server, client) = try client(["d": Self.line("a", size: 9) + Self.line("b")])
        let folder = try Folder()
        try folder.write("a", "old")
        let report = try await client.download("d", to: folder.path)
        guard case .failed(let text) = report.skipped.first?.reason else {
            Issue.record("\(report.skipped)")
            return
        }
        #expect(text.contains("5 bytes instead of 9"))
        #expect(folder.text("a") == "old" && folder.text("b") == "hello" && report.files == 1)
        #expect(folder.names == ["a", "b"])  // the partial file is gone

        // With `resumes`, what was received is continued.
        unlink(folder.path + "/a")
        let resuming = options { $0.resumes = true }
        _ = try await client.download("d", to: folder.path, resuming)
        #expect(folder.text("a" + LocalFolder.partialSuffix) == "hello" && folder.text("a") == nil)
        let rest = try await client.download("d", to: folder.path, options { ($0.resumes, $0.deletes) = (true, true) })
        #expect(server.commands.contains("REST 5") && rest.deleted == 0 && rest.bytes == 5)
        #expect(folder.names == ["a", "b"] && folder.text("a") == "hellohello")
    }

    /// A shorter file is continued in its place.
    @Test func aShorterFileIsContinued() async throws {
        let (server, client) = try client(["d": Self.line("a", size: 7)])
        let folder = try Folder()
        try folder.write("a", "oh")
        let report = try await client.download("d", to: folder.path, options { $0.resumes = true })
        #expect(folder.text("a") == "ohhello" && report.files == 1 && server.commands.contains("REST 2"))
    }

    /// The server refuses REST: the whole file is transferred in the same session, beside the old one until it is complete.
    @Test(arguments: [false, true], [5, 9])
    func aRefusedOffsetTransfersTheWholeFile(_ isPartial: Bool, _ size: Int) async throws {
        let line = Self.line("a", size: size)
        let folder = try Folder()
        let (name, partial) = ("a", "a" + LocalFolder.partialSuffix)
        try folder.write(isPartial ? partial : name, "oh")
        let server = try CommandServer { line in
            line.hasPrefix("REST") ? "502 No." : nil
        } contents: { command in
            Array((command.hasPrefix("LIST") ? line : "hello").utf8)
        }
        let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
        let report = try await client.download("d", to: folder.path, options { $0.resumes = true })
        #expect(
            server.commands.filter { ["REST", "RETR", "USER"].contains($0.prefix(4)) }.map { $0.prefix(4) } == [
                "USER", "REST", "RETR",
            ])
        if size == 5 {
            #expect(
                report.files == 1 && report.skipped.isEmpty && folder.names == [name] && folder.text(name) == "hello")
        } else {
            // The transfer was cut off: what was here in the place of the file remains.
            #expect(
                report.files == 0 && folder.text(partial) == "hello" && folder.text(name) == (isPartial ? nil : "oh"))
        }
    }

    /// The offset may also be refused by the transfer (RFC 3659 §5.3): 554 is about the offset, other codes are about the file.
    @Test(arguments: [554, 550])
    func anOffsetRefusedByTheTransfer(_ code: Int) async throws {
        let folder = try Folder()
        try folder.write("a", "oh")
        let refused = Locked(false)
        let server = try CommandServer { line in
            guard line.hasPrefix("RETR"),
                refused.withLock({ was in
                    was
                        ? false
                        : {
                            was = true
                            return true
                        }()
                })
            else {
                return nil
            }
            return "\(code) Restart offset is not valid."
        } contents: { command in
            Array((command.hasPrefix("LIST") ? Self.line("a", size: 5) : "hello").utf8)
        }
        let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
        let report = try await client.download("d", to: folder.path, options { $0.resumes = true })
        #expect(folder.text("a") == (code == 554 ? "hello" : "oh") && report.skippedCount == (code == 554 ? 0 : 1))
    }

    /// The server refuses REST: the whole file replaces the part.
    @Test func aRefusedOffsetSendsTheWholeFile() async throws {
        let server = try CommandServer { line in
            line.hasPrefix("REST") ? "502 No." : nil
        } contents: { _ in
            Array(Self.line("a", size: 2).utf8)
        }
        let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
        let folder = try Folder()
        try folder.write("a", "hello")
        let report = try await client.upload(folder.path, to: "d", options { $0.resumes = true })
        #expect(report.files == 1 && report.bytes == 5 && report.skipped.isEmpty)
        #expect(
            server.commands.filter { ["REST", "STOR"].contains($0.prefix(4)) }.map { $0.prefix(4) } == ["REST", "STOR"])
    }

    /// Two lines of a listing may have the same name.
    @Test(arguments: [LocalTarget.Progress.existing(2), .partial(2), nil])
    func aFileIsWrittenByOneTransferAtATime(_ progress: LocalTarget.Progress?) throws {
        let folder = try Folder()
        try folder.write("a", "oh")
        try folder.write("a" + LocalFolder.partialSuffix, "oh")
        let root = try LocalFolder.root(folder.path, creates: false)
        let first = try root.target("a", continuing: progress)
        let error = #expect(throws: StreamError.self) { _ = try root.target("a", continuing: progress) }
        #expect(error?.isPOSIX(EBUSY) == true)
        first.abandon(keepsPartial: true)
        _ = try root.target("a", continuing: progress)
    }

    /// The transfer of another line of the listing has completed the file after this one found it shorter.
    @Test func aFileThatHasBeenCompletedIsNotCutOff() throws {
        let folder = try Folder()
        try folder.write("a", "complete")
        let root = try LocalFolder.root(folder.path, creates: false)
        let error = #expect(throws: StreamError.self) { _ = try root.target("a", continuing: .existing(2)) }
        #expect(error?.isPOSIX(ESTALE) == true && folder.text("a") == "complete")
    }

    /// What is in the way of one entry costs that entry. Nothing is written through links.
    @Test func linksAndSpecialFilesAreSkipped() async throws {
        let names = ["link", "pipe", "folder", "linked"]
        let listing = names.map { Self.line($0) }.joined() + Self.line("sub", mode: "drwxr-xr-x") + Self.line("z")
        let (server, client) = try client(["d": listing, "d/sub": Self.line("b")])
        let (folder, outside) = (try Folder(), try Folder())
        try outside.write("target", "kept")
        symlink(outside.path + "/target", folder.path + "/link")
        symlink(outside.path, folder.path + "/sub")
        mkfifo(folder.path + "/pipe", 0o600)
        mkdir(folder.path + "/folder", 0o755)
        try folder.write("other", "shared")
        link(folder.path + "/other", folder.path + "/linked")
        let report = try await client.download("d", to: folder.path)
        #expect(report.skipped.map(\.path).sorted() == ["d/folder", "d/link", "d/pipe", "d/sub"])
        #expect(outside.names == ["target"] && outside.text("target") == "kept")
        #expect(folder.text("z") == "hello")
        // A file with two names is replaced, not written: the other name keeps its contents.
        #expect(folder.text("linked") == "hello" && folder.text("other") == "shared")
        withExtendedLifetime(server) {}
    }

    /// Links below the root of an upload are not followed, and neither are names that change meanwhile.
    @Test func localFoldersAreReachedByTheirDescriptors() async throws {
        let (folder, outside) = (try Folder(), try Folder())
        mkdir(folder.path + "/a", 0o755)
        mkdir(folder.path + "/a/b", 0o755)
        try outside.write("secret", "x")
        let root = try LocalFolder.root(folder.path, creates: false)
        let inner = try root.folder(at: Array("a/b".utf8), creates: false)
        rmdir(folder.path + "/a/b")
        symlink(outside.path, folder.path + "/a/b")
        // The descriptor still leads to the removed folder, and a new walk is refused.
        let tree = TreeTransfer(client: try FTPClient(Self.nowhere), options: FTPTreeOptions())
        #expect(try await tree.contents(of: inner).isEmpty)
        let error = #expect(throws: StreamError.self) { try root.folder(at: Array("a/b".utf8), creates: true) }
        #expect(error?.underlying is LocalFailure)
        let outer = try root.folder(at: Array("a".utf8), creates: false)
        #expect(try await tree.contents(of: outer).map(\.kind) == [.unknown])
        // Removing the folder removes the link, not what it leads to.
        try await tree.remove(Array("a".utf8), in: root)
        #expect(tree.report.deleted == 2 && outside.text("secret") == "x" && folder.names.isEmpty)
    }

    /// A large folder is removed by many calls of the disk, and a cancellation ends the removal before the next one.
    @Test func aLargeFolderIsRemovedInBatches() async throws {
        let folder = try Folder()
        let count = LocalFolder.Reading.batchSize * 4 + 2
        for name in ["big", "big/sub"] { mkdir(folder.path + "/" + name, 0o755) }
        for number in 0..<count { try folder.write("big/\(number)", "") }
        let root = try LocalFolder.root(folder.path, creates: false)
        let threads = BlockingThreads(limit: 1)
        let tree = TreeTransfer(
            client: try FTPClient(Self.nowhere), options: FTPTreeOptions(), diskThreads: threads,
            fileTimeout: .seconds(3600))
        let removal = Task { try await tree.remove(Array("big".utf8), in: root) }
        // Takes its turns on the only thread, between the calls of the disk: it sees the first batch before the fourth can begin.
        @Sendable func cancelAfterTheFirstBatch() {
            threads.run(
                BlockingThreads.Work {
                    if tree.report.deleted > 0 { removal.cancel() } else { cancelAfterTheFirstBatch() }
                } refuse: { _ in
                })
        }
        cancelAfterTheFirstBatch()
        await #expect(throws: StreamError.cancelled) { try await removal.value }
        #expect(tree.report.deleted <= 3 * LocalFolder.Reading.batchSize)
        // The rest, with folders.
        let rest = TreeTransfer(client: try FTPClient(Self.nowhere), options: FTPTreeOptions())
        let big = try root.folder(at: Array("big".utf8), creates: false)
        #expect(try await rest.contents(of: big).count > LocalFolder.Reading.batchSize)
        try await rest.remove(Array("big".utf8), in: root)
        #expect(folder.names.isEmpty)
    }

    /// Names of local files are bytes.
    @Test func localNamesNeedNotBeUTF8() async throws {
        let folder = try Folder()
        let name = Array(folder.path.utf8) + [UInt8(ascii: "/"), 0xE9, 0]
        let descriptor = name.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { open($0.baseAddress!, O_CREAT | O_WRONLY, 0o600) }
        }
        close(descriptor)
        let tree = TreeTransfer(client: try FTPClient(Self.nowhere), options: FTPTreeOptions())
        let contents = try await tree.contents(of: try LocalFolder.root(folder.path, creates: false))
        #expect(contents.map(\.name) == [[0xE9]] && contents.map(\.kind) == [.file])
    }

    /// Calls on files are not made on the event loop, whose other streams would wait for the disk.
    @Test func filesAreNotReadOnTheLoop() async throws {
        let tree = TreeTransfer(client: try FTPClient(Self.nowhere), options: FTPTreeOptions())
        let isOnLoop = await Task(executorPreference: EventLoop.shared) {
            let isCaller = EventLoop.shared.isCurrent
            let isCall = try? await tree.onDisk { () throws(StreamError) in EventLoop.shared.isCurrent }
            return (isCaller, isCall)
        }.value
        #expect(isOnLoop == (true, false))
    }

    private static var nowhere: URL { URL(string: "ftp://127.0.0.1:1/")! }

    /// A disk that does not answer ends a transfer, and one that waits for it can be cancelled.
    @Test func aDiskThatNeverAnswersEndsTheTransfer() async throws {
        let threads = BlockingThreads(limit: 1)
        let answer = DispatchSemaphore(value: 0)
        let isHeld = OneShot<Bool>()
        threads.run(
            BlockingThreads.Work {
                isHeld.provide(true)
                answer.wait()
            } refuse: { _ in
            })
        #expect(try await isHeld.value())
        defer { answer.signal() }
        let folder = try Folder()
        func transfer(_ timeout: Duration) throws -> TreeTransfer {
            TreeTransfer(
                client: try FTPClient(Self.nowhere), options: FTPTreeOptions(), diskThreads: threads,
                fileTimeout: timeout)
        }
        do {
            try await transfer(.zero).upload(folder.path, to: "d")
            Issue.record("the disk has not answered")
        } catch let error as StreamError {
            #expect(error.reason == .unansweredCall && error.isPOSIX(ETIMEDOUT), "\(error)")
        }
        let waiting = Task { [folder = folder.path, tree = try transfer(.seconds(3600))] in
            try await tree.upload(folder, to: "d")
        }
        waiting.cancel()
        await #expect(throws: StreamError.cancelled) { try await waiting.value }
    }

    /// Without a descriptor for it, a file is skipped; the others are transferred. In a process of its own, because of the limit.
    @Test func aTableOfDescriptorsThatIsFull() async {
        await #expect(processExitsWith: .success) {
            // With a limit of 0 no descriptor can be made; those that are open stay.
            @Sendable func setLimit(_ count: rlim_t) {
                var limit = rlimit(rlim_cur: count, rlim_max: 256)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            }
            let isFirst = Atomic(true)
            let listing = (0..<4).map { Self.line("f\($0)") }.joined()
            let server = try CommandServer { _ in
                setLimit(256)
                return nil
            } contents: { line in
                if line.hasSuffix("f1"), isFirst.exchange(false, ordering: .relaxed) { setLimit(0) }
                return Array((line.hasPrefix("LIST") ? listing : "hello").utf8)
            }
            let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
            let folder = try Folder()
            // The files after f1, too, if they need a connection before the server has read the next command.
            let report = try await client.download("d", to: folder.path)
            try #require(report.files + report.skippedCount == 4 && report.skipped.first?.path == "d/f1")
            for skipped in report.skipped {
                guard case .failed = skipped.reason else { throw StreamError.closed }
            }
            setLimit(256)
            try #require(try await client.download("d", to: folder.path).files == 4)
            try #require(folder.names == ["f0", "f1", "f2", "f3"])
        }
    }
}
