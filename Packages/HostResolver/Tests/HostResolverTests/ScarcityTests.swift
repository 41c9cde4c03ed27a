import DNSWire
import Foundation
@_spi(Packages) import HostResolverTesting
import Testing

@testable import HostResolver

/// The process has no descriptors left. Each test has a process for itself.
@Suite struct ScarcityTests {
    /// Calls that make descriptors. The pools of the process are full when this returns.
    private static func calls(of server: LoopbackDNSServer) throws -> [(name: String, call: () throws -> Void)] {
        let resolver = WireResolver(configuration: server.configuration(), hosts: HostsFile(parsing: ""))
        let name = try #require(DNSName("www.example.org"))
        let calls: [(name: String, call: () throws -> Void)] = [
            ("query", { _ = try resolver.records(.a, of: name) }),
            ("route", { _ = try RouteSocket.route(to: .v4(.loopback)) }),
            ("interfaces", { _ = try NetworkSnapshot.current() }),
            ("monitor", { try NetworkMonitor().stop() }),
        ]
        for (_, call) in calls { try call() }
        return calls
    }

    private static func isError(_ number: CInt, _ error: any Error) -> Bool {
        (error as? ResolverError)?.domain == .posix && (error as? ResolverError)?.number == Int(number)
    }

    /// Each call fails with EMFILE, leaves no descriptor open, and works again once there are some.
    @Test func callsFailAndRecover() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackDNSServer { query, _ in .answer(query.answered([.a(.loopback)])) }
            for (name, call) in try ScarcityTests.calls(of: server) {
                let need = try DescriptorLimit.need(of: call) { ScarcityTests.isError(EMFILE, $0) }
                #expect(need.failsWell && (need.count ?? 0) > 0, "\(name): \(need)")
                try call()
            }
        }
    }

    /// Each call fails with ENFILE if the system's table is full, and leaves no descriptor open.
    @Test func theTableOfTheSystemIsFull() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackDNSServer { query, _ in .answer(query.answered([.a(.loopback)])) }
            let calls = try ScarcityTests.calls(of: server)
            let table = try FullFileTable()
            for (name, call) in calls {
                let error = #expect(throws: (any Error).self, "\(name)") { try call() }
                let isScarcity = error.map { ScarcityTests.isError(ENFILE, $0) } ?? false
                #expect(isScarcity && table.isBalanced, "\(name): \(String(describing: error))")
            }
        }
    }

    /// The library of international names is loaded on first use.
    @Test func internationalNamesWorkOnceADescriptorIsFree() async {
        await #expect(processExitsWith: .success) {
            let limit = try DescriptorLimit()
            limit.allow(0)
            let result = Result { () throws(ResolverError) in try HostName("bücher.example") }
            limit.lift()
            let error = #expect(throws: ResolverError.self) { try result.get() }
            #expect(error?.code == .internationalNamesUnavailable)
            #expect(try HostName("bücher.example").ascii == "xn--bcher-kva.example")
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

    /// Other connections of an event loop would wait while it reads a long file.
    @Test func aLongFileIsNotQuickUntilItIsRead() throws {
        let path = "/tmp/netkit-long-\(getpid())"
        defer { unlink(path) }
        let writer = open(path, O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_CLOEXEC, 0o600)
        try #require(writer >= 0)
        defer { close(writer) }
        let file = WatchedFile(path, maximumSize: 1 << 20) { $0.count }
        #expect(file.isQuick && file.value == 0)
        let bytes = [UInt8](repeating: 0, count: WatchedFile<Int>.quickSize)
        #expect(Glibc.write(writer, bytes, bytes.count) == bytes.count)
        #expect(file.isQuick)
        #expect(Glibc.write(writer, bytes, 1) == 1)
        #expect(!file.isQuick)
        #expect(file.value == bytes.count + 1 && file.isQuick)
        #expect(Glibc.write(writer, bytes, 1) == 1)
        #expect(!file.isQuick)
    }
}
