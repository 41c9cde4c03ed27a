import Foundation
import HTTPMessage
import HostResolver
import NetKit
import Peers
import StreamKit
import Testing

/// Connections that lead elsewhere than to the host of the URL (`http(\.endpoints)`).
struct EndpointTests {
    @Test func aUnixSocket() async throws {
        let nginx = try SharedNginx.get()
        for (scheme, listener) in [("http", HTTPListener.plain), ("https", .tls)] {
            let address = try UnixSocketAddress(path: nginx.socket(listener))
            let loaded = try await get("\(scheme)://localhost/request") { stream in
                try stream.set(.http(\.endpoints), to: HTTPEndpoints(others: .unixSocket(address)))
                try stream.set(.tls, to: scheme == "https" ? try trustingPeers() : nil)
            }
            #expect(loaded.error == nil)
            #expect(loaded.text.contains("host=localhost\n"))
        }
    }

    /// The name of the certificate and `Host` are those of the URL.
    @Test func anotherHost() async throws {
        let nginx = try SharedNginx.get()
        let port = UInt16(nginx.port(.tls))
        let origin = try HTTPOrigin(#require(URL(string: "https://localhost:4433")))
        let loopback = [SocketAddress.ip(.v4(.loopback), port: port)]
        for endpoint in [HTTPEndpoint.host("127.0.0.1", port: port), .addresses(loopback)] {
            let loaded = try await get("https://localhost:4433/request") { stream in
                try stream.set(.http(\.endpoints), to: HTTPEndpoints([origin: endpoint]))
                try stream.set(.tls, to: try trustingPeers())
            }
            #expect(loaded.error == nil && loaded.text.contains("host=localhost:4433\n"))
            #expect(loaded.stream[.tlsInformation]?.isVerified == true)
            // The name is checked, so an endpoint cannot be anyone's.
            let other = try await get("https://example.org/") { stream in
                try stream.set(.http(\.endpoints), to: HTTPEndpoints(others: endpoint))
                try stream.set(.tls, to: try trustingPeers())
            }
            #expect(other.error?.tlsFailure == .hostNameMismatch)
        }
    }

    /// The table also applies to redirects, by origin, and proxies are used for the other origins only.
    @Test func redirectsAndProxies() async throws {
        let nginx = try SharedNginx.get()
        var proxies = ProxySettings()
        proxies.others = [try ProxyServer("http://127.0.0.1:1")]
        proxies.bypassesLoopback = false
        var configuration = HTTPSession.Configuration()
        configuration.proxies = .settings(proxies)
        // nginx redirects to its own port.
        let port = nginx.port(.plain)
        let origins = try ["http://a.example", "http://a.example:\(port)"].map {
            try HTTPOrigin(#require(URL(string: $0)))
        }
        configuration.options.endpoints = HTTPEndpoints(
            Dictionary(uniqueKeysWithValues: origins.map { ($0, .host("127.0.0.1", port: UInt16(port))) }))
        let session = HTTPSession(configuration)
        let response = try await session.get(#require(URL(string: "http://a.example/chain")))
        #expect(response.status == .ok && String(decoding: response.body, as: UTF8.self) == "hello\n")
        // A second load uses the first one's connection.
        _ = try await session.get(#require(URL(string: "http://a.example/hello")))
        await #expect(throws: StreamError.self) {
            try await session.get(#require(URL(string: "http://b.example/hello")))
        }
    }
}
