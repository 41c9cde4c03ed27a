import Foundation
import Synchronization
import Testing

@_spi(Packages) @testable import EventLoops

@Suite struct LateValueTests {
    @Test func aFinalValueIsMadeOnce() {
        let count = Atomic(0)
        let late = LateValue { (count.add(1, ordering: .relaxed).newValue, true) }
        #expect(count.load(ordering: .relaxed) == 0)
        #expect(late.value == 1 && late.value == 1)
    }

    @Test func aValueThatIsNotFinalIsMadeAgain() {
        let count = Atomic(0)
        let late = LateValue { () -> (Int, Bool) in
            let number = count.add(1, ordering: .relaxed).newValue
            return (number, number == 3)
        }
        #expect((0..<4).map { _ in late.value } == [1, 2, 3, 3] as [Int])
    }

    @Test func aMissingLibraryIsLookedForOnce() {
        let count = Atomic(0)
        let late = LateValue(library: "libnetkit-missing.so.1") { handle, reason in
            count.add(1, ordering: .relaxed)
            return handle == nil ? reason : "loaded"
        }
        let reason = "libnetkit-missing.so.1: cannot open shared object file: No such file or directory"
        for _ in 0..<2 { #expect(late.value == reason) }
        #expect(count.load(ordering: .relaxed) == 1)
    }

    /// glibc's own library, which no program needs any more, so that none has loaded it.
    @Test func aLibraryIsLoadedOnceADescriptorIsFree() async {
        await #expect(processExitsWith: .success) {
            guard let table = DescriptorTable() else { exit(2) }
            let late = LateValue(library: "libBrokenLocale.so.1") { $0 == nil ? $1 : "loaded" }
            table.limit(to: 0)
            let reason = "libBrokenLocale.so.1: cannot open shared object file: Too many open files"
            let isRefused = late.value == reason
            table.restore()
            exit(isRefused && late.value == "loaded" ? 0 : 3)
        }
    }
}

/// The process has no descriptors left. Each test has a process for itself.
@Suite struct FileScarcityTests {
    /// How calls fail that open files: nil if they succeed.
    private static func failures(in folder: String) -> [WritableFile.Failure?] {
        func failure(_ call: () throws -> Void) -> WritableFile.Failure? {
            do { try call() } catch { return error as? WritableFile.Failure }
            return nil
        }
        return [
            failure { _ = try WritableFile(folder + "/present", opening: .existing) },
            failure { _ = try WritableFile(folder + "/new", opening: .new) },
            failure { _ = try ReplacementFile(of: folder + "/present") },
        ]
    }

    @Test func filesFailAndRecover() async {
        await #expect(processExitsWith: .success) {
            let folder = "/tmp/netkit-files-\(getpid())"
            mkdir(folder, 0o700)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            // A WritableFile that ends in a task is closed later, by another thread: that would free a descriptor of the table.
            close(creat(folder + "/present", 0o600))
            guard let table = DescriptorTable() else { exit(2) }
            table.limit(to: 0)
            let failures = FileScarcityTests.failures(in: folder)
            table.restore()
            #expect(failures == Array(repeating: .system(EMFILE), count: 3))
            #expect(FileScarcityTests.failures(in: folder) == [nil, nil, nil])
        }
    }

    /// A second point at the same descriptor is watched by a duplicate.
    @Test func aDuplicateFailsAndRecovers() async {
        await #expect(processExitsWith: .success) {
            var pipes: [CInt] = [0, 0]
            guard pipe(&pipes) == 0 else { exit(2) }
            let loop = EventLoop.forTest("duplicate")
            let points = (0..<2).map { _ in WaitPoint(descriptor: pipes[0], ownership: .borrowed, loop: loop) }
            let watchers = [Watcher(), Watcher()]
            #expect(points[0].watch(.reader, for: .readable, with: watchers[0]) == nil)
            guard let table = DescriptorTable() else { exit(2) }
            table.limit(to: 0)
            let refused = points[1].watch(.reader, for: .readable, with: watchers[1])
            table.restore()
            #expect(refused == .failed(EMFILE))
            #expect(points[1].watch(.reader, for: .readable, with: watchers[1]) == nil)
        }
    }
}
