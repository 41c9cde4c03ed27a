import Foundation
import Testing

@_spi(Packages) @testable import EventLoops

@Suite struct FileStampTests {
    @Test func aChangeOrAReplacementGivesAnotherStamp() throws {
        let folder = try TemporaryFolder()
        let path = try folder.file("f", "one")
        let first = try #require(FileStamp(path))
        #expect(first == FileStamp(path) && first.size == 3 && !first.isDirectory)
        // Beside it, so that the file system cannot use the inode again.
        try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
        try folder.file("f", "one")
        #expect(FileStamp(path) != first)
        try folder.file("f", "longer")
        #expect(FileStamp(path)?.size == 6)
    }

    @Test func aFolderHasAStampAndAMissingFileHasNone() throws {
        let folder = try TemporaryFolder()
        #expect(FileStamp(folder.path)?.isDirectory == true && FileStamp(folder.path + "/f") == nil)
    }
}
