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
}
