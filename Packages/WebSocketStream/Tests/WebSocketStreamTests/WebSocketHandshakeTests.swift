import HTTPMessage
import Testing

@testable import WebSocketStream

@Suite struct WebSocketHandshakeTests {
    private static let key = "dGhlIHNhbXBsZSBub25jZQ=="

    private func request(_ change: (inout HTTPFields) throws -> Void = { _ in }) throws -> HTTPRequest {
        var request = try HTTPRequest(method: .get, target: "/chat")
        for (name, value) in [
            ("Host", "server.example.com"), ("Upgrade", "websocket"), ("Connection", "keep-alive, Upgrade"),
            ("Sec-WebSocket-Key", Self.key), ("Sec-WebSocket-Version", "13"),
        ] as [(HTTPFieldName, String)] { try request.fields.set(value, for: name) }
        try change(&request.fields)
        return request
    }

    /// RFC 6455 §1.3.
    @Test func acceptsTheExampleOfTheRFC() throws {
        let (fields, agreement) = try WebSocketServerHandshake(request()).accept()
        #expect(fields["Sec-WebSocket-Accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(agreement == WebSocketAgreement())
        #expect(Array(fields).count == 1)
    }

    /// RFC 8441 §5: there is neither a key nor a proof of it.
    @Test func acceptsARequestOfHTTP2() throws {
        var request = try HTTPRequest(method: .get, target: "/chat", version: .http20)
        request.fields = try self.request().fields
        request.fields.remove(.webSocketKey)
        let fields = try WebSocketServerHandshake(request).accept(subprotocols: ["chat"]).fields
        #expect(fields.isEmpty)
        var response = try HTTPResponse(status: .ok, version: .http20)
        let client = try WebSocketClientHandshake(subprotocols: ["chat"])
        #expect(try client.agreement(with: response) == WebSocketAgreement())
        try response.fields.set("chat", for: .webSocketProtocol)
        #expect(try client.agreement(with: response).subprotocol == "chat")
        response = try HTTPResponse(status: .switchingProtocols, version: .http20)
        #expect(performing { _ = try client.agreement(with: response) }?.code == .handshakeRefused)
        request.fields.remove(.upgrade)
        #expect(throws: WebSocketServerHandshake.Refusal.self) { try WebSocketServerHandshake(request) }
    }

    /// FIPS 180 examples.
    @Test(arguments: [
        ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"), ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
        ),
    ])
    func hashes(_ text: String, _ hash: String) {
        let digits = SHA1.hash(Array(text.utf8)).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        #expect(digits.joined() == hash)
    }

    // MARK: The server

    @Test(
        arguments: [
            ("Sec-WebSocket-Version", "8", 426), ("Sec-WebSocket-Key", "c2hvcnQ=", 400),
            ("Sec-WebSocket-Key", "?", 400),
            ("Upgrade", "h2c", 426), ("Connection", "close", 426), ("Sec-WebSocket-Extensions", "a; =", 400),
            ("Sec-WebSocket-Protocol", "a b", 400), ("Sec-WebSocket-Protocol", "a, a", 400),
            ("Origin", "https://evil.example", 403), ("Origin", "null", 403),
            // The Kelvin sign in lower case is k.
            ("Upgrade", "websoc\u{212A}et", 426),
        ] as [(HTTPFieldName, String, Int)])
    func refuses(_ name: HTTPFieldName, _ value: String, _ status: Int) throws {
        let request = try request { try $0.set(value, for: name) }
        do throws(WebSocketServerHandshake.Refusal) {
            _ = try WebSocketServerHandshake(request)
            Issue.record("accepted")
        } catch {
            #expect(error.status.code == status)
            #expect((error.fields["Sec-WebSocket-Version"] == "13") == (status == 426))
        }
    }

    @Test func refusesTwoKeysAndOtherMethods() throws {
        #expect(throws: WebSocketServerHandshake.Refusal.self) {
            try WebSocketServerHandshake(request { try $0.append(Self.key, for: .webSocketKey) })
        }
        var post = try HTTPRequest(method: .post, target: "/")
        post.fields = try request().fields
        #expect(throws: WebSocketServerHandshake.Refusal.self) { try WebSocketServerHandshake(post) }
    }

    @Test func permitsOrigins() throws {
        func isPermitted(_ origin: String, _ origins: WebSocketOrigins) -> Bool {
            (try? WebSocketServerHandshake(request { try $0.set(origin, for: .origin) }, origins: origins)) != nil
        }
        #expect(isPermitted("https://Server.example.com", .sameHost))
        #expect(!isPermitted("https://server.example.com.evil.example", .sameHost))
        #expect(!isPermitted("ftp://server.example.com", .sameHost))
        #expect(isPermitted("https://app.example", .list(["https://app.example"])))
        #expect(isPermitted("http://server.example.com", .list([])))
        #expect(!isPermitted("https://other.example", .list(["https://app.example"])))
        #expect(isPermitted("null", .any))
        #expect(!isPermitted("https://\u{212A}.example", .list(["https://k.example"])))
    }

    @Test func choosesASubprotocol() throws {
        let handshake = try WebSocketServerHandshake(
            request {
                try $0.append("chat, soap", for: .webSocketProtocol)
                try $0.append("mqtt", for: .webSocketProtocol)
            })
        #expect(handshake.subprotocols == ["chat", "soap", "mqtt"])
        let (fields, agreement) = try handshake.accept(subprotocols: ["mqtt", "chat"])
        #expect(agreement.subprotocol == "mqtt")
        #expect(fields["Sec-WebSocket-Protocol"] == "mqtt")
        #expect(try handshake.accept(subprotocols: ["xmpp"]).agreement.subprotocol == nil)
        #expect(throws: WebSocketError.self) { try handshake.accept(subprotocols: ["a b"]) }
    }

    // MARK: Compression

    /// An offer, the options of the server that differ from the default, and the response; nil for no compression.
    struct Negotiation: Sendable {
        let offer: String
        var change: @Sendable (inout WebSocketCompression) -> Void = { _ in }
        let response: String?
    }

    @Test(arguments: [
        Negotiation(offer: "permessage-deflate", response: "permessage-deflate"),
        Negotiation(offer: "permessage-deflate; client_max_window_bits", response: "permessage-deflate"),
        Negotiation(
            offer: "permessage-deflate; client_max_window_bits=10",
            response: "permessage-deflate; client_max_window_bits=10"),
        Negotiation(
            offer: "permessage-deflate; client_max_window_bits", change: { $0.receiveWindowBits = 9 },
            response: "permessage-deflate; client_max_window_bits=9"),
        Negotiation(
            offer: "permessage-deflate; server_max_window_bits=\"12\"; server_no_context_takeover",
            response: "permessage-deflate; server_no_context_takeover; server_max_window_bits=12"),
        Negotiation(
            offer: "permessage-deflate",
            change: {
                $0.sendWindowBits = 11
                $0.keepsReceiveContext = false
            },
            response: "permessage-deflate; client_no_context_takeover; server_max_window_bits=11"),
        // zlib has no such window: the next offer is accepted.
        Negotiation(
            offer: "permessage-deflate; server_max_window_bits=8, permessage-deflate; server_max_window_bits=9",
            response: "permessage-deflate; server_max_window_bits=9"),
        Negotiation(offer: "x-webkit-deflate-frame, PERMESSAGE-DEFLATE", response: "permessage-deflate"),
        Negotiation(offer: "permessage-deflate; server_max_window_bits=16", response: nil),
        Negotiation(offer: "permessage-deflate; server_max_window_bits", response: nil),
        Negotiation(offer: "permessage-deflate; server_max_window_bits=09", response: nil),
        Negotiation(offer: "permessage-deflate; server_no_context_takeover=1", response: nil),
        Negotiation(offer: "permessage-deflate; unknown", response: nil),
        Negotiation(
            offer: "permessage-deflate; client_no_context_takeover; client_no_context_takeover", response: nil),
    ])
    func negotiates(_ negotiation: Negotiation) throws {
        var options = WebSocketCompression()
        negotiation.change(&options)
        let handshake = try WebSocketServerHandshake(
            request { try $0.set(negotiation.offer, for: .webSocketExtensions) })
        let (fields, agreement) = try handshake.accept(compression: options)
        #expect(fields["Sec-WebSocket-Extensions"] == negotiation.response)
        #expect((agreement.compression != nil) == (negotiation.response != nil))
        #expect(try handshake.accept().fields["Sec-WebSocket-Extensions"] == nil)
    }

    @Test func refusesOptionsOutOfRange() throws {
        for change in [
            { $0.level = 0 }, { $0.sendWindowBits = 8 }, { $0.receiveWindowBits = 16 }, { $0.minimumLength = -1 },
        ] as [(inout WebSocketCompression) -> Void] {
            var options = WebSocketCompression()
            change(&options)
            #expect(throws: WebSocketError.self) { try WebSocketClientHandshake(compression: options) }
        }
    }

    // MARK: The client

    /// Performs both sides of a handshake, with a change of the server's response.
    private func agreement(
        _ configuration: WebSocket.Configuration = WebSocket.Configuration(),
        _ change: (inout HTTPResponse) throws -> Void = { _ in }
    ) throws -> WebSocketAgreement {
        let client = try WebSocketClientHandshake(
            subprotocols: configuration.subprotocols, compression: configuration.compression)
        var request = try HTTPRequest(method: .get, target: "/")
        try request.fields.set("h", for: .host)
        try client.addFields(to: &request)
        try request.fields.set("websocket", for: .upgrade)
        try request.fields.set("Upgrade", for: .connection)
        var response = try HTTPResponse(status: .switchingProtocols)
        response.fields = try WebSocketServerHandshake(request).accept(
            subprotocols: configuration.subprotocols, compression: configuration.compression
        ).fields
        try response.fields.set("WebSocket", for: .upgrade)
        try response.fields.set("upgrade", for: .connection)
        try change(&response)
        return try client.agreement(with: response)
    }

    @Test func agrees() throws {
        #expect(try agreement() == WebSocketAgreement())
        var configuration = WebSocket.Configuration()
        configuration.subprotocols = ["chat"]
        configuration.compression = WebSocketCompression()
        configuration.compression?.sendWindowBits = 10
        configuration.compression?.keepsReceiveContext = false
        let result = try agreement(configuration)
        #expect(result.subprotocol == "chat")
        #expect(result.compression?.sendWindowBits == 10)
        #expect(result.compression?.keepsReceiveContext == false)
        #expect(result.compression?.keepsSendContext == false)
    }

    @Test(
        arguments: [
            ("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), ("Upgrade", "h2c"), ("Connection", "keep-alive"),
            ("Sec-WebSocket-Protocol", "soap"), ("Sec-WebSocket-Extensions", "x-other"),
            ("Sec-WebSocket-Extensions", "permessage-deflate"), ("Sec-WebSocket-Extensions", ";"),
        ] as [(HTTPFieldName, String)])
    func refusesResponse(_ name: HTTPFieldName, _ value: String) {
        let error = performing { _ = try agreement { try $0.fields.set(value, for: name) } }
        #expect(error?.code == .invalidHandshake)
    }

    /// Responses that do not fit the offer of compression.
    @Test(arguments: [
        "permessage-deflate", "permessage-deflate; server_max_window_bits=11", "permessage-deflate, permessage-deflate",
        "permessage-deflate; server_max_window_bits=10; client_max_window_bits",
        "permessage-deflate; server_max_window_bits=10; other",
    ])
    func refusesCompression(_ value: String) {
        var configuration = WebSocket.Configuration()
        configuration.compression = WebSocketCompression()
        configuration.compression?.receiveWindowBits = 10
        let error = performing {
            _ = try agreement(configuration) { try $0.fields.set(value, for: .webSocketExtensions) }
        }
        #expect(error?.code == .invalidHandshake)
    }

    @Test func reportsARefusal() throws {
        let response = try HTTPResponse(status: .notFound)
        let error = performing { _ = try WebSocketClientHandshake().agreement(with: response) }
        #expect(error?.code == .handshakeRefused)
        #expect(error?.response?.status == .notFound)
    }

    @Test func refusesFieldsOfTheHandshake() throws {
        var request = try request()
        let handshake = try WebSocketClientHandshake()
        #expect(performing { try handshake.addFields(to: &request) }?.code == .invalidArgument)
    }
}
