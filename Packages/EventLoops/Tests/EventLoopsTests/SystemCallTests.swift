import Foundation
import Testing

@testable import EventLoops

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
                    errno = ENOSPC
                    return -1
                } == ENOSPC)
        }
    }
}
