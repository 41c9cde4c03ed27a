import Foundation
import Glibc
import StreamKitFoundation
import StreamKitTesting
import Testing

/// Bridged connections to a server in this process.
@Suite(.timeLimit(.minutes(5))) struct ConnectionTests {
    // Parity: SK-010, SK-029
    @Test("SK-010, SK-029: a blocking client without a run loop")
    func blocking() async throws {
        let server = try EchoServer()
        try await onThread {
            let (input, output) = connection(to: server.port)
            input.open()
            output.open()
            var rest = Array("hello".utf8)[...]
            while !rest.isEmpty {
                let count = Array(rest).withUnsafeBufferPointer { bytes in
                    bytes.baseAddress.map { output.write($0, maxLength: bytes.count) } ?? -1
                }
                #expect(count > 0)
                if count <= 0 { return }
                rest = rest.dropFirst(count)
            }
            #expect(input.bytes() == Array("hello".utf8))
            #expect(input.streamStatus == .open && output.streamStatus == .open)
            #expect(input.property(forKey: .socketRemoteHostNameKey) as? String == "localhost")
            #expect(output.property(forKey: .socketRemotePortNumberKey) as? Int == Int(server.port))
            let handle = try #require(input.property(forKey: .socketNativeHandleKey) as? Data)
            let descriptor = handle.withUnsafeBytes { $0.loadUnaligned(as: Int32.self) }
            #expect(fcntl(descriptor, F_GETFD) >= 0)
            input.close()
            #expect(output.write([1], maxLength: 1) == 1, "the other half keeps the connection")
            output.close()
            #expect(output.write([1], maxLength: 1) == -1)
        }
    }

    // Parity: SK-070, SK-071, SK-072, SK-073, SK-074, SK-075, SK-076, SK-077, SK-078, SK-079, SK-080, SK-081
    @Test("SK-070…SK-081: a client with a delegate and a run loop, 2 MiB in each direction")
    func scheduled() async throws {
        let server = try EchoServer()
        try await onThread {
            let (input, output) = connection(to: server.port)
            let sent = (0..<2 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
            var position = 0
            var received: [UInt8] = []
            let recorder = EventRecorder { stream, event in
                switch event {
                case .hasSpaceAvailable:
                    guard position < sent.count else { return }
                    let count = sent.withUnsafeBufferPointer { bytes -> Int in
                        guard let start = bytes.baseAddress else { return -1 }
                        return (stream as? OutputStream)?.write(start + position, maxLength: bytes.count - position)
                            ?? -1
                    }
                    position += max(0, count)
                    if position == sent.count {
                        stream.remove(from: .current, forMode: .default)
                        // Closing a half sends no end; the underlying stream does.
                        _ = try? (stream as? BridgedOutputStream)?.writeStream.finish()
                    }
                case .hasBytesAvailable: received += (stream as? InputStream)?.bytes(65_536) ?? []
                default: break
                }
            }
            for stream in [input, output] as [Stream] {
                stream.delegate = recorder
                stream.schedule(in: .current, forMode: .default)
                stream.open()
            }
            #expect(runLoop { recorder.events.last == "in end" || recorder.events.last == "in error" })
            #expect(received == sent)
            #expect(recorder.events(of: "in").first == "open" && recorder.events(of: "in").last == "end")
            #expect(Array(recorder.events(of: "out").prefix(2)) == ["open", "space"])
            input.close()
            output.close()
        }
    }

    // Parity: SK-045, SK-046
    @Test("SK-045, SK-046: a refused connection is an event, a status, and an error with Apple's domain and code")
    func refused() async throws {
        try await onThread {
            let deadEnd = try RefusedPort()
            defer { withExtendedLifetime(deadEnd) {} }
            let (input, output) = connection(to: deadEnd.port, host: "127.0.0.1")
            let recorder = EventRecorder()
            for stream in [input, output] as [Stream] {
                stream.delegate = recorder
                stream.schedule(in: .current, forMode: .default)
                stream.open()
            }
            #expect(runLoop { recorder.events.count == 2 })
            #expect(recorder.events.sorted() == ["in error", "out error"])
            #expect(input.streamStatus == .error && input.bytes() == nil)
            let error = try #require(input.streamError as NSError?)
            #expect(error.domain == NSPOSIXErrorDomain && error.code == Int(ECONNREFUSED))
            #expect(error.userInfo[NSUnderlyingErrorKey] is StreamError)
            input.close()
            output.close()
            #expect(input.streamStatus == .error, "closing does not hide it")
        }
    }

    @Test func noPort() {
        var input: InputStream? = InputStream(data: Data())
        var output: OutputStream? = .toMemory()
        for port in [0, -1, 65_536] {
            Stream.getStreamsToHost(withName: "localhost", port: port, inputStream: &input, outputStream: &output)
            #expect(input == nil && output == nil)
        }
        Stream.getStreamsToHost(withName: "localhost", port: 7, inputStream: nil, outputStream: &output)
        #expect(output != nil)
    }

    @Test("A half that was omitted need not be opened")
    func oneHalf() async throws {
        let server = try EchoServer()
        try await onThread {
            var output: OutputStream?
            Stream.getStreamsToHost(
                withName: "localhost", port: Int(server.port), inputStream: nil, outputStream: &output)
            output?.open()
            #expect(output?.write([1], maxLength: 1) == 1)
            output?.close()
        }
    }

    // Parity: SK-091, SK-092, SK-103
    @Test("SK-091, SK-092: security levels by name, never weaker than requested")
    func levels() {
        let (input, output) = connection(to: 9)
        let key = Stream.PropertyKey.socketSecurityLevelKey
        #expect(input.property(forKey: key) as? String == StreamSocketSecurityLevel.none.rawValue)
        for level in [StreamSocketSecurityLevel.ssLv2, .ssLv3, StreamSocketSecurityLevel(rawValue: "else")] {
            #expect(!input.setProperty(level, forKey: key))
        }
        for level in [StreamSocketSecurityLevel.negotiatedSSL, .tlSv1] {
            #expect(input.setProperty(level, forKey: key))
            #expect(output.property(forKey: key) as? String == level.rawValue, "it holds for both halves")
        }
        let tls = output.property(forKey: .sslContextKey) as? TLSConfiguration
        #expect(tls?.minimumVersion == .tls12 && tls?.verification == .full)
        #expect(input.setProperty(StreamSocketSecurityLevel.none.rawValue, forKey: key))
        #expect(input.property(forKey: .sslContextKey) == nil)
    }

    // Parity: SK-091
    @Test("SK-091: after the handshake, the negotiated level, and the peer's certificates with their verification")
    func negotiated() async throws {
        let server = try EchoServer(tls: TestIdentity.server())
        var trusted = try TestIdentity.trusted()
        trusted.peerName = "127.0.0.1"
        try await onThread { [trusted] in
            let (input, output) = connection(to: server.port)
            let keys = [Stream.PropertyKey.sslPeerCertificatesKey, .sslPeerTrustKey]
            #expect(input.setProperty(trusted, forKey: .sslContextKey))
            #expect(keys.allSatisfy { input.property(forKey: $0) == nil })
            let level = Stream.PropertyKey.socketSecurityLevelKey
            #expect(input.property(forKey: level) as? String == StreamSocketSecurityLevel.negotiatedSSL.rawValue)
            input.open()
            output.open()
            #expect(output.write([65], maxLength: 1) == 1 && input.bytes() == [65])
            #expect(input.property(forKey: level) as? String == StreamSocketSecurityLevel.tlSv1.rawValue)
            let certificate = try #require(try TestIdentity.make().certificates.first)
            #expect(output.property(forKey: .sslPeerCertificatesKey) as? [Data] == [Data(certificate.der)])
            let trust = input.property(forKey: .sslPeerTrustKey) as? TLSInformation
            #expect(trust?.isVerified == true && trust?.peerCertificates == [certificate])
            input.close()
            output.close()
        }
    }

    // Parity: SK-090, SK-094, SK-095, SK-096, SK-097, SK-098
    @Test("SK-090, SK-094…SK-098: TLS settings as a dictionary; unknown settings are refused")
    func settings() throws {
        let (input, _) = connection(to: 9)
        func configuration(_ settings: Any?) -> TLSConfiguration? {
            _ = input.setProperty(nil, forKey: .sslSettingsKey)
            guard input.setProperty(settings, forKey: .sslSettingsKey) else { return nil }
            return input.property(forKey: .sslContextKey) as? TLSConfiguration
        }
        #expect(configuration([String: Any]()) == TLSConfiguration())
        #expect(configuration([StreamSSLSetting.peerNameKey: "mail.example"])?.peerName == "mail.example")
        #expect(configuration(["kCFStreamSSLPeerName": NSNull()])?.verification == .insecureNoNameCheck)
        let unchecked: [String: Any] = [
            "kCFStreamSSLValidatesCertificateChain": false, "kCFStreamSSLPeerName": NSNull(),
        ]
        #expect(configuration(unchecked)?.verification == .insecureNone)
        #expect(
            configuration(["kCFStreamSSLAllowsExpiredCertificates": true])?.insecureAllowsExpiredCertificates == true)
        #expect(configuration(["kCFStreamSSLAllowsExpiredRoots": true])?.insecureAllowsExpiredRoots == true)
        #expect(configuration([StreamSSLSetting.allowsAnyRootKey: true])?.insecureAllowsAnyRoot == true)
        #expect(configuration([StreamSSLSetting.levelKey: StreamSocketSecurityLevel.tlSv1]) == TLSConfiguration())
        for refused: [String: Any] in [
            ["kCFStreamSSLLevel": "NSStreamSocketSecurityLevelSSLv3"], ["kCFStreamSSLIsServer": true],
            ["kCFStreamSSLCertificates": ["not an identity"]], ["kCFStreamSSLPeerName": 7], ["else": true],
            ["kCFStreamSSLAllowsAnyRoot": "yes"],
        ] {
            #expect(configuration(refused) == nil, "\(refused)")
        }
    }

    @Test func aLevelAfterSettingsKeepsThem() throws {
        let (input, _) = connection(to: 9)
        #expect(input.setProperty([StreamSSLSetting.peerNameKey: "mail.example"], forKey: .sslSettingsKey))
        #expect(input.setProperty(StreamSocketSecurityLevel.negotiatedSSL, forKey: .socketSecurityLevelKey))
        let configuration = input.property(forKey: .sslContextKey) as? TLSConfiguration
        #expect(configuration?.peerName == "mail.example")
        #expect(input.setProperty(StreamSocketSecurityLevel.none, forKey: .socketSecurityLevelKey))
        #expect(input.property(forKey: .sslContextKey) == nil)
    }

    // Parity: SK-110, SK-111, SK-112, SK-113
    @Test("SK-110…SK-113: a SOCKS proxy as a dictionary, with Foundation's keys or those of system settings")
    func socksSettings() {
        let (input, output) = connection(to: 9, host: "www.example")
        let key = Stream.PropertyKey.socksProxyConfigurationKey
        func proxy(_ settings: Any) -> SOCKSProxy? {
            _ = input.setProperty(nil, forKey: key)
            guard input.setProperty(settings, forKey: key) else { return nil }
            return (input as? BridgedInputStream)?.readStream[.socksProxy]
        }
        let full: [StreamSOCKSProxyConfiguration: Any] = [
            .hostKey: "p.example", .portKey: 1081, .versionKey: StreamSOCKSProxyVersion.version5, .userKey: "me",
            .passwordKey: "secret",
        ]
        #expect(proxy(full) == SOCKSProxy(host: "p.example", port: 1081, user: "me", password: "secret"))
        let settings = output.property(forKey: key) as? [String: Any]
        #expect(settings?["NSStreamSOCKSProxyKey"] as? String == "p.example")
        #expect(settings?["NSStreamSOCKSPortKey"] as? Int == 1081)
        #expect(settings?.description.contains("secret") == false)
        let system: [String: Any] = [
            "SOCKSProxy": "p.example", "SOCKSPort": 1080, "SOCKSEnable": 1, "HTTPProxy": "other",
        ]
        #expect(proxy(system) == SOCKSProxy(host: "p.example"))
        let version4: [StreamSOCKSProxyConfiguration: Any] = [
            .hostKey: "p", .versionKey: "kCFStreamSocketSOCKSVersion4",
        ]
        #expect(proxy(version4) == SOCKSProxy(host: "p", version: .v4))
        #expect(proxy(["SOCKSProxy": "p", "SOCKSEnable": 0] as [String: Any]) == nil)
        #expect(
            input.setProperty(["SOCKSProxy": "p", "SOCKSEnable": 0] as [String: Any], forKey: key), "and returns true")
        #expect(input.setProperty(system, forKey: key) && input.property(forKey: key) != nil)
        #expect(input.setProperty(["SOCKSEnable": 0] as [String: Any], forKey: key))
        #expect(input.property(forKey: key) == nil, "removes a proxy set before")
        let exempt: [String: Any] = ["SOCKSProxy": "p", "ExceptionsList": ["*.example"]]
        #expect(proxy(exempt) == nil && input.setProperty(exempt, forKey: key), "direct, and returns true")
        for refused: [StreamSOCKSProxyConfiguration: Any] in [
            [:], [.hostKey: ""], [.hostKey: "p", .portKey: 70_000], [.hostKey: "p", .versionKey: "6"],
            [.hostKey: "p", .userKey: String(repeating: "u", count: 256)],
        ] {
            #expect(!input.setProperty(refused, forKey: key))
        }
    }

    // Parity: SK-060, SK-061
    @Test("SK-060, SK-061: hints")
    func hints() {
        let (input, output) = connection(to: 9)
        #expect(input.setProperty(StreamNetworkServiceTypeValue.voice, forKey: .networkServiceType))
        #expect(output.property(forKey: .networkServiceType) as? String == "kCFStreamNetworkServiceTypeVoice")
        #expect(input.setProperty(StreamNetworkServiceTypeValue.voIP, forKey: .networkServiceType))
        #expect(!input.setProperty("else", forKey: .networkServiceType))
        // The kernel does not know the cost of an interface, so these are refused rather than stored without effect.
        for name in [
            "NoCellular", "ConnectionIsCellular", "AllowExpensiveNetworkAccess", "ConnectionIsExpensive",
            "AllowConstrainedNetworkAccess", "SocketExtendedBackgroundIdleMode",
        ] {
            let key = Stream.PropertyKey("kCFStreamProperty\(name)")
            #expect(!input.setProperty(true, forKey: key) && !output.setProperty(false, forKey: key), "\(name)")
            #expect(input.property(forKey: key) == nil, "\(name)")
        }
    }

    // Parity: SK-035, SK-084
    @Test("SK-035, SK-084: closing from another thread ends a waiting read")
    func closedElsewhere() async throws {
        let server = try EchoServer()
        let handed = HandedOver()
        async let read = try onThread { () -> [UInt8]? in
            let (input, output) = connection(to: server.port)
            input.open()
            output.open()
            #expect(output.write([7], maxLength: 1) == 1)
            #expect(input.bytes() == [7])
            handed.give(input)
            return input.bytes()
        }
        try await onThread {
            let input = handed.take()
            while input.streamStatus != .reading { sched_yield() }
            input.close()
        }
        #expect(try await read == nil)
    }
}

/// Passes a stream to another thread, which closes it.
private final class HandedOver: @unchecked Sendable {
    private let condition = NSCondition()
    private var stream: InputStream?

    func give(_ stream: InputStream) {
        condition.lock()
        defer { condition.unlock() }
        self.stream = stream
        condition.signal()
    }

    func take() -> InputStream {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let stream { return stream }
            condition.wait()
        }
    }
}

/// The two streams of a connection, as code for Apple's platforms makes them.
private func connection(to port: UInt16, host: String = "localhost") -> (InputStream, OutputStream) {
    var input: InputStream?
    var output: OutputStream?
    Stream.getStreamsToHost(withName: host, port: Int(port), inputStream: &input, outputStream: &output)
    return (input ?? InputStream(data: Data()), output ?? .toMemory())
}
