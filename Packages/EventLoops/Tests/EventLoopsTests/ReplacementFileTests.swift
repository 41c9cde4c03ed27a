import Foundation
import Glibc
import Testing

@_spi(Packages) @testable import EventLoops

extension EventLoopsTests {
    @Suite struct ReplacementFileTests {
        private let folder: TemporaryFolder
        private var path: String { "\(folder.path)/f" }

        init() throws { folder = try TemporaryFolder() }

        private func replace(isPrivate: Bool = false, whileOpen: () -> Void = {}) throws {
            let replacement = try ReplacementFile(of: path, isPrivate: isPrivate)
            whileOpen()
            try replacement.file.write(Array("new".utf8).span.bytes)
            try replacement.finish()
            #expect(folder.text("f") == "new")
            #expect(folder.names == ["f"])
        }

        @Test func theOldFileStaysUntilTheNewOneIsComplete() throws {
            try folder.file("f")
            try replace { #expect(folder.text("f") == "old" && folder.text("f.part") == "") }
        }

        @Test(arguments: [mode_t(0o600), 0o640, 0o444, 0o755, 0o666])
        func theModeOfAnOwnFileIsKeptFromTheFirstByteOn(_ mode: mode_t) throws {
            try folder.file("f", mode: mode)
            try replace { #expect(folder.mode("f.part") == mode | 0o600) }
            #expect(folder.mode("f") == mode)
        }

        @Test(arguments: [mode_t(0o4755), 0o2755, 0o6777, 0o1777])
        func setIDBitsAreNotKept(_ mode: mode_t) throws {
            try folder.file("f", mode: mode)
            try replace()
            #expect(folder.mode("f") == mode & 0o777)
        }

        @Test(arguments: [(mode_t(0o666), mode_t(0o666)), (0o6777, 0o666), (0o600, 0o600), (0o640, 0o640), (0, 0o600)])
        func aFileOfAnotherUserOnlyTakesPermissionsAway(_ theirs: mode_t, _ expected: mode_t) throws {
            try folder.file("f", mode: theirs)
            let replacement = try ReplacementFile(of: path, user: geteuid() + 1, partialOf: geteuid())
            try replacement.finish()
            let mask = umask(0)
            umask(mask)
            #expect(folder.mode("f") == expected & ~mask)
        }

        /// A file that is discarded late, after it got its name, leaves the partial file of the next transfer alone.
        @Test func onlyTheOwnPartialFileIsDiscarded() throws {
            let first = try ReplacementFile(of: path)
            try first.finish()
            let second = try ReplacementFile(of: path)
            first.discard()
            #expect(folder.names == ["f", "f.part"])
            second.discard()
            #expect(folder.names == ["f"])
        }

        @Test func aPrivateFileIsReadableByItsUserOnly() throws {
            try replace(isPrivate: true)
            #expect(folder.mode("f") == 0o600)
        }

        @Test func aFolderOrLinkGivesNoMode() throws {
            try folder.file("target", mode: 0o777)
            #expect(symlink("target", path) == 0)
            let replacement = try ReplacementFile(of: path, isPrivate: true)
            try replacement.finish()
            #expect(folder.mode("f") == 0o600 && folder.text("target") == "old")
        }

        @Test func aPartialFileIsContinuedIfThereIsOne() throws {
            #expect(throws: WritableFile.Failure.system(ENOENT)) {
                _ = try ReplacementFile(of: path, keepsPartial: true)
            }
            #expect(folder.names.isEmpty)
            try folder.file("f.part", "begun", mode: 0o666)
            let kept = try ReplacementFile(of: path, keepsPartial: true)
            #expect(try kept.file.size() == 5)
            #expect(folder.text("f.part") == "begun")
        }

        @Test func readersOfAnOldPartialFileDoNotSeeTheNewContents() throws {
            let old = try #require(FileHandle(forReadingAtPath: try folder.file("f.part", "begun", mode: 0o666)))
            try replace(isPrivate: true)
            #expect(try old.readToEnd() == Data("begun".utf8))
            #expect(folder.mode("f") == 0o600)
        }

        @Test func aPartialFileThatAnotherUserMadeIsRefused() throws {
            try folder.file("mine")
            #expect(symlink("mine", path + ".part") == 0)
            for keeps in [false, true] {
                #expect(throws: WritableFile.Failure.notRegular) {
                    _ = try ReplacementFile(of: path, keepsPartial: keeps)
                }
            }
            unlink(path + ".part")
            #expect(link("\(folder.path)/mine", path + ".part") == 0)
            #expect(throws: WritableFile.Failure.linked) { _ = try ReplacementFile(of: path) }
            unlink(path + ".part")
            try folder.file("f.part", mode: 0o666)
            #expect(throws: WritableFile.Failure.foreign) {
                _ = try ReplacementFile(of: path, user: geteuid(), partialOf: geteuid() + 1)
            }
            #expect(folder.text("f.part") == "old" && folder.text("mine") == "old")
        }

        @Test func oneTransferWritesAtATime() throws {
            let first = try ReplacementFile(of: path)
            for keeps in [false, true] {
                #expect(throws: WritableFile.Failure.busy) { _ = try ReplacementFile(of: path, keepsPartial: keeps) }
            }
            try first.file.write(Array("first".utf8).span.bytes)
            try first.finish()
            try withExtendedLifetime(first) { try replace() }
        }

        /// The locks that a user without permission to write the partial file can hold.
        @Test(arguments: [LOCK_EX, LOCK_SH, nil]) func aReaderDoesNotHoldUpATransfer(_ lock: CInt?) throws {
            try folder.file("f.part", "begun", mode: 0o644)
            let reader = try #require(FileHandle(forReadingAtPath: path + ".part"))
            if let lock {
                #expect(flock(reader.fileDescriptor, lock | LOCK_NB) == 0)
            } else {
                var lock = Glibc.flock()
                lock.l_type = Int16(F_RDLCK)
                #expect(fcntl(reader.fileDescriptor, WritableFile.setLock, &lock) == 0)
            }
            try withExtendedLifetime(reader) {
                for keeps in [true, false] { _ = try ReplacementFile(of: path, keepsPartial: keeps) }
            }
        }

        @Test func anExistingFileIsNotReplacedUnderAnotherName() throws {
            try folder.file("f")
            let replacement = try ReplacementFile(of: path)
            #expect(throws: WritableFile.Failure.system(EEXIST)) { try replacement.finish(as: path) }
            try replacement.finish(as: path + ".1")
            #expect(folder.names == ["f", "f.1"] && folder.text("f") == "old")
        }

        @Test func aDiscardedFileLeavesNothing() throws {
            try ReplacementFile(of: path).discard()
            #expect(folder.names.isEmpty)
        }
    }
}
