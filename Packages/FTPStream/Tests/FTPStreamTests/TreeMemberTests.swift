import Foundation
import Glibc
import Testing

@_spi(Packages) @testable import FTPStream

/// One odd member of a tree: a line, a reply or a folder costs itself, and no other file.
extension TreeTests {
    /// A number after a time belongs to the name if the listing has a year in place of a time. Without such a line, it is read by a guess,
    /// for which nothing is deleted.
    @Test func aYearAfterATimeInAMirror() async throws {
        let line = Self.line("2023 Budget.xls").replacing("Mar  4  2019", with: "Jun 28 19:50")
        let (server, client) = try client(["d": line + Self.line("a"), "one": line])
        let folder = try Folder()
        try folder.write("2023 Budget.xls", "precious")
        let report = try await client.download("d", to: folder.path, options { $0.deletes = true })
        #expect(folder.names == ["2023 Budget.xls", "a"] && report.deleted == 0 && report.skippedCount == 0)
        #expect(server.commands.contains("RETR d/2023 Budget.xls"))
        let guess = try await client.download("one", to: folder.path, options { $0.deletes = true })
        #expect(folder.names == ["2023 Budget.xls", "Budget.xls", "a"] && guess.deleted == 0)
        #expect(guess.skipped == [.init(path: "one", reason: .guessedLine(String(line.dropLast())))])
        var names: [String] = []
        for try await entry in client.entries("one") { names.append(entry.name) }
        #expect(names == ["Budget.xls"])
    }

    /// A reply to MDTM without a date costs the date.
    @Test(arguments: [
        ("213 20190304050607", 0), ("213 20190304050607 a", 0), ("213 190304050607", 1), ("213 ", 1), ("250 Fine.", 1),
        ("what?", 1),
    ])
    func aDateThatCannotBeRead(_ reply: String, _ lost: Int) async throws {
        let server = try CommandServer { line in
            line == "MDTM d/a" ? reply : line.hasPrefix("MDTM") ? "213 20190304050607" : nil
        } contents: { line in
            Array((line.hasPrefix("LIST") ? Self.line("a") + Self.line("b") : "hello").utf8)
        }
        let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
        let folder = try Folder()
        let report = try await client.download(
            "d", to: folder.path,
            options {
                $0.keepsDates = true
                $0.onlyNewer = true
            })
        #expect(report.files == 2 && report.datesLost == lost && report.skippedCount == 0)
        #expect(folder.text("a") == "hello" && folder.text("b") == "hello")
    }

    /// A reply that cannot be read, and a line of a listing that is too long, cost the file or directory; many in a row end the transfer.
    @Test(arguments: [(1, "227 what?"), (1, "what?"), (100, "227 what?")])
    func aReplyThatCannotBeRead(_ count: Int, _ reply: String) async throws {
        let lists = Locked(0)
        let odd = Locked(0)
        let names = (0..<20).map { "f\($0)" }
        let server = try CommandServer { line in
            if line.hasPrefix("LIST") { lists.withLock { $0 += 1 } }
            guard line.hasPrefix("PASV") || line.hasPrefix("EPSV"), lists.withLock({ $0 }) == 1 else { return nil }
            if line.hasPrefix("EPSV") { return odd.withLock { $0 } < count ? "500 Unknown." : nil }
            odd.withLock { $0 += 1 }
            return reply
        } contents: { line in
            Array((line.hasPrefix("LIST") ? names.map { Self.line($0) }.joined() : "hello").utf8)
        }
        let client = try FTPClient(try #require(URL(string: "ftp://127.0.0.1:\(server.port)/")))
        let folder = try Folder()
        guard count == 1 else {
            await #expect(throws: StreamError.self) { try await client.download("d", to: folder.path) }
            return #expect(odd.withLock { $0 } == TreeTransfer.maximumBroken)
        }
        let report = try await client.download("d", to: folder.path)
        #expect(report.files == 19 && report.skipped.map(\.path) == ["d/f0"])
    }

    @Test func aFolderWithALineThatIsTooLong() async throws {
        let long = Self.line(String(repeating: "x", count: 20_000))
        let listing = Self.line("sub", mode: "drwxr-xr-x") + Self.line("other", mode: "drwxr-xr-x") + Self.line("a")
        let (server, client) = try client(["d": listing, "d/sub": long, "d/other": Self.line("b")])
        let folder = try Folder()
        mkdir(folder.path + "/sub", 0o755)
        try folder.write("sub/old", "precious")
        let report = try await client.download("d", to: folder.path, options { $0.deletes = true })
        #expect(report.files == 2 && report.skipped.map(\.path) == ["d/sub"] && folder.text("sub/old") == "precious")
        withExtendedLifetime(server) {}
    }
}
