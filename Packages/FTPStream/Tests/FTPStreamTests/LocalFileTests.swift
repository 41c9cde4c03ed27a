import Foundation
import Glibc
import Testing

@testable import FTPStream

/// The local files and folders of trees: what they refuse, and the reasons that they give.
struct LocalFileTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())").path

    private func withFolder(_ body: () throws -> Void) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body()
    }

    private func failure(_ body: () throws(StreamError) -> Void) -> StreamError? {
        do throws(StreamError) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    @Test func linksAndSpecialFilesAreCalledThat() throws {
        try withFolder {
            try "x".write(toFile: folder + "/target", atomically: false, encoding: .utf8)
            symlink(folder + "/target", folder + "/link")
            mkfifo(folder + "/pipe", 0o600)
            for name in ["link", "pipe"] {
                let path = "\(folder)/\(name)"
                let writing = failure { () throws(StreamError) in _ = try LocalFile(writing: path, keeping: 0) }
                #expect(writing?.sentence.key == "ftp.file.special", "\(String(describing: writing))")
                #expect(writing?.description == "The file \(path) cannot be written: it is a link or a special file.")
            }
            let reading = failure { () throws(StreamError) in
                _ = try LocalFile(reading: folder + "/link", from: 0)
            }
            #expect(reading?.sentence.key == "ftp.fileUnread.special")
            let own = failure { () throws(StreamError) in try LocalFolder.make(folder + "/link", isRoot: false) }
            #expect(own?.sentence.key == "ftp.folder.special" && own?.isPOSIX(ENOTDIR) == true)
            #expect(try String(contentsOfFile: folder + "/target", encoding: .utf8) == "x")
        }
    }

    @Test func otherFailuresHaveTheSystemsReason() throws {
        try withFolder {
            let cases: [(String, Int32)] = [("/x/y", ENOENT), ("", EISDIR)]
            for (suffix, number) in cases {
                let error = failure { () throws(StreamError) in _ = try LocalFile(writing: folder + suffix, keeping: 0)
                }
                #expect(error?.isPOSIX(number) == true && error?.sentence.key == "ftp.file")
                let reason = String(cString: strerror(number))
                #expect(error?.description == "The file \(folder)\(suffix) cannot be written: \(reason).")
            }
            try "x".write(toFile: folder + "/file", atomically: false, encoding: .utf8)
            let made = failure { () throws(StreamError) in try LocalFolder.make(folder + "/file", isRoot: false) }
            #expect(made?.isPOSIX(ENOTDIR) == true && made?.sentence.key == "ftp.folder")
        }
    }
}
