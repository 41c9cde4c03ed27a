import CFNetwork
import Testing

@testable import CFNetworkEngine

/// CFHost in Swift, as sources for Apple's systems use it. The programs in C test its behaviour.
struct HostTests {
    @Test func sourceAsOnApplesSystems() throws {
        let host = CFHostCreateWithName(nil, "localhost" as CFString).takeRetainedValue()
        var error = CFStreamError()
        try #require(CFHostStartInfoResolution(host, .addresses, &error))
        var isResolved: DarwinBoolean = false
        let addresses = CFHostGetAddressing(host, &isResolved)?.takeUnretainedValue() as NSArray?
        #expect(isResolved.boolValue)
        let first = try #require(addresses?.firstObject as? NSData)
        #expect(first.length == 16 || first.length == 28)
    }

    @Test func objectsAreDeallocated() {
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
