import HTTPStreamTesting
import StreamKit
import StreamKitTesting
import Testing

@testable import HTTPStream

@Suite(.timeLimit(.minutes(5))) struct ServerReloadTests {
    @Test func aReloadedConfigurationOffersHTTP() async throws {
        var configuration = HTTPServer.Configuration.patient
        configuration.connections.tls = try TestIdentity.server()
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        let port = try #require(server.port)
        let running = Task { try await server.run { exchange in try await exchange.respond(.ok) } }
        var protocols: [String?] = []
        for version in [TLSVersion.tls13, .tls12] {
            var client = try TestIdentity.trusted()
            client.applicationProtocols = ["http/1.1"]
            let pair = StreamPair(host: "127.0.0.1", port: port)
            try pair.set(.tls, to: client)
            try pair.open()
            try await pair.output.opened()
            protocols.append(pair[.tlsInformation]?.applicationProtocol)
            #expect(pair[.tlsInformation]?.version == version)
            pair.close()
            var next = try TestIdentity.server()
            next.maximumVersion = .tls12
            try await server.reload(tls: next)
        }
        #expect(protocols == ["http/1.1", "http/1.1"])
        server.stop(within: .zero)
        try await running.value
    }
}
