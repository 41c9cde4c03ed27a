import CFNetwork
import Testing

@testable import CFNetworkEngine

// CFHost in Swift, as sources for Apple's systems use it; in the suite whose programs count the sockets of the process,
// because a lookup may open one. The programs in C test the behaviour of CFHost.
extension ProgramsTests {
    @Test func hostsInSwift() throws {
        let host = CFHostCreateWithName(nil, "localhost" as CFString).takeRetainedValue()
        var error = CFStreamError()
        try #require(CFHostStartInfoResolution(host, .addresses, &error))
        var isResolved: DarwinBoolean = false
        let addresses = CFHostGetAddressing(host, &isResolved)?.takeUnretainedValue() as NSArray?
        #expect(isResolved.boolValue)
        let first = try #require(addresses?.firstObject as? NSData)
        #expect(first.length == 16 || first.length == 28)
    }

    @Test func hostsAreDeallocated() {
        weak var gone: HostState?
        do {
            let host = CFHostCreateWithName(nil, "localhost" as CFString).takeRetainedValue()
            gone = state(of: host)
            let isSet = CFHostSetClient(host, { _, _, _, _ in }, nil)
            #expect(isSet)
            #expect(CFHostStartInfoResolution(host, .names, nil) && gone != nil)
        }
        #expect(gone == nil)
    }
}
