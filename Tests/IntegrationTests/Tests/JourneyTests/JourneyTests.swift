import Foundation
import NetKit
import Peers
import Testing

/// Journeys across packages.
@Suite(.serialized) struct JourneyTests {
    private func trustingPeers() throws -> TLSConfiguration {
        var tls = TLSConfiguration()
        tls.trust = .only(file: try CertificateAuthority.shared().root)
        return tls
    }

    /// FTP with TLS on both connections, each in a separate tunnel through an HTTP proxy.
    @Test func secureFTPBehindConnect() async throws {
        let squid = Squid()
        let vsftpd = Vsftpd(.explicit)
        try squid.start()
        defer { squid.stop() }
        try vsftpd.start()
        defer { vsftpd.stop() }
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        let route = ProxyRoute(HTTPProxy(host: "127.0.0.1", port: UInt16(squid.port)))
        let pool = FTPSessionPool()
        defer { pool.drain() }

        let upload = try WriteStream(ftpURL: url(vsftpd.url("files/there.bin")))
        try upload.set(.ftp(\.pool), to: pool)
        try upload.set(.ftp(\.security), to: .required)
        try upload.set(.tls, to: try trustingPeers())
        try upload.set(.proxies, to: [route])
        try upload.open()
        try await upload.writeAll(bytes)
        try await upload.finish()
        #expect(try vsftpd.read("there.bin") == bytes)

        let download = try ReadStream(ftpURL: url(vsftpd.url("files/there.bin")))
        try download.set(.ftp(\.pool), to: pool)
        try download.set(.ftp(\.security), to: .required)
        try download.set(.tls, to: try trustingPeers())
        try download.set(.proxies, to: [route])
        try download.open()
        #expect(try await download.readAll(limit: 1 << 20) == bytes)
        #expect(download[.ftpDataTLSInformation]?.isVerified == true)
        pool.drain()
        // One tunnel for the control connection, and one for the data of each transfer.
        let hasTunnels = await squid.logs { log in
            log.split(separator: "\n").count { $0.contains("CONNECT 127.0.0.1:") } >= 3
        }
        #expect(hasTunnels, "\(squid.log)")
    }

    /// Streams that fail at one rung each, diagnosed with only the stream.
    @Test func streamsThatFailedAreDiagnosed() async throws {
        let nginx = Nginx(listeners: [.plain, .tls(.expired), .tls(.wrongHost)])
        try nginx.start()
        defer { nginx.stop() }
        let closed = try PortPool.take()
        let tls = try trustingPeers()
        var options = NetDiagnostic.Options()
        options.tls = tls
        options.nameServers = []

        func fail(_ text: String) async throws -> Diagnosis {
            let stream = try ReadStream(httpURL: url(text))
            if text.hasPrefix("https") { try stream.set(.tls, to: tls) }
            await #expect(throws: StreamError.self) {
                try stream.open()
                _ = try await stream.readAll(limit: 1000)
            }
            let error = stream.error
            let diagnosis = await NetDiagnostic(read: stream, write: nil, options: options).diagnose()
            #expect(stream.error?.code == error?.code)
            return diagnosis
        }

        let refused = try await fail("http://127.0.0.1:\(closed)/")
        #expect(refused.cause?.code == .portRefused && refused.brokenRung == .connection, "\(refused)")
        let expired = try await fail(nginx.url(.tls(.expired), "/hello"))
        #expect(expired.cause?.code == .certificateExpired && expired.brokenRung == .security, "\(expired)")
        let elsewhere = try await fail(nginx.url(.tls(.wrongHost), "/hello"))
        #expect(elsewhere.cause?.code == .certificateWrongName, "\(elsewhere)")
    }
}

/// Parses a URL of a peer.
func url(_ text: String) throws -> URL {
    guard let url = URL(string: text) else { throw URLError(.badURL) }
    return url
}

/// From a service type to the bytes of the files of a service on the network.
@Suite(.serialized) struct FTPServiceTests {
    /// The service is Avahi's and the server pyftpdlib, on another host.
    // Parity: SD-010 (Avahi, pyftpdlib)
    @Test func anFTPServiceIsDiscoveredListedAndRead() async throws {
        let network = try WiredNamespaces()
        defer { network.remove() }
        let server = PyFTPServer(at: "10.77.5.1", in: network.left)
        try server.start()
        defer { server.stop() }
        try server.write("first film.txt", Array("a train arrives".utf8))
        try server.write("second.txt", Array("workers leave".utf8))
        let avahi = Avahi(
            hostName: "films",
            services: [Avahi.Service("Films. Nr. 1", type: "_ftp._tcp", port: server.port, texts: ["path=/files/"])],
            in: network.left)
        try avahi.start()
        defer { avahi.stop() }

        let visitor = LineProgram(try serviceStreams(), ["--embedded", "fetch", "_ftp._tcp"], in: network.right)
        try visitor.start()
        defer { visitor.stop() }
        #expect(await visitor.says("+ Films. Nr. 1"), "\(visitor.log)")
        #expect(await visitor.says("at films.local. \(server.port)"), "\(visitor.log)")
        #expect(await visitor.says("first film.txt 15 a train arrives"), "\(visitor.log)")
        #expect(await visitor.says("second.txt 13 workers leave"), "\(visitor.log)")
        #expect(server.commands().filter { $0.hasPrefix("RETR") }.count == 2)
    }

    /// The program is next to the test bundle.
    private func serviceStreams() throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return (tests as NSString).deletingLastPathComponent + "/service-streams"
    }
}
