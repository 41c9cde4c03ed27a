@_spi(Packages) import EventLoops
import Foundation
import Testing

extension EventLoopsTests {
    @Suite struct DescriptorReserveTests {
        /// A service may run without a standard error.
        @Test func theReserveIsNoticedWithoutAStandardError() async {
            await #expect(processExitsWith: .success) {
                var limit = rlimit()
                getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                limit.rlim_cur = 120  // of which 30 are in reserve
                guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { exit(1) }
                let isTouchedAtFirst = DescriptorReserve.isTouched
                close(STDERR_FILENO)
                let file = open("/dev/null", O_RDONLY)
                var last = file
                while last >= 0, last < 95 { last = dup(file) }
                // The lowest free descriptor is 2 if /dev/null has not taken it.
                close(last)
                if isTouchedAtFirst || !DescriptorReserve.isTouched { exit(2) }
            }
        }
    }
}
