import Foundation
import Testing

@_spi(Packages) @testable import EventLoops

extension EventLoopsTests {
    @Suite struct SystemCallTests {
        @Test(arguments: [0, 7])
        func anInterruptedCallIsRepeated(_ result: Int) {
            var calls = 0
            let count = SystemCall.retrying { () -> Int in
                calls += 1
                errno = EINTR
                return calls < 4 ? -1 : result
            }
            #expect(count == result && calls == 4)
        }

        @Test func anotherFailureIsTheResult() {
            var calls = 0
            let count = SystemCall.retrying { () -> Int in
                calls += 1
                errno = EIO
                return -1
            }
            #expect(count == -1 && calls == 1 && errno == EIO)
        }

        @Test func allBytesAreWritten() {
            var written: [UInt8] = []
            var offsets: [Int] = []
            let failure = SystemCall.writing(all: Array("0123456789".utf8).span.bytes) { rest, offset in
                offsets.append(offset)
                if offsets.count == 2 {
                    errno = EINTR
                    return -1
                }
                written += rest.prefix(4)
                return min(4, rest.count)
            }
            #expect(failure == nil && written == Array("0123456789".utf8) && offsets == [0, 4, 4, 8])
            #expect(
                SystemCall.writing(all: written.span.bytes) { _, _ in
                    errno = EIO
                    return -1
                } == EIO)
        }

        /// A file system in user space may accept no byte and report no error.
        @Test func aCallThatAcceptsNothingIsAFailure() {
            var calls = 0
            let failure = SystemCall.writing(all: [1, 2].span.bytes) { _, _ in
                calls += 1
                return 0
            }
            #expect(failure == ENOSPC && calls == 1)
        }

        @Test func piecesAreReadUntilThereAreEnough() throws {
            var calls = 0
            let bytes = try SystemCall.reading(upTo: 5) { rest in
                calls += 1
                if calls == 2 {
                    errno = EINTR
                    return -1
                }
                let count = min(2, rest.count)
                for index in 0..<count { rest[index] = UInt8(calls) }
                return count
            }
            #expect(bytes == [1, 1, 3, 3, 4])
        }

        @Test func readingEndsWithTheFileOrAFailure() throws {
            var results = [3, 0]
            #expect(try SystemCall.reading(upTo: 5) { _ in results.removeFirst() }.count == 3)
            results = [3, -1]
            #expect(throws: SystemCall.Failure(number: EIO)) {
                try SystemCall.reading(upTo: 5) { _ in
                    errno = EIO
                    return results.removeFirst()
                }
            }
        }

        /// The size of a file of the kernel is 0.
        @Test func theBeginningOfAFileIsRead() throws {
            let folder = try TemporaryFolder()
            let long = String(repeating: "0123456789", count: 20_000)
            let path = try folder.file("f", long)
            #expect(try SystemCall.contents(of: path) == Array(long.utf8))
            #expect(try SystemCall.contents(of: path, limit: 100_003) == Array(long.utf8.prefix(100_003)))
            #expect(try !SystemCall.contents(of: "/proc/self/status").isEmpty)
            #expect(throws: SystemCall.Failure(number: ENOENT)) { try SystemCall.contents(of: path + "-missing") }
        }

        /// The kernel tells the bytes of a file that was just written, or that it cannot tell.
        @Test func whatIsInMemoryNeedsNoDisk() throws {
            let folder = try TemporaryFolder()
            let descriptor = open(try folder.file("f", "0123456789"), O_RDWR | O_CLOEXEC)
            defer { close(descriptor) }
            let unknown = [-Int(EAGAIN), -Int(EOPNOTSUPP), -Int(EINVAL), -Int(ENOSYS)]
            var bytes = [UInt8](repeating: 0, count: 4)
            let read = bytes.withUnsafeMutableBytes { SystemCall.readCached(descriptor, into: $0, at: 3) }
            #expect(unknown.contains(read) || read == 4 && bytes == Array("3456".utf8))
            let written = Array("ab".utf8).withUnsafeBytes { SystemCall.writeCached(descriptor, $0, at: 1) }
            #expect(unknown.contains(written) || written == 2 && folder.text("f") == "0ab3456789")
            #expect(bytes.withUnsafeMutableBytes { SystemCall.readCached(-1, into: $0, at: 0) } == -Int(EBADF))
        }
    }
}
