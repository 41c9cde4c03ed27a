import Glibc
import Testing

@_spi(Compression) @testable import HTTPStream

/// What the system has is found out on first use, when the process may have no descriptors left. The test has a process for itself.
@Suite struct LibraryScarcityTests {
    @Test func librariesAndListsAreFoundOnceADescriptorIsFree() async {
        await #expect(processExitsWith: .success) {
            func found() -> [Bool] {
                [
                    (try? Zlib(inflating: .gzip)) != nil, Brotli.isAvailable, Zstandard.isAvailable,
                    HTTPCookies.knowsPublicSuffixes,
                ]
            }
            // Another library may need it.
            let hasZlib = dlopen("libz.so.1", RTLD_NOW | RTLD_NOLOAD) != nil
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let count = limit.rlim_cur
            limit.rlim_cur = 0
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let early = found()
            limit.rlim_cur = count
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            #expect(early == [hasZlib, false, false, false])
            #expect(found() == [true, true, true, true])
        }
    }
}
