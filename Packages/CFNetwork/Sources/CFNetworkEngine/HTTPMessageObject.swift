internal import CFNetworkC
internal import CFNetworkC.Runtime
internal import CoreFoundation
internal import EventLoops
public import Foundation
internal import HTTPAuth
internal import HTTPMessage
internal import Synchronization

/// The Swift class of every CFHTTPMessage, by which `as?`, `as!` and `is` recognize it.
///
/// CoreFoundation creates the instances. The stored properties describe its layout and are not used.
public final class CFHTTPMessageObject: NSObject {
    private var info: UInt64 = 0
    private var state: UInt = 0

    private override init() { preconditionFailure("CFHTTPMessageCreate… creates the instances") }

    deinit { _CFDeinit(Unmanaged.passUnretained(self).toOpaque()) }

    /// The description of `CFCopyDescription`.
    public override var description: String { string(CFCopyDescription(self)) }

    /// The hash value of `CFHash`.
    public override var hash: Int { Int(bitPattern: CFHash(self)) }

    /// Returns whether `CFEqual` considers the objects equal: only the same object.
    public override func isEqual(_ other: Any?) -> Bool { (other as AnyObject?) === self }
}

/// The state of a CFHTTPMessage.
final class HTTPMessageState: ObjectState {
    static let typeID: CFTypeID = {
        let type = cfn_class_register("CFHTTPMessage")
        _CFRuntimeBridgeTypeToClass(type, unsafeBitCast(CFHTTPMessageObject.self, to: UnsafeRawPointer.self))
        return type
    }()

    /// The message. Nil until `draft` is needed as a message.
    private var built: AnyHTTPMessage?
    private let isBuilt: Atomic<Bool>
    /// The arguments that a request was created with, if they are simple and certainly valid.
    private let draft: RequestDraft?
    /// Several threads may read a message that none changes.
    private static let building = Locked(())
    /// The URL object that a request was created with.
    private let url: CFURL?
    /// The fields that were set before the header was complete; a value of nil removes the received field.
    private var earlyFields: [(name: HTTPFieldName, value: String?)] = []
    /// The stream that has received or sent the header.
    let source: Source?
    /// The credentials that authentication objects have put on the request: for the origin, a proxy, or both.
    private(set) var credentials: [AppliedCredentials] = []

    /// What a message from a stream remembers of it.
    struct Source {
        let record: RequestRecord?
        /// The proxy that has sent the response; nil if it is the origin's.
        let proxy: ProtectionSpace?
    }

    init(_ message: AnyHTTPMessage, url: CFURL? = nil, source: Source? = nil) {
        built = message
        isBuilt = Atomic(true)
        draft = nil
        self.url = url
        self.source = source
    }

    private init(_ draft: RequestDraft, url: CFURL) {
        self.draft = draft
        isBuilt = Atomic(false)
        self.url = url
        source = nil
    }

    init(copying other: HTTPMessageState) {
        built = other.message
        isBuilt = Atomic(true)
        draft = nil
        url = other.url
        earlyFields = other.earlyFields
        source = other.source
        credentials = other.credentials
    }

    /// A request. Nil if an argument is invalid.
    static func request(method: CFString, url: CFURL, version: CFString) -> HTTPMessageState? {
        if let draft = RequestDraft(method: method, url: url, version: version) {
            return HTTPMessageState(draft, url: url)
        }
        guard let method = HTTPMethod(string(method)), let version = HTTPVersion(text: string(version)) else {
            return nil
        }
        return message(method, url, version).map { HTTPMessageState($0, url: url) }
    }

    private static func message(_ method: HTTPMethod, _ url: CFURL, _ version: HTTPVersion) -> AnyHTTPMessage? {
        guard let address = URL(string: string(url)) else { return nil }
        return (try? HTTPRequest(method: method, url: address, version: version)).map { AnyHTTPMessage($0) }
    }

    private(set) var message: AnyHTTPMessage {
        _read {
            if !isBuilt.load(ordering: .acquiring) { build() }
            yield built.unsafelyUnwrapped
        }
        _modify {
            if !isBuilt.load(ordering: .acquiring) { build() }
            var message = built.take().unsafelyUnwrapped
            defer { built = message }
            yield &message
        }
    }

    private func build() {
        Self.building.withLock { _ in
            if isBuilt.load(ordering: .relaxed) { return }
            if let draft, let url { built = Self.message(draft.method, url, draft.version) }
            precondition(built != nil, "the arguments of a draft are valid")
            isBuilt.store(true, ordering: .releasing)
        }
    }

    /// A response. Nil if an argument is invalid.
    convenience init?(status: Int, reason: String?, version: String) {
        guard let status = HTTPStatus(status), let version = HTTPVersion(text: version),
            let response = try? HTTPResponse(status: status, reason: reason, version: version)
        else { return nil }
        self.init(AnyHTTPMessage(response))
    }

    override var summary: String {
        message.request?.requestLine ?? message.statusLine ?? (message.isRequest ? "empty request" : "empty response")
    }

    /// Whether the start line is known: the message was created from its parts, or its header is complete.
    var hasHead: Bool { message.request != nil || message.response != nil }

    /// Whether the whole header has been received.
    var isHeaderComplete: Bool { source != nil || message.isHeaderComplete }

    func append(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard !bytes.isEmpty else { return true }
        do {
            try message.append(bytes)
        } catch {
            return false
        }
        if hasHead, !earlyFields.isEmpty {
            for field in earlyFields { try? message.setField(field.name, to: field.value) }
            earlyFields = []
        }
        return true
    }

    /// Sets or removes a field. An invalid name or value changes nothing.
    func set(_ name: String, to value: String?) {
        guard let name = HTTPFieldName(name) else { return }
        if hasHead {
            try? message.setField(name, to: value)
        } else {
            var field = HTTPFields()
            guard (try? field.set(value, for: name)) != nil else { return }
            earlyFields.removeAll { $0.name == name }
            earlyFields.append((name, field[name]))
        }
    }

    func value(_ name: String) -> String? {
        guard let name = HTTPFieldName(name) else { return nil }
        if hasHead { return message.fields[name] }
        return earlyFields.first { $0.name == name }?.value
    }

    /// The request for a stream: absolute, with the body. Nil for a response and for a message without a head.
    var requestToSend: HTTPRequest? {
        guard let request = message.request, request.url != nil else { return nil }
        return request
    }

    /// Puts the credentials of an authentication object on a request. Returns false if the message has no fields yet.
    func take(_ applied: AppliedCredentials) -> Bool {
        guard (try? message.setField(applied.field, to: applied.value)) != nil else { return false }
        credentials.removeAll { $0.field == applied.field }
        credentials.append(applied)
        return true
    }

    /// The authentication object that this response is about, once; nil if it is about none.
    func takeAuthentication() -> CFHTTPAuthentication? {
        guard let status = message.status, let record = source?.record else { return nil }
        record.processResponse()
        return record.logins.compactMap { $0.takeObject(status) }.first
    }

    /// Whether the program named the host that has sent the response, as opposed to a redirect.
    var isFromNamedHost: Bool {
        guard let record = source?.record else { return true }
        return record.host == message.url?.host
    }

    func setBody(_ body: [UInt8]) { message.body = body }

    func copyURL() -> Unmanaged<CFURL>? {
        if let url { return .passRetained(url) }
        return message.url.flatMap { cfURL($0.relativeString) }
    }

    /// Puts credentials on the request. Returns whether it did; otherwise the request is unchanged.
    func authenticate(
        answering failure: HTTPMessageState?, user: String, password: String, scheme: String?, forProxy: Bool
    ) -> Bool {
        guard var request = message.request else { return false }
        let role: ProtectionSpace.Role = forProxy ? .proxy : .origin
        if let failure {
            let asking: HTTPStatus = forProxy ? .proxyAuthenticationRequired : .unauthorized
            guard failure.message.status == asking else { return false }
        }
        var method: AuthenticationMethod?
        if let scheme {
            method = [AuthenticationMethod.basic, .digest].first { $0.name.lowercased() == scheme.lowercased() }
            guard let method, failure != nil || method == .basic else { return false }
        }
        let field: HTTPFieldName = forProxy ? .proxyAuthorization : .authorization
        do {
            try request.addAuthentication(
                answering: failure?.message.response, user: user, password: password, method: method, for: role)
            try message.setField(field, to: request.fields[field])
        } catch {
            return false
        }
        return true
    }
}

extension HTTPVersion {
    /// The version with this text, such as HTTP/1.1. Nil for any other text.
    init?(text: String) {
        let bytes = Array(text.utf8)
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard bytes.count == 8, text.hasPrefix("HTTP/"), bytes[6] == UInt8(ascii: "."),
            digits.contains(bytes[5]), digits.contains(bytes[7])
        else { return nil }
        self.init(major: bytes[5] - digits.lowerBound, minor: bytes[7] - digits.lowerBound)
    }
}
