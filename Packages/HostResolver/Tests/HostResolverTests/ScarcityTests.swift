import DNSWire
import Foundation
import HostResolverTesting
import Testing

@testable import HostResolver

/// The process has no descriptors left. Each test has a process for itself.
@Suite struct ScarcityTests {
    /// Each call that makes a descriptor fails with EMFILE, leaves none open, and works again once there are some.
    @Test func callsFailAndRecover() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackDNSServer { query, _ in .answer(query.answered([.a(.loopback)])) }
            let resolver = WireResolver(configuration: server.configuration(), hosts: HostsFile(parsing: ""))
            let name = try #require(DNSName("www.example.org"))
            let calls: [(name: String, call: () throws -> Void)] = [
                ("query", { _ = try resolver.records(.a, of: name) }),
                ("route", { _ = try RouteSocket.route(to: .v4(.loopback)) }),
                ("interfaces", { _ = try NetworkSnapshot.current() }),
                ("monitor", { try NetworkMonitor().stop() }),
            ]
            for (name, call) in calls {
                try call()  // fills the pools of the process
                let need = try DescriptorLimit.need(of: call) { error in
                    (error as? ResolverError)?.domain == .posix && (error as? ResolverError)?.number == Int(EMFILE)
                }
                #expect(need.failsWell && (need.count ?? 0) > 0, "\(name): \(need)")
                try call()
            }
        }
    }

    /// A configuration file that cannot be read just now is not an empty one.
    @Test func theLastKnownConfigurationStays() async {
        await #expect(processExitsWith: .success) {
            let path = "/tmp/netkit-scarcity-\(getpid())"
            defer { unlink(path) }
            let writer = open(path, O_CREAT | O_EXCL | O_WRONLY | O_APPEND, 0o600)
            Glibc.write(writer, "a", 1)
            let (known, unknown) = (WatchedFile(path, maximumSize: 9) { $0 }, WatchedFile(path, maximumSize: 9) { $0 })
            #expect(known.value == Array("a".utf8))
            let limit = try DescriptorLimit()
            limit.allow(0)
            Glibc.write(writer, "b", 1)
            #expect(known.value == Array("a".utf8) && unknown.value == [])
            limit.lift()
            #expect(known.value == Array("ab".utf8) && unknown.value == Array("ab".utf8))
            unlink(path)
            #expect(known.value == [])
        }
    }
}
