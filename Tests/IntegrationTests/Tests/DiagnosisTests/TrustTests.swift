import EventLoops
import Foundation
import NetKit
import Peers
import StreamKit
import Testing

/// The authorities that a diagnosis trusts, and the servers that receive the client certificate.
@Suite(.timeLimit(.minutes(5))) struct TrustTests {
    /// A server that requests a client certificate, also accepts clients without one, and records the subjects.
    private final class AskingServer: Sendable {
        let listener: StreamListener
        let port: UInt16
        /// The received subjects. Shared with the handler, which must not keep the server alive.
        private final class Record: Sendable {
            let subjects = Locked<[String?]>([])
        }

        private let record = Record()

        init(_ certificate: ServerCertificate, answer: String, maximum: StreamKit.TLSVersion) throws {
            let authority = try CertificateAuthority.shared()
            let identity = authority.server(certificate)
            var tls = TLSConfiguration(server: try TLSIdentity(file: identity.chain, keyFile: identity.key))
            tls.trust = .only(file: authority.root)
            tls.clientAuthentication = .requested
            tls.maximumVersion = maximum
            var configuration = StreamListener.Configuration()
            configuration.tls = tls
            let listener = try StreamListener(address: .ip(.v4(.loopback), port: 0), configuration: configuration)
            self.listener = listener
            port = try #require(listener.port)
            Task { [listener, record] in
                try await listener.run { client in
                    let subject = client[.tlsInformation]?.peerCertificates.first?.subject
                    record.subjects.withLock { $0.append(subject) }
                    _ = try? await client.input.read(upTo: 8192)
                    try? await client.output.writeAll(Array(answer.utf8))
                    try? await client.output.finish()
                }
            }
        }

        deinit { listener.stop(within: .zero) }

        /// The subject for each connection; nil for one without a certificate.
        var subjects: [String?] { record.subjects.withLock { $0 } }
    }

    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    private func options() throws -> NetDiagnostic.Options {
        let authority = try CertificateAuthority.shared()
        var options = NetDiagnostic.Options()
        options.connectionTimeout = .seconds(60)
        options.responseTimeout = .seconds(60)
        options.proxies = ProxySettings()
        options.tls.trust = .only(file: authority.root)
        options.tls.identity = try TLSIdentity(file: authority.client.chain, keyFile: authority.client.key)
        return options
    }

    private func diagnose(_ url: String, _ options: NetDiagnostic.Options) async throws -> Diagnosis {
        try await NetDiagnostic(url: try #require(URL(string: url)), options: options).diagnose()
    }

    @Test(
        "The own certificate is shown to a server that was verified", arguments: [StreamKit.TLSVersion.tls12, .tls13])
    func aVerifiedServerReceivesTheClientCertificate(_ version: StreamKit.TLSVersion) async throws {
        let server = try AskingServer(.good, answer: Self.answer, maximum: version)
        let diagnosis = try await diagnose("https://127.0.0.1:\(server.port)/", try options())
        #expect(diagnosis.cause == nil, "\(diagnosis)")
        #expect(!server.subjects.isEmpty && server.subjects.allSatisfy { $0 != nil })
    }

    @Test(
        "The own certificate is not shown to a server that could not be verified",
        arguments: [ServerCertificate.unknownRoot, .selfSigned, .expired, .wrongHost],
        [StreamKit.TLSVersion.tls12, .tls13])
    func anUnverifiedServerReceivesNoClientCertificate(
        _ certificate: ServerCertificate, _ version: StreamKit.TLSVersion
    ) async throws {
        let server = try AskingServer(certificate, answer: Self.answer, maximum: version)
        let diagnosis = try await diagnose("https://127.0.0.1:\(server.port)/", try options())
        #expect(diagnosis.brokenRung == .security, "\(diagnosis)")
        // Its certificate was still inspected, over a connection opened for that purpose.
        #expect(!server.subjects.isEmpty && server.subjects.allSatisfy { $0 == nil }, "\(server.subjects)")
    }

    @Test("The option tls determines the trusted roots")
    func theOptionDeterminesTheRoots() async throws {
        let server = try AskingServer(.good, answer: Self.answer, maximum: .tls13)
        var options = try options()
        #expect(try await diagnose("https://127.0.0.1:\(server.port)/", options).cause == nil)
        options.tls = TLSConfiguration()
        #expect(try await diagnose("https://127.0.0.1:\(server.port)/", options).brokenRung == .security)
    }

    @Test("Settings determine the trust in their proxies and script server; neither receives the client certificate")
    func settingsDetermineTheTrustInProxies() async throws {
        let target = try AskingServer(.good, answer: Self.answer, maximum: .tls13)
        let text = "function FindProxyForURL(url, host) { return 'DIRECT'; }"
        let body = "HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)"
        let scripts = try AskingServer(.good, answer: body, maximum: .tls13)
        let proxy = try AskingServer(.good, answer: Self.answer, maximum: .tls13)
        var options = try options()
        var settings = ProxySettings()
        settings.bypassesLoopback = false
        for isScript in [true, false] {
            settings.script = isScript ? .url("https://127.0.0.1:\(scripts.port)/p.pac") : nil
            settings.others = isScript ? [] : [ProxyServer(.https, host: "127.0.0.1", port: proxy.port)]
            settings.tls = TLSConfiguration()
            options.proxies = settings
            let url = isScript ? "https://127.0.0.1:\(target.port)/" : "http://127.0.0.1:\(target.port)/"
            let diagnosis = try await diagnose(url, options)
            #expect(diagnosis.cause != nil, "\(diagnosis)")
            settings.tls.trust = options.tls.trust
            options.proxies = settings
            let better = try await diagnose(url, options)
            #expect(better.cause == nil, "\(better)")
        }
        for server in [scripts, proxy] {
            #expect(!server.subjects.isEmpty && server.subjects.allSatisfy { $0 == nil })
        }
    }
}
