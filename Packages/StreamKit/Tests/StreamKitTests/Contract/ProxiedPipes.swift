import EventLoops
import HostResolver
import StreamKit
import StreamKitTesting
import Testing

extension PipeKind {
    private static let authority = SharedAuthority()

    /// A connection opened through a proxy, which then acts as the target itself.
    func proxied(isSecured: Bool = false) async throws -> BytePipe {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let near = StreamPair(host: "www.example.org", port: 80)
        try near.set(.socksProxy, to: SOCKSProxy(host: "127.0.0.1", port: try #require(listener.address.port)))
        if isSecured { try near.set(.tls, to: Self.authority.client) }
        try near.open()
        let far = StreamPair(
            descriptor: try await onThread {
                let connection = FakeConnection(try listener.accept())
                defer { connection.close() }
                try connection.acceptSOCKS()
                return connection.duplicate()
            }, ownership: .owned)
        if isSecured {
            try far.set(.tls, to: Self.authority.server)
            try far.open()
        }
        try await near.input.opened()
        return BytePipe(reader: near, writer: far, companions: [listener])
    }
}
