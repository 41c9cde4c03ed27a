import EventLoops
import FoundationEssentials
import HTTPMessage
import StreamKit
import StreamKitTesting
import Testing

@testable import HTTPStream

/// A server over TLS that answers requests of both versions, and counts its connections.
final class NegotiatingServer: Sendable {
    let port: UInt16
    let connections = Locked(0)

    /// - Parameters:
    ///   - protocols: the protocols that the server chooses from, the preferred one first.
    ///   - suite: the only cipher suite, of TLS 1.2; nil for the usual ones.
    ///   - readsBodies: as for ``HTTP2Peer``.
    ///   - handler: acts on the events of HTTP/2.
    ///   - answer: answers each request of HTTP/1.1; by default, with 200.
    ///   - onEnd: called at the end of each connection of HTTP/2.
    init(
        _ protocols: [String], suite: String? = nil, readsBodies: Bool = true,
        _ handler: @escaping HTTP2Script.Handler = HTTP2Script.answer,
        http1 answer: @escaping @Sendable (HTTPServerExchange) async throws -> Void = { try await $0.respond(.ok) },
        onEnd: @escaping @Sendable () -> Void = {}
    ) throws {
        var settings = StreamListener.Configuration()
        var tls = try TestIdentity.server()
        tls.applicationProtocols = protocols
        if let suite {
            tls.maximumVersion = .tls12
            tls.cipherList = suite
        }
        settings.tls = tls
        let listener = try StreamListener(address: .ip(.v4(.loopback), port: 0), configuration: settings)
        port = try #require(listener.port)
        Task { [self] in
            try await listener.run { pair in
                self.connections.withLock { $0 += 1 }
                if pair[.tlsInformation]?.applicationProtocol == "h2" {
                    try? await HTTP2Script.serve(pair, readsBodies: readsBodies, handler)
                    onEnd()
                } else {
                    await HTTPServer.serve(pair, HTTPServer.Configuration(), answer)
                }
            }
        }
    }

    var url: URL { URL(string: "https://127.0.0.1:\(port)/")! }
}
