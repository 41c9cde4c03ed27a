internal import FoundationEssentials
public import HTTPMessage

/// The result of a handshake.
public struct WebSocketAgreement: Hashable, Sendable {
    /// The subprotocol that the server has chosen; nil for none.
    public var subprotocol: String?
    /// The parameters of compression; nil for none.
    public var compression: WebSocketCompressionAgreement?

    init(subprotocol: String? = nil, compression: WebSocketCompressionAgreement? = nil) {
        self.subprotocol = subprotocol
        self.compression = compression
    }
}

extension HTTPFieldName {
    static let webSocketKey: HTTPFieldName = "Sec-WebSocket-Key"
    static let webSocketAccept: HTTPFieldName = "Sec-WebSocket-Accept"
    static let webSocketVersion: HTTPFieldName = "Sec-WebSocket-Version"
    static let webSocketProtocol: HTTPFieldName = "Sec-WebSocket-Protocol"
    static let webSocketExtensions: HTTPFieldName = "Sec-WebSocket-Extensions"
    static let origin: HTTPFieldName = "Origin"
}

extension String {
    /// Whether the text is `websocket`. Only the case of ASCII letters is ignored.
    fileprivate var isWebSocket: Bool { utf8.elementsEqual("websocket".utf8) { $0 | 0x20 == $1 } }
}

private enum Proof {
    /// The value of `Sec-WebSocket-Accept` for a key (RFC 6455 §4.2.2).
    static func accept(for key: String) -> String {
        let text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        return Data(SHA1.hash(Array(text.utf8))).base64EncodedString()
    }
}

/// A client's part of the opening handshake (RFC 6455 §4.1), without I/O.
///
/// ```swift
/// let handshake = try WebSocketClientHandshake(subprotocols: ["chat"])
/// try handshake.addFields(to: &request)
/// // … send the request, and receive the response
/// let agreement = try handshake.agreement(with: response)
/// ```
public struct WebSocketClientHandshake: Sendable {
    private let key: String
    private let subprotocols: [String]
    private let compression: WebSocketCompression?

    /// Makes a handshake.
    ///
    /// - Parameters:
    ///   - subprotocols: The subprotocols that the client supports, in order of preference.
    ///   - compression: The compression that is offered; nil for none.
    ///   - random: The generator of the key.
    /// - Throws: ``WebSocketError/Code/invalidArgument`` for a subprotocol that is no token or occurs twice, and for an option
    ///   out of its range.
    public init(
        subprotocols: [String] = [], compression: WebSocketCompression? = nil,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) throws(WebSocketError) {
        try WebSocketServerHandshake.validate(subprotocols)
        try compression?.validate()
        self.subprotocols = subprotocols
        self.compression = compression
        var random = random
        key = Data((0..<16).map { _ in UInt8(truncatingIfNeeded: random.next()) }).base64EncodedString()
    }

    /// Adds the fields of the handshake to a request. `Connection` and `Upgrade` are the task of the caller, see
    /// `HTTPSession.upgrade(_:to:within:)`; over HTTP/2 it replaces them and the key by an extended CONNECT (RFC 8441 §5).
    public func addFields(to request: inout HTTPRequest) throws(WebSocketError) {
        for name in [
            HTTPFieldName.webSocketKey, .webSocketVersion, .webSocketProtocol, .webSocketExtensions,
        ] where request.fields.contains(name) {
            throw .invalidArgument("The request contains \(name), which the handshake sets.")
        }
        do throws(HTTPMessageError) {
            try request.fields.set(key, for: .webSocketKey)
            try request.fields.set("13", for: .webSocketVersion)
            if !subprotocols.isEmpty {
                try request.fields.set(subprotocols.joined(separator: ", "), for: .webSocketProtocol)
            }
            if let compression { try request.fields.set(offer(compression).text, for: .webSocketExtensions) }
        } catch {
            throw .invalidArgument("The fields of the handshake cannot be set: \(error).")
        }
    }

    /// Verifies the server's response.
    ///
    /// - Throws: ``WebSocketError/Code/handshakeRefused`` for a response other than 101, or over HTTP/2 other than 2xx,
    ///   ``WebSocketError/Code/invalidHandshake`` for one that violates RFC 6455 §4.1.
    public func agreement(with response: HTTPResponse) throws(WebSocketError) -> WebSocketAgreement {
        let isHTTP2 = response.version >= .http20
        guard isHTTP2 ? response.status.kind == .successful : response.status == .switchingProtocols else {
            throw WebSocketError(
                .handshakeRefused, reason: "The server refused the WebSocket: \(response.statusLine)",
                response: response)
        }
        if !isHTTP2 { try checkSwitch(response) }
        let fields = response.fields
        var agreement = WebSocketAgreement()
        let chosen = fields.values(for: .webSocketProtocol)
        if !chosen.isEmpty {
            guard chosen.count == 1, subprotocols.contains(chosen[0]) else {
                throw .invalidHandshake("the server chose a subprotocol that was not offered", response: response)
            }
            agreement.subprotocol = chosen[0]
        }
        guard let accepted = ExtensionOffer.parse(fields.values(for: .webSocketExtensions)) else {
            throw .invalidHandshake("Sec-WebSocket-Extensions is malformed", response: response)
        }
        if let first = accepted.first {
            guard accepted.count == 1, first.name.lowercased() == DeflateParameters.name, let compression else {
                throw .invalidHandshake("the server chose an extension that was not offered", response: response)
            }
            guard let parameters = DeflateParameters(first.parameters, isOffer: false),
                let agreed = WebSocketClientHandshake.agreement(on: parameters, compression)
            else {
                throw .invalidHandshake("the parameters of permessage-deflate are invalid", response: response)
            }
            agreement.compression = agreed
        }
        return agreement
    }

    /// Verifies the switch of a connection of HTTP/1.1, with the proof that the server has understood the request. Over HTTP/2, it has said so
    /// before (RFC 8441 §5).
    private func checkSwitch(_ response: HTTPResponse) throws(WebSocketError) {
        let fields = response.fields
        let upgrade = fields.elements(of: .upgrade)
        guard upgrade.count == 1, upgrade[0].isWebSocket else {
            throw .invalidHandshake("Upgrade is not websocket", response: response)
        }
        guard fields.connectionOptions.contains("upgrade") else {
            throw .invalidHandshake("Connection does not contain Upgrade", response: response)
        }
        guard fields.values(for: .webSocketAccept) == [Proof.accept(for: key)] else {
            throw .invalidHandshake("Sec-WebSocket-Accept does not match the key", response: response)
        }
    }

    private func offer(_ options: WebSocketCompression) -> DeflateParameters {
        var offer = DeflateParameters()
        offer.serverKeepsContext = options.keepsReceiveContext
        offer.clientKeepsContext = options.keepsSendContext
        offer.serverWindowBits = options.receiveWindowBits < 15 ? options.receiveWindowBits : nil
        offer.mentionsClientWindow = true
        offer.clientWindowBits = options.sendWindowBits < 15 ? options.sendWindowBits : nil
        return offer
    }

    /// The agreement after the server's response; nil if the response does not fit the offer (RFC 7692 §7.1).
    private static func agreement(
        on parameters: DeflateParameters, _ options: WebSocketCompression
    ) -> WebSocketCompressionAgreement? {
        var agreement = WebSocketCompressionAgreement(options)
        if !options.keepsReceiveContext, parameters.serverKeepsContext { return nil }
        agreement.keepsReceiveContext = parameters.serverKeepsContext
        if !parameters.clientKeepsContext { agreement.keepsSendContext = false }
        if options.receiveWindowBits < 15 {
            guard let bits = parameters.serverWindowBits, bits <= options.receiveWindowBits else { return nil }
        }
        agreement.receiveWindowBits = parameters.serverWindowBits ?? 15
        agreement.sendWindowBits = min(parameters.clientWindowBits ?? 15, options.sendWindowBits)
        return agreement
    }
}

/// A server's part of the opening handshake (RFC 6455 §4.2), without I/O.
///
/// A request of HTTP/2 has the method and the fields with which HTTP/1.1 would offer the switch, except the key, as those of an
/// `HTTPServerExchange` do (RFC 8441 §5).
///
/// ```swift
/// let handshake = try WebSocketServerHandshake(request)
/// let (fields, agreement) = try handshake.accept(subprotocols: ["chat"])
/// // … send a 101 with these fields, and with Upgrade and Connection
/// ```
public struct WebSocketServerHandshake: Sendable {
    /// The subprotocols that the client supports, in its order of preference.
    public let subprotocols: [String]
    /// Nil over HTTP/2.
    private let key: String?
    private let offers: [ExtensionOffer]

    /// The status with which to refuse a request, and further fields of that response.
    public struct Refusal: Error, Hashable, Sendable {
        /// 400, 403 for an origin that is not allowed, or 426 for a version other than 13.
        public let status: HTTPStatus
        /// The rule that the request violates.
        public let reason: String

        /// The fields of the response: after 426, the supported version (RFC 6455 §4.4).
        public var fields: HTTPFields {
            var fields = HTTPFields()
            if status == .upgradeRequired {
                try? fields.set("13", for: .webSocketVersion)
                try? fields.set("websocket", for: .upgrade)
                try? fields.set("Upgrade", for: .connection)
            }
            return fields
        }
    }

    /// Verifies a client's request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - origins: The origins of web pages whose scripts may connect.
    /// - Throws: The refusal to respond with.
    public init(_ request: HTTPRequest, origins: WebSocketOrigins = .sameHost) throws(Refusal) {
        let fields = request.fields
        guard request.method == .get, request.version >= .http11 else {
            throw Refusal(status: .badRequest, reason: "a handshake is a GET request of HTTP/1.1")
        }
        guard fields.elements(of: .upgrade).contains(where: \.isWebSocket),
            fields.connectionOptions.contains("upgrade")
        else { throw Refusal(status: .upgradeRequired, reason: "the request does not offer to switch to websocket") }
        guard fields.values(for: .webSocketVersion) == ["13"] else {
            throw Refusal(status: .upgradeRequired, reason: "Sec-WebSocket-Version is not 13")
        }
        let keys = request.version >= .http20 ? [] : fields.values(for: .webSocketKey)
        if request.version < .http20 {
            guard keys.count == 1, let data = Data(base64Encoded: keys[0]), data.count == 16 else {
                throw Refusal(status: .badRequest, reason: "Sec-WebSocket-Key is not 16 bytes in base64")
            }
        }
        guard let offers = ExtensionOffer.parse(fields.values(for: .webSocketExtensions)) else {
            throw Refusal(status: .badRequest, reason: "Sec-WebSocket-Extensions is malformed")
        }
        let subprotocols = fields.elements(of: .webSocketProtocol)
        guard (try? WebSocketServerHandshake.validate(subprotocols)) != nil else {
            throw Refusal(status: .badRequest, reason: "Sec-WebSocket-Protocol is malformed")
        }
        guard origins.permits(fields.values(for: .origin), host: fields[.host] ?? "") else {
            throw Refusal(status: .forbidden, reason: "the origin is not allowed")
        }
        key = keys.first
        self.offers = offers
        self.subprotocols = subprotocols
    }

    /// Returns the fields of the 101 response (over HTTP/2 of a 2xx) except `Upgrade` and `Connection`, and the agreement.
    ///
    /// - Parameters:
    ///   - subprotocols: The subprotocols that the server supports, in order of preference. The first that the client supports
    ///     as well is chosen; without one, none is.
    ///   - compression: The compression that the server supports; nil for none.
    /// - Throws: ``WebSocketError/Code/invalidArgument`` as ``WebSocketClientHandshake/init(subprotocols:compression:random:)``.
    public func accept(
        subprotocols: [String] = [], compression: WebSocketCompression? = nil
    ) throws(WebSocketError) -> (fields: HTTPFields, agreement: WebSocketAgreement) {
        try WebSocketServerHandshake.validate(subprotocols)
        try compression?.validate()
        var fields = HTTPFields()
        var agreement = WebSocketAgreement()
        agreement.subprotocol = subprotocols.first { self.subprotocols.contains($0) }
        do throws(HTTPMessageError) {
            if let key { try fields.set(Proof.accept(for: key), for: .webSocketAccept) }
            if let chosen = agreement.subprotocol { try fields.set(chosen, for: .webSocketProtocol) }
            if let compression, let (response, agreed) = firstAcceptable(compression) {
                try fields.set(response.text, for: .webSocketExtensions)
                agreement.compression = agreed
            }
        } catch {
            throw .invalidArgument("The fields of the handshake cannot be set: \(error).")
        }
        return (fields, agreement)
    }

    /// The response to the first offer of compression that the server accepts. It declines the others (RFC 7692 §7).
    private func firstAcceptable(
        _ options: WebSocketCompression
    ) -> (DeflateParameters, WebSocketCompressionAgreement)? {
        for offer in offers where offer.name.lowercased() == DeflateParameters.name {
            guard let parameters = DeflateParameters(offer.parameters, isOffer: true) else { continue }
            // zlib cannot compress with the smallest window.
            let sendBits = min(parameters.serverWindowBits ?? 15, options.sendWindowBits)
            guard sendBits >= 9 else { continue }
            var agreement = WebSocketCompressionAgreement(options)
            agreement.sendWindowBits = sendBits
            agreement.keepsSendContext = options.keepsSendContext && parameters.serverKeepsContext
            agreement.keepsReceiveContext = options.keepsReceiveContext && parameters.clientKeepsContext
            var response = DeflateParameters()
            response.serverKeepsContext = agreement.keepsSendContext
            response.clientKeepsContext = agreement.keepsReceiveContext
            if parameters.serverWindowBits != nil || sendBits < 15 { response.serverWindowBits = sendBits }
            agreement.receiveWindowBits = 15
            if parameters.mentionsClientWindow {
                let bits = min(parameters.clientWindowBits ?? 15, options.receiveWindowBits)
                agreement.receiveWindowBits = bits
                if bits < 15 { response.clientWindowBits = bits }
            }
            return (response, agreement)
        }
        return nil
    }

    /// - Throws: ``WebSocketError/Code/invalidArgument`` unless each subprotocol is a token and occurs once.
    static func validate(_ subprotocols: [String]) throws(WebSocketError) {
        guard Set(subprotocols).count == subprotocols.count,
            subprotocols.allSatisfy({ name in
                !name.isEmpty
                    && name.utf8.allSatisfy { 0x21...0x7E ~= $0 && !"()<>@,;:\\\"/[]?={}".utf8.contains($0) }
            })
        else { throw .invalidArgument("A subprotocol must be a token and occur once.") }
    }
}

/// The origins of the web pages whose scripts may connect to a server (RFC 6455 §10.2).
///
/// A browser sends the user's cookies with the handshake, for any page. Programs other than browsers usually send no `Origin` and
/// may always connect.
public enum WebSocketOrigins: Hashable, Sendable {
    /// Pages of the same host and port as the request's `Host`.
    case sameHost
    /// These origins, such as `https://www.example.org`, and those of ``sameHost``.
    case list(Set<String>)
    /// Any page: for servers that identify no users by cookies or by their network.
    case any

    func permits(_ origins: [String], host: String) -> Bool {
        if origins.isEmpty || self == .any { return true }
        // An origin is ASCII (RFC 6454 §6.2). In lower case, some other letters are as well.
        guard origins.count == 1, origins[0].utf8.allSatisfy({ $0 < 0x80 }) else { return false }
        let origin = origins[0].lowercased()
        if case .list(let list) = self, list.contains(where: { $0.lowercased() == origin }) { return true }
        return !host.isEmpty && ["http", "https"].contains { "\($0)://\(host.lowercased())" == origin }
    }
}
