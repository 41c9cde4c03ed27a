import EventLoops
import Glibc
import HostResolver
import Testing

@_spi(Packages) @testable import StreamKit

/// A stream refuses the properties that it does not honour.
@Suite("kinds of streams", .timeLimit(.minutes(5))) struct StreamKindTests {
    private struct NoFinder: AddressFinder {
        let description = "nothing"

        func start(_ handler: @escaping @Sendable (Result<FoundAddresses, StreamError>) -> Void) -> LookupToken {
            LookupToken { true }
        }
    }

    /// A stream of each kind that carries no TLS.
    private static func plainStreams() throws -> [StreamPair] {
        let pipe = Pipe()
        let (first, second) = TestWire.pair()
        let unused = WriteStream(toMemoryOfCapacity: nil)
        return [
            StreamPair(input: ReadStream(bytes: [1]), output: unused),
            StreamPair(input: ReadStream(path: "/dev/null"), output: unused),
            StreamPair(input: ReadStream(transport: first), output: unused),
            StreamPair(input: ReadStream(bytes: [1]), output: WriteStream(transport: second)),
            StreamPair(input: ReadStream(bytes: [1]), output: WriteStream(path: "/dev/null")),
            StreamPair.bound(),
            StreamPair(descriptor: pipe.reading, ownership: .owned),
            StreamPair(descriptor: pipe.writing, ownership: .owned),
        ]
    }

    private struct Pipe {
        let reading: Int32
        let writing: Int32

        init() {
            var ends: [Int32] = [0, 0]
            precondition(pipe(&ends) == 0)
            (reading, writing) = (ends[0], ends[1])
        }
    }

    @Test("every stream that would stay plain refuses TLS, naming the property and the kind")
    func refusesTLS() throws {
        for pair in try Self.plainStreams() {
            let error = #expect(throws: StreamError.self) { try pair.input.set(.tls, to: TLSConfiguration()) }
            #expect(error?.isPOSIX(EINVAL) == true)
            #expect(error?.description.contains("StreamKit.tls") == true)
            #expect(error?.description.contains(pair.input.kind.name) == true)
            #expect(throws: StreamError.self) { try pair.output.set(.tls, to: TLSConfiguration()) }
            #expect(pair.input[.tls] == nil && pair.output[.tls] == nil)
        }
    }

    @Test("TLS on a custom transport is real: both ends perform the handshake, and no byte is sent in the clear")
    func securesTransports() async throws {
        let authority = SharedAuthority()
        let (clientWire, serverWire) = TestWire.pair()
        let client = StreamPair(transport: clientWire)
        var configuration = authority.client
        configuration.peerName = "www.example.org"
        try client.set(.tls, to: configuration)
        let server = StreamPair(transport: serverWire)
        try server.set(.tls, to: authority.server)
        try client.open()
        try server.open()
        async let greeting = server.input.read(upTo: 100)
        try await client.output.writeAll(Array("PASS secret".utf8))
        #expect(try await greeting == Array("PASS secret".utf8))
        #expect(client[.tlsInformation]?.isVerified == true && server[.tlsInformation] != nil)
        #expect(client.report.steps.map(\.kind) == [.tls("www.example.org")])
        #expect(clientWire.transcript.first == 0x16)
        #expect(!clientWire.transcript.contains(Array("PASS".utf8)))
        client.close()
        server.close()
    }

    @Test("a handshake with an untrusted peer fails the opening and closes the transport")
    func refusesPeers() async throws {
        let (clientWire, serverWire) = TestWire.pair()
        let client = StreamPair(transport: clientWire)
        var configuration = TLSConfiguration()
        configuration.peerName = "www.example.org"
        try client.set(.tls, to: configuration)
        let server = StreamPair(transport: serverWire)
        try server.set(.tls, to: SharedAuthority().server)
        try client.open()
        try server.open()
        await #expect(throws: StreamError.self) { try await client.input.opened() }
        await #expect(throws: StreamError.self) { try await server.input.opened() }
        #expect(client.output.status == .error)
        #expect(client.report.failure?.kind == .tls("www.example.org"))
    }

    @Test("without a name to check, TLS on a transport is a bad configuration")
    func needsName() async throws {
        let client = StreamPair(transport: TestWire.pair().0)
        try client.set(.tls, to: TLSConfiguration())
        try? client.open()
        await #expect(throws: StreamError(.badConfiguration, Sentence("", ""))) { try await client.input.opened() }
    }

    @Test("openTimeout ends the opening of a transport and its handshake", arguments: [false, true])
    func limitsOpening(_ withTLS: Bool) async throws {
        let silent = TestWire.pair()
        let transport: any StreamTransport = withTLS ? silent.0 : ScriptedOpeningTransport()
        let pair = StreamPair(transport: transport)
        try pair.set(.openTimeout, to: .milliseconds(1))
        if withTLS {
            var configuration = TLSConfiguration()
            configuration.peerName = "www.example.org"
            try pair.set(.tls, to: configuration)
        }
        try pair.open()
        await #expect(throws: StreamError.timedOut) { try await pair.input.opened() }
        withExtendedLifetime(silent) {}
    }

    @Test("a layer on an open connection honours openTimeout")
    func limitsLayers() async throws {
        let (first, _second) = TestWire.pair()
        let plain = StreamPair(transport: first)
        try plain.open()
        let secured = try StreamPair(securing: plain, with: TLSConfiguration(), peerName: "www.example.org")
        try secured.set(.openTimeout, to: .milliseconds(1))
        #expect(throws: StreamError.self) { try secured.set(.tls, to: TLSConfiguration()) }
        try secured.open()
        await #expect(throws: StreamError.timedOut) { try await secured.input.opened() }
        withExtendedLifetime(_second) {}
    }

    // Parity: SK-113
    @Test("SK-113: a stream with a finder refuses proxies, which it would bypass")
    func finders() throws {
        let pair = StreamPair(finder: NoFinder())
        #expect(throws: StreamError.self) { try pair.set(.socksProxy, to: SOCKSProxy(host: "proxy.test")) }
        #expect(throws: StreamError.self) { try pair.set(.proxies, to: [.direct]) }
        var properties = StreamProperties()
        properties[.socksProxy] = SOCKSProxy(host: "proxy.test")
        let made = StreamPair(finder: NoFinder(), properties: properties)
        let error = #expect(throws: StreamError.self) { try made.open() }
        #expect(error?.description.contains("StreamKit.socksProxy") == true)
        #expect(made.input.status == .error && made.report.steps.isEmpty, "no search was started")
    }

    @Test("properties passed to an initializer are checked as those that are set")
    func initializerProperties() throws {
        var properties = StreamProperties()
        properties[.fileOffset] = 5
        let pair = StreamPair(host: "127.0.0.1", port: 9, properties: properties)
        let error = #expect(throws: StreamError.self) { try pair.open() }
        let expected = #expect(throws: StreamError.self) {
            try StreamPair(host: "127.0.0.1", port: 9).set(.fileOffset, to: 5)
        }
        #expect(error?.description == expected?.description)
        properties[.fileOffset] = nil
        properties[.remotePort] = 5
        #expect(throws: StreamError.self) { try StreamPair(host: "127.0.0.1", port: 9, properties: properties).open() }
        var configuration = StreamListener.Configuration()
        configuration.properties[.proxies] = [.direct]
        #expect(throws: StreamError.self) {
            try StreamListener(address: .ip(.v4(.loopback), port: 0), configuration: configuration)
        }
    }

    @Test("a limit of a bound pair applies to the half that honours it")
    func boundPairs() async throws {
        let pair = StreamPair.bound(bufferSize: 1)
        try pair.set(.writeTimeout, to: .milliseconds(1))
        try pair.set(.readTimeout, to: .milliseconds(1))
        #expect(pair.output[.writeTimeout] == .milliseconds(1) && pair.input[.writeTimeout] == nil)
        #expect(pair[.writeTimeout] == .milliseconds(1) && pair[.readTimeout] == .milliseconds(1))
        try pair.open()
        await #expect(throws: StreamError.timedOut) { _ = try await pair.input.read(upTo: 1) }
        await #expect(throws: StreamError.timedOut) { try await pair.output.writeAll([1, 2]) }
    }

    @Test("every stream keeps the caller's own keys, which can be set until it is closed")
    func notes() throws {
        let note = StreamProperty<String>("Tests.note", access: .always)
        for pair in try Self.plainStreams() {
            try pair.input.set(note, to: "mine")
            #expect(pair.input[note] == "mine")
            pair.close()
            #expect(throws: StreamError.closed) { try pair.input.set(note, to: "yours") }
            #expect(pair.input[note] == "mine")
        }
    }

    @Test("a setting of another package is refused unless the transport takes it")
    func foreignSettings() throws {
        let setting = StreamProperty<String>(setting: "Tests.setting", access: .always)
        for pair in try Self.plainStreams() {
            #expect(throws: StreamError.self) { try pair.input.set(setting, to: "mine") }
        }
    }

    @Test("a local address of another family is an error and is not replaced")
    func otherFamily() async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let pair = StreamPair(address: listener.address)
        try pair.set(.localAddress, to: .ip(.v6(.loopback), port: 0))
        try? pair.open()
        let error = await #expect(throws: StreamError.self) { try await pair.input.opened() }
        #expect(error?.isPOSIX(EAFNOSUPPORT) == true)
    }
}

/// ``StreamProperty/fileOffset`` before opening.
@Suite struct FileOffsetTests {
    // Parity: SK-005
    @Test("SK-005: a file is read from the offset set before opening")
    func reads() throws {
        let file = TestFile(Array("0123456789".utf8))
        let stream = ReadStream(path: file.path)
        try stream.set(.fileOffset, to: 7)
        #expect(stream[.fileOffset] == 7)
        try stream.open()
        #expect(stream[.fileOffset] == 7)
        #expect(try stream.read(upTo: 2) == Array("78".utf8))
        #expect(stream[.fileOffset] == 9)
        stream.close()
        #expect(stream[.fileOffset] == nil)
    }

    // Parity: SK-005
    @Test("SK-005: a file is written from the offset set before opening, and keeps the rest", arguments: [0, 3, 12])
    func writes(_ offset: UInt64) throws {
        let old = Array("0123456789".utf8)
        let file = TestFile(old)
        let stream = WriteStream(path: file.path)
        try stream.set(.fileOffset, to: offset)
        try stream.open()
        try stream.writeAll(Array("ab".utf8))
        stream.close()
        var expected = old + [UInt8](repeating: 0, count: max(0, Int(offset) + 2 - old.count))
        expected.replaceSubrange(Int(offset)..<Int(offset) + 2, with: Array("ab".utf8))
        #expect(file.content == expected)
    }

    @Test("without an offset the file is emptied")
    func empties() throws {
        let file = TestFile(Array("0123456789".utf8))
        let stream = WriteStream(path: file.path)
        try stream.set(.fileOffset, to: 3)
        try stream.set(.fileOffset, to: nil)
        try stream.open()
        stream.close()
        #expect(file.content == [])
    }

    @Test("a file opened for appending has no offset, before and after opening")
    func appends() throws {
        let file = TestFile(Array("one".utf8))
        let early = WriteStream(path: file.path, append: true)
        try early.set(.fileOffset, to: 1)
        #expect(throws: StreamError.self) { try early.open() }
        #expect(file.content == Array("one".utf8))
        let late = WriteStream(path: file.path, append: true)
        try late.open()
        #expect(throws: StreamError.self) { try late.set(.fileOffset, to: 1) }
        try late.writeAll(Array("two".utf8))
        #expect(file.content == Array("onetwo".utf8))
    }

    @Test("an impossible offset is refused")
    func impossibleOffset() throws {
        let file = TestFile(Array("one".utf8))
        let stream = ReadStream(path: file.path)
        try stream.set(.fileOffset, to: .max)
        #expect(throws: StreamError.self) { try stream.open() }
    }
}

/// The properties that a connection pool compares.
@Suite struct ConnectionShapeTests {
    private static func shape(_ change: (inout StreamProperties) -> Void) -> ConnectionShape {
        var properties = StreamProperties()
        change(&properties)
        return ConnectionShape(of: properties, in: .connection)
    }

    @Test("what determines a connection is separated from limits, notes and what a stream refuses")
    func split() {
        let note = StreamProperty<Int>("Tests.number", access: .beforeOpen)
        var properties = StreamProperties()
        properties[.tls] = TLSConfiguration()
        properties[.sendsAtOnce] = false
        let (same, none) = properties.split(by: .connection)
        #expect(same.isCopy(of: properties) && none.isEmpty)
        properties[.readTimeout] = .seconds(1)
        properties[.openTimeout] = .seconds(2)
        properties[note] = 3
        let (own, others) = properties.split(by: .connection)
        #expect(!own.isCopy(of: properties) && others[.openTimeout] == .seconds(2))
        #expect(others[.readTimeout] == .seconds(1) && own[.readTimeout] == nil)
        #expect(others[note] == 3 && own[note] == nil)
        #expect(own[.sendsAtOnce] == false && own[.tls] != nil && others[.tls] == nil)
        #expect(ConnectionShape(of: own, in: .connection) == ConnectionShape(of: same, in: .connection))
    }

    @Test("every property of a connection changes its shape; limits and opening options do not")
    func differs() {
        let shapes = [
            Self.shape { _ in }, Self.shape { $0[.failsWhenAddressIsRemoved] = true },
            Self.shape { $0[.keepsAlive] = true },
            Self.shape { $0[.localAddress] = .ip(.v4(.loopback), port: 0) }, Self.shape { $0[.proxies] = [.direct] },
            Self.shape { $0[.resolver] = SystemResolver.shared }, Self.shape { $0[.sendsAtOnce] = false },
            Self.shape { $0[.serviceType] = .voice }, Self.shape { $0[.socksProxy] = SOCKSProxy(host: "a") },
            Self.shape { $0[.socksProxy] = SOCKSProxy(host: "b") }, Self.shape { $0[.tls] = TLSConfiguration() },
        ]
        for (index, shape) in shapes.enumerated() {
            for other in shapes.indices { #expect((shape == shapes[other]) == (index == other), "\(index), \(other)") }
            #expect(shape.isUsual == (index == 0))
        }
        let compared = StreamPropertyTable.connection.names.filter {
            StreamPropertyTable.connection.role(of: $0) == .connecting
        }
        #expect(compared.count == shapes.count - 2, "a property has been added: compare it here, too")
        let note = StreamProperty<Int>("Tests.number", access: .beforeOpen)
        #expect(
            Self.shape {
                $0[.openTimeout] = .seconds(1)
                $0[.attemptDelay] = .seconds(1)
                $0[.readTimeout] = .seconds(1)
                $0[.keepsAlive] = false
                $0[.sendsAtOnce] = true
                $0[note] = 1
            }.isUsual)
        let orders = [
            Self.shape {
                $0[.keepsAlive] = true
                $0[.serviceType] = .voice
            },
            Self.shape {
                $0[.serviceType] = .voice
                $0[.keepsAlive] = true
            },
        ]
        #expect(orders[0] == orders[1])
    }
}
