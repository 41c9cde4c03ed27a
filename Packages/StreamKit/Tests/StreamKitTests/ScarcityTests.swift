import EventLoops
import Foundation
import HostResolver
@_spi(Packages) import HostResolverTesting
import Testing

@testable import StreamKit
@testable import StreamProxies
@testable import StreamSockets
@testable import StreamTLS

/// The process has no descriptors left. Each test has a process for itself.
@Suite struct ScarcityTests {
    /// Calls that make descriptors, in a folder for their files. The pools of the process are full when this returns.
    private static func calls(in folder: String) throws -> [(name: String, call: () throws -> Void)] {
        mkdir(folder, 0o700)
        let path = folder + "/file"
        try Data("http_proxy=".utf8).write(to: URL(fileURLWithPath: path))
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        let address = try #require(listener.localAddress)
        let port = try #require(address.port)
        try Data(TestAuthority().root.certificate.der).write(to: URL(fileURLWithPath: folder + "/root.der"))
        let trusting = TLSConfiguration()
        var named = TLSConfiguration()
        named.trust = .only(file: folder + "/root.der")
        let socket = try Socket(boundTo: .ip(.v4(.any), port: 0), .datagram)
        let group = try #require(IPAddress("224.0.0.251"))
        func connect(_ pair: StreamPair) throws {
            defer { pair.close() }
            try pair.open()
            try pair.output.opened()
            try listener.tryAccept()?.invalidate()
        }
        let calls: [(name: String, call: () throws -> Void)] = [
            (
                "socketpair",
                {
                    let (one, other) = try Socket.pair()
                    one.invalidate()
                    other.invalidate()
                }
            ),
            ("listener", { try Socket(listeningAt: .ip(.v4(.loopback), port: 0)).invalidate() }),
            ("duplicate", { close(try listener.duplicateDescriptor()) }),
            ("option of an interface", { try socket.set(.multicastInterface, to: "lo") }),
            (
                "group of an interface",
                {
                    try socket.joinGroup(group, interface: "lo")
                    try socket.leaveGroup(group, interface: "lo")
                }
            ),
            ("address", { try connect(StreamPair(address: address)) }),
            ("addresses", { try connect(StreamPair(addresses: [address, address], name: nil)) }),
            ("host", { try connect(StreamPair(host: "localhost", port: port)) }),
            (
                "file to read",
                {
                    let stream = ReadStream(path: path)
                    try stream.open()
                    stream.close()
                }
            ),
            (
                "file to write",
                {
                    let stream = WriteStream(path: path + "2")
                    try stream.open()
                    stream.close()
                }
            ),
            ("proxy settings", { _ = try ProxySettings.file(path) }),
            ("proxy script", { _ = try ProxyScriptProcess(limit: .seconds(60)) }),
            ("system roots", { _ = try TLSContextCache().context(for: trusting) }),
            ("named roots", { _ = try TLSContextCache().context(for: named) }),
        ]
        for (_, call) in calls { try call() }
        return calls
    }

    /// Each call fails with EMFILE, leaves no descriptor open, and works again once there are some.
    @Test func callsFailAndRecover() async {
        await #expect(processExitsWith: .success) {
            let folder = "/tmp/netkit-scarcity-\(getpid())"
            defer { try? FileManager.default.removeItem(atPath: folder) }
            for (name, call) in try ScarcityTests.calls(in: folder) {
                let need = try DescriptorLimit.need(of: call) { ($0 as? StreamError)?.isPOSIX(EMFILE) == true }
                #expect(need.failsWell && (need.count ?? 0) > 0, "\(name): \(need)")
                try call()
            }
        }
    }

    /// Each call fails with ENFILE if the system's table is full, and leaves no descriptor open.
    @Test func theTableOfTheSystemIsFull() async {
        await #expect(processExitsWith: .success) {
            let folder = "/tmp/netkit-full-table-\(getpid())"
            defer { try? FileManager.default.removeItem(atPath: folder) }
            // A duplicate takes no place in the system's table.
            let calls = try ScarcityTests.calls(in: folder).filter { $0.name != "duplicate" }
            let table = try FullFileTable()
            for (name, call) in calls {
                let error = #expect(throws: StreamError.self, "\(name)") { try call() }
                #expect(error?.isPOSIX(ENFILE) == true && table.isBalanced, "\(name): \(String(describing: error))")
            }
        }
    }
}
