internal import CFNetworkC
internal import CFNetworkC.Runtime
@preconcurrency internal import CoreFoundation
internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
internal import HTTPStream

/// The state of a CFHTTPAuthentication.
///
/// Theory of operation. A request refers to the object that applied credentials to it, and so does the stream that sends the request.
/// The object processes the response of each such stream once: when the program copies the response from the stream, when it next
/// passes the object to a function, or when the stream is deallocated.
final class HTTPAuthenticationState: ObjectState, @unchecked Sendable {
    // The lock protects the list. The other properties are constant, and their objects are thread-safe.
    static let typeID = cfn_class_register("CFHTTPAuthentication")

    private struct Reference {
        weak var load: AuthenticatedLoad?
    }

    let authentication: HTTPAuthentication
    /// The connection of a scheme that authenticates connections: its requests use no other.
    let pool = HTTPConnectionPool(limits: .init(perOrigin: 1, total: 1), ofOneUser: true)
    private let loads = Locked<[Reference]>([])

    init(_ authentication: HTTPAuthentication) { self.authentication = authentication }

    override var summary: String {
        let method = methodName ?? "no scheme"
        return "\(method), \"\(authentication.displayRealm)\", \(authentication.isValid ? "valid" : "invalid")"
    }

    /// The name of the scheme that is used or, if there is none, of the first one that was offered.
    var methodName: String? { authentication.method?.name ?? authentication.explain().entries.first?.scheme }

    /// Records a load whose response is to be processed.
    func add(_ load: AuthenticatedLoad) {
        loads.withLock { loads in
            loads.removeAll { $0.load?.isFinished ?? true }
            loads.append(Reference(load: load))
        }
    }

    /// Processes the responses that have arrived.
    func processResponses() {
        let waiting = loads.withLock { loads in
            loads.compactMap(\.load)
        }
        for load in waiting { load.processResponse() }
    }

    /// Puts credentials on a request. The error of an authentication that failed is that of CFNetwork.
    func apply(
        _ credentials: [HTTPAuthentication.CredentialKey: String], to request: inout HTTPRequest
    ) throws(HTTPAuthError) {
        processResponses()
        let peer = authentication.peer
        try authentication.apply(
            to: &request, credentials: credentials, through: peer.role == .proxy ? peer : nil)
    }
}

/// Credentials that an authentication object has put on a request.
struct AppliedCredentials {
    let object: CFHTTPAuthentication
    let field: HTTPFieldName
    let value: String?
}

/// The use of an authentication object by a stream that sends a request with its credentials.
final class AuthenticatedLoad: @unchecked Sendable {
    // The lock protects the progress. The object is thread-safe, and the stream is set once, before the program can use it.
    private struct Progress {
        var isFinished = false
        /// Whether the response is the server's answer to these credentials, and has not been given back yet.
        var isAnswer = false
    }

    private let credentials: AppliedCredentials
    private let request: HTTPRequest
    private let progress = Locked(Progress())
    private weak var stream: ReadStreamState?

    /// Nil if the request no longer has the credentials.
    init?(_ credentials: AppliedCredentials, on request: HTTPRequest) {
        guard request.fields[credentials.field] == credentials.value else { return nil }
        self.credentials = credentials
        self.request = request
    }

    private var owner: HTTPAuthenticationState { state(of: credentials.object) }

    /// Whether the response has been processed.
    var isFinished: Bool { progress.withLock { $0.isFinished } }

    /// Begins the use by a stream.
    func begin(_ stream: ReadStreamState) {
        self.stream = stream
        owner.add(self)
        guard owner.authentication.isConnectionBound else { return }
        _ = stream.set(.http(\.pool), to: owner.pool)
        _ = stream.set(.http(\.keepsConnection), to: true)
    }

    /// Passes the response to the authentication object if it has arrived, once.
    func processResponse() {
        guard let stream, let response = stream.value(.httpResponse) else { return }
        let isFirst = progress.withLock { progress in
            defer { progress.isFinished = true }
            return !progress.isFinished
        }
        guard isFirst else { return }
        let authentication = owner.authentication
        let isOrigin = authentication.peer.role == .origin
        // The origin has not seen a request that a proxy refused, and a request to another origin has no credentials.
        let sent = isOrigin ? stream.value(.httpFinalRequest) : request
        guard let sent, sent.fields[credentials.field] == credentials.value,
            !isOrigin || response.status != .proxyAuthenticationRequired
        else { return }
        let proxy = stream.value(.httpAnsweringProxy)?.protectionSpace
        let verdict = try? authentication.update(with: response, to: sent, through: proxy)
        let asks: HTTPStatus = isOrigin ? .unauthorized : .proxyAuthenticationRequired
        guard response.status == asks, verdict != .otherRealm else { return }
        progress.withLock { $0.isAnswer = true }
    }

    /// The authentication object that a response with this status is about, once; nil if the response is about none.
    func takeObject(_ status: HTTPStatus) -> CFHTTPAuthentication? {
        let role: ProtectionSpace.Role = status == .proxyAuthenticationRequired ? .proxy : .origin
        guard owner.authentication.peer.role == role else { return nil }
        let isAnswer = progress.withLock { progress in
            defer { progress.isAnswer = false }
            return progress.isAnswer
        }
        return isAnswer ? credentials.object : nil
    }
}

/// What a stream of an HTTP request remembers for the objects that are created from it.
final class RequestRecord: Sendable {
    /// The host that the program has named.
    let host: String?
    /// The uses of authentication objects: of the origin's, the proxy's, or both.
    let logins: [AuthenticatedLoad]

    init(_ request: HTTPRequest, _ credentials: [AppliedCredentials]) {
        host = request.url?.host
        logins = credentials.compactMap { AuthenticatedLoad($0, on: request) }
    }

    /// Passes the response to the authentication objects if it has arrived.
    func processResponse() {
        for login in logins { login.processResponse() }
    }
}
