import Foundation
import Glibc
import Synchronization
import Testing

@_spi(Packages) @testable import EventLoops

/// A folder that is removed with its contents.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/netkit-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file with a mode; returns its path.
    @discardableResult
    func file(_ name: String, _ text: String = "old", mode: mode_t = 0o644) throws -> String {
        let path = "\(path)/\(name)"
        try Data(text.utf8).write(to: URL(filePath: path))
        #expect(chmod(path, mode) == 0)
        return path
    }

    func text(_ name: String) -> String? {
        (try? Data(contentsOf: URL(filePath: "\(path)/\(name)"))).map { String(decoding: $0, as: UTF8.self) }
    }

    func mode(_ name: String) -> mode_t? {
        // Not `stat`: the compiler finds that structure in one of several modules, as it happens.
        let attributes = try? FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
        return (attributes?[.posixPermissions] as? NSNumber).map { mode_t($0.uint32Value) & 0o7777 }
    }

    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}

extension EventLoopsTests {
    @Suite struct WritableFileTests {
        private let folder: TemporaryFolder

        init() throws { folder = try TemporaryFolder() }

        @Test func aNewFileIsCreatedOnce() throws {
            let path = "\(folder.path)/new"
            let file = try WritableFile(path, opening: .new, permissions: 0o600)
            #expect(file.isNew)
            try file.write(Array("abc".utf8).span.bytes)
            try file.write(Array("X".utf8).span.bytes, at: 1)
            #expect(folder.text("new") == "aXc" && folder.mode("new") == 0o600)
            #expect(throws: WritableFile.Failure.system(EEXIST)) { _ = try WritableFile(path, opening: .new) }
        }

        /// Threads that continue together: the race between them has a few microseconds.
        private final class Start: Sendable {
            private let count = Atomic(0)

            func wait() {
                count.add(1, ordering: .relaxed)
                while count.load(ordering: .relaxed) < 2 {}
            }
        }

        /// Each of several programs that find no file may be the one that creates it.
        @Test func aFileThatAppearsMeanwhileIsOpened() async throws {
            for round in 0..<200 {
                let path = "\(folder.path)/\(round)"
                let start = Start()
                let open = { @Sendable () -> Result<Bool, WritableFile.Failure> in
                    start.wait()
                    return Result { () throws(WritableFile.Failure) in try WritableFile(path).isNew }
                }
                async let first = onThread(open)
                async let second = onThread(open)
                let created = [try await first.get(), try await second.get()]
                #expect(created.filter(\.self).count == 1)
            }
        }

        @Test func oneObjectHoldsTheLock() throws {
            let path = try folder.file("log")
            let (first, second) = (try WritableFile(path), try WritableFile(path))
            #expect(try first.lock() == .locked)
            #expect(throws: WritableFile.Failure.busy) { try second.lock() }
            first.unlock()
            #expect(try second.lock() == .locked)
            #expect(throws: WritableFile.Failure.busy) { try first.lock() }
            // A reader's lock does not keep the owner from writing, but the file is not locked then.
            second.unlock()
            let reader = open(path, O_RDONLY | O_CLOEXEC)
            defer { close(reader) }
            var lock = flock()
            lock.l_type = Int16(F_RDLCK)
            #expect(fcntl(reader, WritableFile.setLock, &lock) == 0)
            #expect(try first.lock() == .unavailable)
        }

        /// On a network file system, a signal may interrupt the call.
        @Test func anInterruptedLockIsTriedAgain() throws {
            let path = try folder.file("log")
            let (first, second) = (try WritableFile(path), try WritableFile(path))
            var calls = 0
            let interrupted: WritableFile.Control = { descriptor, command, lock in
                calls += 1
                errno = EINTR
                return calls % 2 == 1 ? -1 : fcntl(descriptor, command, lock)
            }
            #expect(try first.lock(interrupted) == .locked && calls == 2)
            #expect(throws: WritableFile.Failure.busy) { try second.lock(interrupted) }
            #expect(calls == 6)
            // The usual answer of a server without locks.
            first.unlock()
            let without: WritableFile.Control = { _, _, _ in
                errno = ENOLCK
                return -1
            }
            #expect(try second.lock(without) == .unavailable)
        }

        @Test func anExistingFileKeepsItsContents() throws {
            let path = try folder.file("log", "one ")
            let file = try WritableFile(path, appends: true)
            #expect(!file.isNew)
            #expect(try file.size() == 4)
            try file.write(Array("two".utf8).span.bytes)
            #expect(folder.text("log") == "one two")
            try file.truncate(to: 3)
            #expect(folder.text("log") == "one")
            #expect(throws: WritableFile.Failure.system(ENOENT)) {
                _ = try WritableFile("\(folder.path)/none", opening: .existing)
            }
        }

        @Test(arguments: [WritableFile.Opening.new, .existing, .any])
        func whatAnotherUserCanPrepareIsRefused(_ opening: WritableFile.Opening) throws {
            try folder.file("mine")
            let path = folder.path
            #expect(link("\(path)/mine", "\(path)/second") == 0)
            #expect(symlink("mine", "\(path)/link") == 0)
            #expect(symlink("nowhere", "\(path)/dangling") == 0)
            #expect(mkfifo("\(path)/pipe", 0o600) == 0)
            #expect(mkdir("\(path)/folder", 0o700) == 0)
            let cases: [(String, WritableFile.Failure)] = [
                ("second", .linked), ("link", .notRegular), ("dangling", .notRegular), ("pipe", .notRegular),
                ("folder", .notRegular),
            ]
            for (name, failure) in cases {
                #expect(throws: opening == .new ? .system(EEXIST) : failure, "\(name)") {
                    _ = try WritableFile("\(path)/\(name)", opening: opening)
                }
            }
            #expect(folder.text("mine") == "old")
            #expect(!folder.names.contains("nowhere"))
        }

        @Test func aFileOfAnotherUserIsRefused() throws {
            let path = try folder.file("theirs", mode: 0o666)
            #expect(throws: WritableFile.Failure.foreign) {
                _ = try WritableFile(path, nil, .any, 0o666, user: geteuid() + 1)
            }
        }

        @Test func aPathMayBelongToAnOpenFolder() throws {
            let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            defer { close(descriptor) }
            _ = try WritableFile("name", in: descriptor)
            #expect(folder.names == ["name"])
        }

        @Test func theDateIsSet() throws {
            let file = try WritableFile("\(folder.path)/dated")
            #expect(file.setDate(1_000_000))
            let date = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/dated")[.modificationDate]
            #expect(date as? Date == Date(timeIntervalSince1970: 1_000_000))
        }

        @Test func failuresNameTheFileAndTheRemedy() {
            #expect(
                "\(WritableFile.Failure.foreign.sentence("/tmp/x"))".contains("/tmp/x cannot be written: it belongs"))
            #expect(WritableFile.Failure.system(ENOSPC).number == ENOSPC)
        }
    }
}
