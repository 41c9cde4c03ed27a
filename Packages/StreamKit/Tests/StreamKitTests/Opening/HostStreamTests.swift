import Glibc
import HostResolver
import HostResolverTesting
import StreamKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct HostStreamTests {
    private let resolver = ScriptedResolver()

    /// Connects to the host and checks the address.
    private func connect(_ host: HostLookup, _ listener: Listener) async throws -> StreamPair {
        var properties = StreamProperties()
        properties[.resolver] = resolver
        let pair = StreamPair(host: host, port: try #require(listener.address.port), properties: properties)
        try pair.open()
        try await pair.input.opened()
        #expect(pair[.remoteAddress] == listener.address)
        return pair
    }

    @Test("SK-011, SK-059: an unresolved host is looked up at open") func unresolved() async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        resolver.script("www.example.org", addresses: ["127.0.0.1"])
        let pair = try await connect(HostLookup(name: "www.example.org", resolver: resolver), listener)
        #expect(resolver.requests.count == 1)
        #expect(pair[.remoteHostName] == "www.example.org")
        #expect(pair[.remoteHost]?.names.value == ["www.example.org"])
        #expect(throws: StreamError.self) { try pair.set(.remoteHost, to: nil) }
    }

    @Test("SK-011: a resolved host's addresses are used") func resolved() async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        resolver.script("www.example.org", addresses: ["127.0.0.1"])
        let host = HostLookup(name: "www.example.org", resolver: resolver)
        _ = try await host.addresses()
        let pair = try await connect(host, listener)
        #expect(resolver.requests.count == 1)
        #expect(pair[.remoteHost]?.addresses.value?.map(\.ipAddress) == [IPAddress("127.0.0.1")])
    }

    @Test("SK-011: a host known by address alone") func addressOnly() async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let pair = try await connect(HostLookup(address: .v4(.loopback), resolver: resolver), listener)
        #expect(resolver.requests.isEmpty)
        #expect(pair[.remoteHostName] == nil)
    }

    @Test("SK-061: interface costs, unknown on Linux, are kept and returned") func interfaceCost() async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let pair = StreamPair(address: listener.address)
        defer { pair.close() }
        #expect(pair[.isCellular] == false && pair[.forbidsCellular] == false && pair[.extendsBackgroundIdle] == false)
        #expect(pair[.allowsExpensiveAccess] == true && pair[.allowsConstrainedAccess] == true)
        #expect(pair[.isExpensive] == nil, "unknown before there is a connection")
        for property in [
            StreamProperty<Bool>.forbidsCellular, .extendsBackgroundIdle, .allowsExpensiveAccess,
            .allowsConstrainedAccess,
        ] {
            let other = pair[property] == false
            try pair.set(property, to: other)
            #expect(pair[property] == other)
        }
        for property in [StreamProperty<Bool>.isCellular, .isExpensive] {
            #expect(throws: StreamError.self) { try pair.set(property, to: true) }
        }
        try pair.open()
        try await pair.input.opened()
        #expect(pair[.isExpensive] == false && pair[.isCellular] == false)
    }
}
