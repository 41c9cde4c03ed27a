import DNSServiceC
import Glibc
import Testing

@testable import ServiceDiscovery

/// A process that is forked after the first operation.
struct ForkTests {
    /// The functions return in the other process, although it has no engine.
    @Test func functionsAreRefusedInAForkedProcess() throws {
        var reference: DNSServiceRef?
        #expect(DNSServiceCreateConnection(&reference) == 0 && DNSServiceRefSockFD(reference) >= 0)
        defer { DNSServiceRefDeallocate(reference) }
        // Swift does not offer fork(2), after which little is allowed.
        let address = try #require(dlsym(nil, "fork"))
        let fork = unsafeBitCast(address, to: (@convention(c) () -> pid_t).self)
        let child = fork()
        if child == 0 {
            alarm(60)  // ends a process that hangs
            _exit(Self.firstFailure(reference))
        }
        try #require(child > 0)
        var status: CInt = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        #expect(status == 0, "the function \(status >> 8) did not fail, or the signal \(status & 127) ended it")
        // This process is not affected.
        #expect(DNSServiceRefSockFD(reference) >= 0)
    }

    /// The number of the first function that does not fail as it should; 0 if there is none.
    private static func firstFailure(_ reference: DNSServiceRef?) -> CInt {
        let expected = DNSServiceErrorType(kDNSServiceErr_ServiceNotRunning)
        var other: DNSServiceRef?
        if DNSServiceProcessResult(reference) != expected { return 1 }
        if DNSServiceRefSockFD(reference) != -1 { return 2 }
        if DNSServiceCreateConnection(&other) != expected || other != nil { return 3 }
        if DNSServiceUpdateRecord(reference, nil, 0, 0, nil, 0) != expected { return 4 }
        if DNSServiceRegister(&other, 0, 0, nil, "_http._tcp", nil, nil, 0, 0, nil, nil, nil) != expected { return 5 }
        if DNSServiceReconfirmRecord(0, 0, "a.local", 1, 1, 0, nil) != expected { return 6 }
        DNSServiceRefDeallocate(reference)
        return 0
    }

    /// The process that publishes says goodbye, and no other one does.
    @Test func goodbyesAreThoseOfTheProcess() {
        let engine = EmbeddedEngine(interfaces: ["lo"])
        GoodbyeAtExit.add(engine)
        #expect(GoodbyeAtExit.publishing(in: getpid()).contains { $0 === engine })
        #expect(GoodbyeAtExit.publishing(in: getpid() + 1).isEmpty)
    }
}
