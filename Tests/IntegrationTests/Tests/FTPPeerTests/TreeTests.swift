import EventLoops
import FTPStream
import Foundation
import Peers
import Testing

/// Uploads and downloads of whole trees, with every server.
struct TreeTests {
    /// A folder that is removed with this object.
    private final class Folder {
        let url: URL

        init() throws {
            url = FileManager.default.temporaryDirectory.appendingPathComponent("netkit-tree-\(UUID())")
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(at: url) }

        func path(_ name: String) -> String { url.appendingPathComponent(name).path }

        func write(_ name: String, _ bytes: [UInt8]) throws {
            let file = url.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: file)
        }

        func read(_ name: String) throws -> [UInt8] {
            Array(try Data(contentsOf: url.appendingPathComponent(name)))
        }
    }

    private static let files = [("1", 0), ("a/2", 1000), ("a/b c/é", 200_000), ("a/-R", 5)]

    @Test(arguments: ServerKind.allCases)
    func uploadAndDownloadOfATree(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let folder = try Folder()
        for (name, count) in Self.files { try folder.write("source/" + name, patterned(count)) }
        try FileManager.default.createDirectory(atPath: folder.path("source/empty"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("source/link"), withDestinationPath: "/etc")
        let client = try server.client()
        let sent = try await client.upload(folder.path("source"), to: "files/tree")
        #expect(sent.files == 4 && sent.directories == 4 && sent.bytes == 201_005)
        #expect(sent.skipped.map(\.path) == [folder.path("source/link")] && sent.skipped[0].reason == .notAFile)
        #expect(try await client.upload(folder.path("source"), to: "files/tree").files == 4)  // over the existing files
        let fetched = try await client.download("files/tree", to: folder.path("target"))
        // A name that begins with a hyphen is one for the server, but not for the commands of this machine.
        #expect(fetched.files == 3 && fetched.directories == 4 && fetched.bytes == 201_000)
        #expect(fetched.skipped.map(\.path) == ["files/tree/a/-R"] && fetched.skipped[0].reason == .unsafeName)
        for (name, count) in Self.files where name != "a/-R" {
            #expect(try folder.read("target/" + name) == patterned(count))
        }
        if kind.logsCommands { #expect(try server.loginCount() == 1) }
    }

    @Test(arguments: ServerKind.allCases)
    func theRefusalOfADirectoryIsTheError(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let folder = try Folder()
        try folder.write("source/x", [1])
        let client = try server.client()
        let error = await #expect(throws: StreamError.self) {
            try await client.upload(folder.path("source"), to: "files/nowhere/tree")
        }
        let made = await #expect(throws: StreamError.self) { try await client.makeDirectory("files/nowhere/tree") }
        let why = try #require(made).description
        #expect(error?.description.hasSuffix(": \(why)") == true, "\(error?.description ?? ""), not \(why)")
    }

    @Test(arguments: ServerKind.allCases)
    func anInterruptedTreeIsResumed(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let folder = try Folder()
        for (name, count) in [("half", 10_000), ("whole", 500), ("longer", 20), ("new", 30)] {
            try folder.write("source/" + name, patterned(count))
        }
        let client = try server.client()
        try await client.makeDirectory("files/tree")
        for (name, count) in [("half", 4000), ("whole", 500), ("longer", 100)] {
            try await Style.async.writeAll(patterned(count), to: client.writer(FTPPath("files/tree/" + name)))
        }
        var options = FTPTreeOptions()
        options.resumes = true
        let seen = Locked<[FTPTreeProgress]>([])
        options.progress = { progress in seen.withLock { $0.append(progress) } }
        let sent = try await client.upload(folder.path("source"), to: "files/tree", options)
        #expect(sent.files == 3 && sent.unchanged == 1 && sent.bytes == 6000 + 20 + 30)
        for (name, count) in [("half", 10_000), ("whole", 500), ("longer", 20), ("new", 30)] {
            #expect(try server.read("tree/" + name) == patterned(count))
        }
        let first = seen.withLock { $0.first { $0.path == "files/tree/half" } }
        #expect(first?.count == 4000 && first?.size == 10_000)
        #expect(seen.withLock { $0.contains { $0.path == "files/tree/half" && $0.count == 10_000 } })

        for (name, count) in [("half", 4000), ("whole", 500), ("longer", 100)] {
            try folder.write("target/" + name, patterned(count))
        }
        let fetched = try await client.download("files/tree", to: folder.path("target"), options)
        #expect(fetched.files == 3 && fetched.unchanged == 1 && fetched.bytes == 6000 + 20 + 30)
        for (name, count) in [("half", 10_000), ("whole", 500), ("longer", 20), ("new", 30)] {
            #expect(try folder.read("target/" + name) == patterned(count))
        }
    }

    /// Dates are kept in both directions, so that a second transfer finds nothing newer.
    @Test(arguments: ServerKind.allCases)
    func onlyNewerFilesAreTransferred(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let folder = try Folder()
        let date = Date(timeIntervalSince1970: 1_588_748_889)
        for name in ["1", "a/2"] {
            try folder.write("source/" + name, patterned(100))
            try FileManager.default.setAttributes(
                [.modificationDate: date], ofItemAtPath: folder.path("source/" + name))
        }
        let client = try server.client()
        var options = FTPTreeOptions()
        (options.onlyNewer, options.keepsDates) = (true, true)
        let sent = try await client.upload(folder.path("source"), to: "files/tree", options)
        #expect(sent.files == 2 && sent.datesLost == 0)
        #expect(try await client.modificationDate(of: "files/tree/a/2").secondsSince1970() == 1_588_748_889)
        let again = try await client.upload(folder.path("source"), to: "files/tree", options)
        #expect(again.files == 0 && again.unchanged == 2 && again.bytes == 0)

        let fetched = try await client.download("files/tree", to: folder.path("target"), options)
        #expect(fetched.files == 2 && fetched.datesLost == 0)
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.path("target/a/2"))
        #expect(attributes[.modificationDate] as? Date == date)
        #expect(try await client.download("files/tree", to: folder.path("target"), options).unchanged == 2)

        // Of the same size, but newer.
        try folder.write("source/1", [UInt8](repeating: 7, count: 100))
        #expect(try await client.upload(folder.path("source"), to: "files/tree", options).files == 1)
        let newer = try await client.download("files/tree", to: folder.path("target"), options)
        #expect(newer.files == 1 && newer.unchanged == 1)
        #expect(try folder.read("target/1") == [UInt8](repeating: 7, count: 100))
    }

    @Test(arguments: ServerKind.allCases)
    func whatTheSourceLacksIsDeleted(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let folder = try Folder()
        for name in ["keep", "old/deep/x", "gone"] { try folder.write("source/" + name, [1]) }
        let client = try server.client()
        _ = try await client.upload(folder.path("source"), to: "files/tree")
        for name in ["old", "gone"] { try FileManager.default.removeItem(atPath: folder.path("source/" + name)) }
        try folder.write("outside/kept", [1])
        try folder.write("target/extra/y", [1])
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("target/link"), withDestinationPath: folder.path("outside"))
        var options = FTPTreeOptions()
        options.deletes = true
        let sent = try await client.upload(folder.path("source"), to: "files/tree", options)
        #expect(sent.deleted == 4 && sent.skipped.isEmpty)
        #expect(try await client.list("files/tree").map(\.name) == ["keep"])
        let fetched = try await client.download("files/tree", to: folder.path("target"), options)
        #expect(fetched.deleted == 3)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("target")) == ["keep"])
        #expect(try folder.read("outside/kept") == [1])
    }

    @Test(arguments: ServerKind.allCases)
    func severalSessions(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let folder = try Folder()
        let names = (0..<40).map { "\($0 % 4)/\($0)" }
        for (index, name) in names.enumerated() { try folder.write("source/" + name, patterned(index * 1000)) }
        let client = try server.client()
        var options = FTPTreeOptions()
        options.connections = 4
        let sent = try await client.upload(folder.path("source"), to: "files/tree", options)
        #expect(sent.files == 40 && sent.bytes == 780_000 && sent.skipped.isEmpty)
        let fetched = try await client.download("files/tree", to: folder.path("target"), options)
        #expect(fetched.files == 40 && fetched.bytes == 780_000)
        for (index, name) in names.enumerated() {
            #expect(try folder.read("target/" + name) == patterned(index * 1000))
        }
        // What is in the way of one file does not end the others.
        try FileManager.default.removeItem(atPath: folder.path("target"))
        try FileManager.default.createDirectory(
            atPath: folder.path("target/1/37"), withIntermediateDirectories: true)
        let again = try await client.download("files/tree", to: folder.path("target"), options)
        #expect(again.files == 39 && again.skipped.map(\.path) == ["files/tree/1/37"])
    }

    @Test(arguments: ServerKind.allCases)
    func treesAreMadeAndRemoved(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let client = try server.client()
        for _ in 1...2 { try await client.makeDirectories("files/a/b/c") }
        try await Style.async.writeAll([1], to: client.writer("files/a/b/file"))
        #expect(try await client.matches("files/?/b/f*").map(\.path.description) == ["files/a/b/file"])
        #expect(try await client.matches("files/*/b/nothing").isEmpty)
        #expect(try await client.removeTree("files/a").deleted == 4)
        #expect(try await client.list("files").isEmpty)
        await #expect(throws: StreamError.self) { try await client.removeTree("files/a") }
        await #expect(throws: StreamError.self) { try await client.makeDirectories("files/x\r\ny") }
    }

    /// Files and directories that may not be read are skipped; the rest is downloaded.
    @Test(arguments: [ServerKind.vsftpd, .pureFTPd])
    func refusedFilesAreSkipped(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let folder = try Folder()
        let client = try server.client()
        for name in ["a", "b", "c"] { try await Style.async.writeAll([1], to: client.writer(FTPPath("files/" + name))) }
        try await client.setMode(0, of: "files/b")
        let report = try await client.download("files", to: folder.path("target"))
        #expect(report.files == 2 && report.skipped.map(\.path) == ["files/b"])
        guard case .refused(let reply) = report.skipped.first?.reason else {
            Issue.record("\(report.skipped)")
            return
        }
        #expect(reply.code == 550)
        #expect(!FileManager.default.fileExists(atPath: folder.path("target/b")))
        let error = await #expect(throws: StreamError.self) {
            try await client.download("files/nowhere", to: folder.path("other"))
        }
        #expect(error?.code == 550 && error?.description.hasPrefix("files/nowhere: ") == true)
        #expect(!FileManager.default.fileExists(atPath: folder.path("other")))
    }

    /// The bytes arrive faster than they are written, so that no read waits.
    @Test func aCancelledDownloadEndsAlthoughBytesAreAvailable() async throws {
        let server = try await ServerKind.vsftpd.started()
        try server.write("a", [UInt8](repeating: 1, count: 20_000_000))
        let (folder, client) = (try Folder(), try server.client())
        let counts = Locked<[UInt64]>([])
        var options = FTPTreeOptions()
        options.progress = { progress in
            guard progress.count > 0 else { return }
            counts.withLock { $0.append(progress.count) }
            withUnsafeCurrentTask { $0?.cancel() }
        }
        // A task of its own, because the test's must not be cancelled.
        let download = Task { [options, target = folder.path("target")] in
            try await client.download("files", to: target, options)
        }
        let error = await #expect(throws: StreamError.self) { try await download.value }
        #expect(error?.isCancellation == true)
        #expect(counts.withLock { $0.count } == 1)
    }

    /// Nothing is written through existing links in the folder, and an existing pipe does not block the download.
    @Test func existingLinksAndPipesAreRefused() async throws {
        let server = try await ServerKind.pyftpdlib.started()
        let folder = try Folder()
        let client = try server.client()
        try await client.makeDirectory("files/sub")
        for name in ["sub/a", "b", "c"] {
            try await Style.async.writeAll([1], to: client.writer(FTPPath("files/" + name)))
        }
        try folder.write("outside/a", [9])
        for (link, destination) in [("sub", "outside"), ("b", "outside/a"), ("c", "outside/new")] {
            let target = folder.path("target-\(link)")
            try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: target + "/" + link, withDestinationPath: folder.path(destination))
            let report = try await client.download("files", to: target)
            #expect(report.skipped.map(\.path) == ["files/" + link] && report.files == 2)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("outside")) == ["a"])
        #expect(try folder.read("outside/a") == [9])
        try FileManager.default.createDirectory(atPath: folder.path("pipes"), withIntermediateDirectories: true)
        #expect(mkfifo(folder.path("pipes/b"), 0o600) == 0)
        let report = try await client.download("files", to: folder.path("pipes"))
        #expect(report.skipped.map(\.path) == ["files/b"] && report.files == 2)
    }

    /// A download that is interrupted leaves the old files as they were, whatever the server has sent of the new ones.
    @Test(arguments: ServerKind.allCases)
    func anInterruptedDownloadReplacesNothing(_ kind: ServerKind) async throws {
        let server = try await kind.started()
        let folder = try Folder()
        try server.write("a", [UInt8](repeating: 1, count: 20_000_000))
        try folder.write("target/a", [9])
        let client = try server.client()
        var options = FTPTreeOptions()
        options.resumes = true
        options.deletes = true
        options.progress = { progress in
            if progress.count > 1_000_000 { withUnsafeCurrentTask { $0?.cancel() } }
        }
        let download = Task { [options, target = folder.path("target")] in
            try await client.download("files", to: target, options)
        }
        // Continues the shorter file in its place.
        let error = await #expect(throws: StreamError.self) { try await download.value }
        #expect(error?.isCancellation == true)
        let kept = try folder.read("target/a")
        #expect(kept.first == 9 && kept.count > 1_000_000)
        options.progress = nil
        _ = try await client.download("files", to: folder.path("target"), options)
        #expect(try folder.read("target/a") == [9] + [UInt8](repeating: 1, count: 19_999_999))

        try folder.write("other/a", patterned(10))
        options.resumes = false
        options.progress = { progress in
            if progress.count > 1_000_000 { withUnsafeCurrentTask { $0?.cancel() } }
        }
        let replacing = Task { [options, target = folder.path("other")] in
            try await client.download("files", to: target, options)
        }
        await #expect(throws: StreamError.self) { try await replacing.value }
        #expect(try folder.read("other/a") == patterned(10))
    }

    /// Names that lead out of the folder write nothing outside.
    @Test func aTreeStaysInItsFolder() async throws {
        let names = [
            "../up.txt", "/tmp/absolute.txt", "..", ".", "a/b", "", "nul\0nul", String(repeating: "x", count: 300),
        ]
        let listing = names.map { "type=file;size=1; \($0)\r\n" }.joined() + "type=dir; ../dir\r\n"
        let data = try ScriptedServer { connection throws(PeerError) in try connection.send(listing) }
        let dataPort = data.port
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.send("220 Hi.\r\n")
            for reply in ["230 In.", "211-F\r\n MLST type*;size*;\r\n211 End"] {
                try connection.read(until: "\r\n")
                try connection.send(reply + "\r\n")
            }
            try connection.read(until: "\r\n")
            try connection.send("229 Extended (|||\(dataPort)|)\r\n")
            try connection.expect("MLSD tree\r\n")
            try connection.send("150 Here.\r\n226 Done.\r\n")
            try connection.readToEnd()
        }
        let folder = try Folder()
        let client = try FTPClient(url("ftp://127.0.0.1:\(server.port)/"))
        let report = try await client.download("tree", to: folder.path("in"))
        #expect(report.files == 0 && report.directories == 1)
        // The line without a name could not be read.
        #expect(report.skipped.count == 7 && report.skipped.count { $0.reason == .unsafeName } == 6)
        #expect(try FileManager.default.subpathsOfDirectory(atPath: folder.url.path) == ["in"])
    }
}
