import Foundation
import Peers
import StreamKitFoundation
import Testing

/// Code for Apple's streams, against real servers: plain, over TLS, through SOCKS proxies, and with STARTTLS.
@Suite(.serialized, .timeLimit(.minutes(5))) struct FoundationStreamTests {
    private static let lines = (0..<2000).map { "line \($0) of many" }
    private static let reversed = lines.map { String($0.reversed()) }

    /// The route of a client to the server.
    enum Route: CaseIterable {
        case direct
        case socks4
        case socks5
        case socks5Password
    }

    /// Dante, or OpenSSH on a release of Debian without it.
    private static func startedSOCKSProxy() async throws -> any Peer & Sendable {
        if Dante.omission == nil { return try await started(Dante()) }
        return try await started(SSHProxy())
    }

    /// The keys and values for a route, and the proxy, which the caller must keep.
    private static func proxy(_ route: Route) async throws -> (any Peer, [StreamSOCKSProxyConfiguration: Any])? {
        let peer: any Peer & Sendable
        var settings: [StreamSOCKSProxyConfiguration: Any] = [.hostKey: "127.0.0.1"]
        switch route {
        case .direct: return nil
        case .socks4:
            peer = try await Self.startedSOCKSProxy()
            settings[.versionKey] = StreamSOCKSProxyVersion.version4
        case .socks5: peer = try await Self.startedSOCKSProxy()
        case .socks5Password:
            peer = try await started(Microsocks(user: "alice", password: "open sesame"))
            settings[.userKey] = "alice"
            settings[.passwordKey] = "open sesame"
        }
        settings[.portKey] = peer.port
        return (peer, settings)
    }

    // Parity: SK-063, SK-090, SK-115 (dante, microsocks, openssl)
    @Test(
        "SK-063, SK-090, SK-115: a client with a delegate, over TLS, directly and behind proxies",
        arguments: Route.allCases)
    func aClientWithADelegate(_ route: Route) async throws {
        let server = try await started(OpenSSLServer(.echoReversed))
        let proxy = try await Self.proxy(route)
        nonisolated(unsafe) let settings = proxy?.1
        let port = server.port
        try await onThread {
            let client = LineClient(sending: Self.lines)
            var properties: [(Any, Stream.PropertyKey)] = [(try trustingPeers(), .sslContextKey)]
            if let settings { properties.append((settings, .socksProxyConfigurationKey)) }
            client.run(host: "localhost", port: port, properties)
            #expect(client.error == nil)
            #expect(client.lines == Self.reversed)
            #expect(client.events.sorted() == ["input open", "output open"])
            let certificates = client.property(.sslPeerCertificatesKey) as? [Data]
            #expect(certificates?.isEmpty == false)
            let level = client.property(.socketSecurityLevelKey) as? String
            #expect(level == StreamSocketSecurityLevel.tlSv1.rawValue, "what was negotiated, not what was set")
            let trust = client.property(.sslPeerTrustKey) as? TLSInformation
            #expect(trust?.peerCertificates.map { Data($0.der) } == certificates && trust?.isVerified == true)
        }
        withExtendedLifetime(proxy) {}
        server.stop()
        proxy?.0.stop()
    }

    // Parity: SK-024, SK-025 (dante, microsocks, openssl)
    @Test("SK-024, SK-025: a client that blocks, without a run loop", arguments: Route.allCases)
    func aBlockingClient(_ route: Route) async throws {
        let server = try await started(OpenSSLServer(.echoReversed))
        let proxy = try await Self.proxy(route)
        nonisolated(unsafe) let settings = proxy?.1
        let port = server.port
        try await onThread {
            var input: InputStream?
            var output: OutputStream?
            Stream.getStreamsToHost(withName: "localhost", port: port, inputStream: &input, outputStream: &output)
            let source = try #require(input)
            let sink = try #require(output)
            #expect(sink.setProperty(try trustingPeers(), forKey: .sslContextKey))
            if let settings { #expect(sink.setProperty(settings, forKey: .socksProxyConfigurationKey)) }
            source.open()
            sink.open()
            #expect(sink.write("abc\n") && source.line() == "cba")
            #expect(sink.write("defg\n") && source.line() == "gfed")
            source.close()
            sink.close()
        }
        withExtendedLifetime(proxy) {}
        server.stop()
        proxy?.0.stop()
    }

    // Parity: SK-101 (openssl)
    @Test("SK-101: a self-signed certificate is an error with SecureTransport's number")
    func anUntrustedCertificateIsAnError() async throws {
        let server = try await started(OpenSSLServer(.echoReversed))
        let port = server.port
        try await onThread {
            let client = LineClient(sending: ["never"])
            let level = StreamSocketSecurityLevel.negotiatedSSL
            client.run(host: "localhost", port: port, [(level, .socketSecurityLevelKey)])
            #expect(client.lines.isEmpty)
            #expect(client.error?.domain == NSStreamSocketSSLErrorDomain)
            #expect(client.error?.code == TLSFailure.unknownRoot.rawValue)
            let relaxed = LineClient(sending: ["now"])
            let settings: [StreamSSLSetting: Any] = [.levelKey: level, .validatesCertificateChainKey: false]
            relaxed.run(host: "localhost", port: port, [(settings, .sslSettingsKey)])
            #expect(relaxed.lines == ["won"])
        }
        server.stop()
    }

    // Parity: SK-114 (microsocks)
    @Test("SK-114: a proxy that refuses is an error with CFNetwork's number")
    func aRefusalByAProxyIsAnError() async throws {
        let proxy = try await started(Microsocks(user: "alice", password: "open sesame"))
        let port = proxy.port
        try await onThread {
            let client = LineClient(sending: ["never"])
            let settings: [StreamSOCKSProxyConfiguration: Any] = [.hostKey: "127.0.0.1", .portKey: port]
            client.run(host: "localhost", port: 9, [(settings, .socksProxyConfigurationKey)])
            #expect(client.error?.domain == NSStreamSOCKSErrorDomain)
            #expect(client.error?.code == SOCKSFailure.noAcceptableMethod.rawValue)
        }
        proxy.stop()
    }

    // Parity: SK-093 (vsftpd)
    @Test(
        "SK-093: TLS begins on a connection that is open, with a delegate on the run loop or blocking",
        arguments: [true, false])
    func tlsBeginsOnAnOpenConnection(_ isScheduled: Bool) async throws {
        let server = try await started(Vsftpd(.explicit))
        let port = server.port
        try await onThread {
            var input: InputStream?
            var output: OutputStream?
            Stream.getStreamsToHost(withName: "localhost", port: port, inputStream: &input, outputStream: &output)
            let source = try #require(input)
            let sink = try #require(output)
            let dialogue = FTPDialogue(source, sink)
            if isScheduled {
                for stream in [source, sink] as [Stream] {
                    stream.delegate = dialogue
                    stream.schedule(in: .current, forMode: .default)
                }
            }
            source.open()
            sink.open()
            if isScheduled {
                while !dialogue.isDone, RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 60)) {}
            } else {
                while !dialogue.isDone { dialogue.read() }
            }
            #expect(dialogue.replies == ["220", "234", "230", "221"])
            #expect(dialogue.opened == (isScheduled ? 2 : 0), "openCompleted is reported once")
            #expect(source.property(forKey: .sslPeerCertificatesKey) is NSArray)
            source.close()
            sink.close()
        }
        server.stop()
    }
}

/// Logs in to an FTP server over a connection that is upgraded to TLS.
private final class FTPDialogue: NSObject, StreamDelegate {
    private let input: InputStream
    private let output: OutputStream
    private var unread: [UInt8] = []
    private(set) var replies: [String] = []
    private(set) var opened = 0
    private(set) var isDone = false

    init(_ input: InputStream, _ output: OutputStream) {
        (self.input, self.output) = (input, output)
    }

    func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
        switch eventCode {
        case .openCompleted: opened += 1
        case .hasBytesAvailable: read()
        case .errorOccurred, .endEncountered: isDone = true
        default: break
        }
    }

    /// Reads once, and reacts to each complete reply.
    func read() {
        var buffer = [UInt8](repeating: 0, count: 512)
        let count = input.read(&buffer, maxLength: buffer.count)
        guard count > 0 else { return isDone = true }
        unread += buffer[..<count]
        while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: unread[..<end], as: UTF8.self)
            unread.removeSubrange(...end)
            if line.dropFirst(3).first == " " { react(to: String(line.prefix(3))) }
        }
    }

    private func react(to reply: String) {
        replies.append(reply)
        switch reply {
        case "220": isDone = !output.write("AUTH TLS\r\n")
        case "234":
            isDone = (try? trustingPeers()).map { !input.setProperty($0, forKey: .sslContextKey) } ?? true
            if !isDone { isDone = !output.write("USER ftp\r\n") }
        case "331": isDone = !output.write("PASS me@example\r\n")
        case "230": isDone = !output.write("QUIT\r\n")
        default: isDone = true
        }
        if reply == "331" { replies.removeLast() }  // not all configurations require a password
    }
}

extension OutputStream {
    /// Writes all of a text, waiting; false if it failed.
    fileprivate func write(_ text: String) -> Bool {
        var rest = Array(text.utf8)
        while !rest.isEmpty {
            let count = write(rest, maxLength: rest.count)
            if count <= 0 { return false }
            rest.removeFirst(count)
        }
        return true
    }
}

extension InputStream {
    /// Reads up to the end of a line, waiting; nil if the stream ends or fails.
    fileprivate func line() -> String? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while read(&byte, maxLength: 1) == 1 {
            if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
        return nil
    }
}
