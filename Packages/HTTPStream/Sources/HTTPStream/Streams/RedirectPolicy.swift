internal import FoundationEssentials
@_spi(Packages) public import HTTPMessage
internal import StreamKit

/// Determines the request that follows a redirect (RFC 9110 §15.4), without secrets for other origins.
public struct RedirectPolicy: Sendable {
    /// The maximum number of redirects that one load follows.
    public static let maximumRedirects = 20

    private var count = 0

    init() {}

    /// Returns the next request, or nil if the response is not a redirect that can be followed.
    ///
    /// A server may lead to the same URL again, such as after it has set a cookie: only the number of redirects is limited.
    ///
    /// - Parameters:
    ///   - hasBody: whether the request has a body, apart from `request`.
    ///   - crossOrigin: determines what is sent to another origin.
    ///   - opensWebSocket: whether `ws` and `wss` stand for `http` and `https` (RFC 6455 §3).
    /// - Throws: an error for too many redirects, for a redirect from https to http that the policy does not allow, for a body that must not be sent
    ///   to another origin, and for an invalid URL.
    mutating func next(
        after response: HTTPResponse, to request: HTTPRequest, at url: URL, of old: HTTPOrigin, hasBody: Bool,
        _ crossOrigin: CrossOriginPolicy, opensWebSocket: Bool = false
    ) throws(StreamError) -> NextRequest? {
        guard let location = response.redirectReference else { return nil }
        guard let target = resolve(location, against: url, opensWebSocket) else {
            throw .badURL("the redirect's Location is not a URL.")
        }
        guard ["http", "https"].contains(target.scheme?.lowercased()) else {
            throw .foreignRedirect(target.publicText)
        }
        let new = try HTTPOrigin(target)
        if old.isSecure, !new.isSecure, !crossOrigin.insecureAllowsHTTP { throw .insecureRedirect(target.publicText) }

        let method = RedirectPolicy.method(after: response.status.code, request.method)
        count += 1
        guard count <= RedirectPolicy.maximumRedirects else { throw .tooManyRedirects(RedirectPolicy.maximumRedirects) }

        let keepsBody = method == request.method
        if new != old, keepsBody, hasBody, !crossOrigin.sendsBody { throw .bodyToOtherOrigin(target.publicText) }
        do throws(HTTPMessageError) {
            var next = try HTTPRequest(method: method, url: target, version: request.version)
            next.fields = new == old ? request.fields : try crossOrigin.fields(of: request.fields)
            if !keepsBody {
                for name in Set(next.fields.map(\.name)) where RedirectPolicy.describesBody(name) {
                    next.fields.remove(name)
                }
            }
            return NextRequest(request: next, url: target, origin: new, keepsBody: keepsBody)
        } catch {
            throw .badURL("\(error)", underlying: error)
        }
    }

    /// The method of the next request.
    static func method(after status: Int, _ method: HTTPMethod) -> HTTPMethod {
        switch status {
        case 301, 302: method == .post ? .get : method
        case 303: method == .head ? .head : .get
        default: method
        }
    }

    /// Whether a field belongs to the body, and is dropped with it (RFC 9110 §15.4).
    private static func describesBody(_ name: HTTPFieldName) -> Bool {
        let others: [HTTPFieldName] = [.transferEncoding, .expect, .lastModified, "Trailer", "Digest", "Repr-Digest"]
        return others.contains(name) || name.canonicalName.lowercased().utf8.starts(with: "content-".utf8)
    }

    /// Resolves a reference, and removes dot segments (RFC 3986 §5.2). One without a fragment inherits that of `url` (RFC 9110 §10.2.2).
    private func resolve(_ location: String, against url: URL, _ opensWebSocket: Bool) -> URL? {
        guard let resolved = URL(string: location, relativeTo: url)?.absoluteURL else { return nil }
        var text = RedirectPolicy.withoutDotSegments(resolved.absoluteString)
        switch resolved.scheme?.lowercased() {
        case "ws" where opensWebSocket: text = "http" + text.dropFirst(2)
        case "wss" where opensWebSocket: text = "https" + text.dropFirst(3)
        default: break
        }
        if resolved.fragment == nil, let fragment = url.fragment(percentEncoded: true) { text += "#\(fragment)" }
        return URL(string: text)
    }

    /// Removes the segments `.` and `..` from the path of an absolute URL (RFC 3986 §5.2.4).
    private static func withoutDotSegments(_ url: String) -> String {
        let bytes = url.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return url
        }
        let authority = bytes.index(colon, offsetBy: 3)
        let end =
            bytes[authority...].firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? bytes.endIndex
        guard let slash = bytes[authority..<end].firstIndex(of: UInt8(ascii: "/")) else { return url }
        var kept: [Substring.UTF8View] = []
        let segments = bytes[slash..<end].dropFirst().split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment.count {
            case 1 where segment.elementsEqual(".".utf8): if isLast { kept.append("".utf8[...]) }
            case 2 where segment.elementsEqual("..".utf8):
                _ = kept.popLast()
                if isLast { kept.append("".utf8[...]) }
            default: kept.append(segment)
            }
        }
        return url[..<slash] + kept.map { "/" + String(Substring($0)) }.joined() + url[end...]
    }
}

/// The parts of a request that a redirect may take to another origin.
///
/// The target of a redirect is chosen by the server, so anything that goes along is given to a host of the server's choice. By
/// default that is nothing that could be a secret: ``safeFields``, and no body.
///
/// ```swift
/// var policy = CrossOriginPolicy()
/// policy.fields = ["X-Request-ID"]
/// try stream.set(.http(\.crossOrigin), to: policy)
/// ```
///
/// By default the client's certificate is not used with other origins (``sendsIdentity``), and relaxed TLS checks for the first
/// origin do not extend to them (``keepsTrust``). Both settings apply to every origin except the one that the application named;
/// relaxed checks apply also to https at the host of an http URL that it named, where a redirect to https adds protection.
///
/// For fields and body, the policy applies from the first redirect to another origin: a part that was removed there is not sent
/// again, even if a further redirect leads back.
public struct CrossOriginPolicy: Sendable, Hashable {
    /// Request fields that are sent to other origins, in addition to ``safeFields``. Default empty.
    ///
    /// A field named here is sent wherever a redirect leads, including `Authorization` and `Cookie`.
    public var fields: Set<HTTPFieldName>

    /// Whether a 307 or 308 may carry the request's body to another origin. Default false: the load fails instead.
    public var sendsBody: Bool

    /// Whether the client's certificate is used with other origins. Default false: a server there that requests one gets none.
    public var sendsIdentity: Bool

    /// Whether relaxed TLS verification extends to other origins. Default false: other origins are verified in full and by their
    /// own names, regardless of `TLSConfiguration.verification`, the `insecure…` switches, `peerName` and `serverNameIndication`.
    ///
    /// Roots, pins and a custom rule apply to all origins.
    public var keepsTrust: Bool

    /// Whether a redirect may lead from https to http. Default false: the load fails instead.
    ///
    /// Insecure: everybody on the route can then read the request and replace the response. What is sent to other origins is sent in
    /// clear, and a server of the http URL may be anybody's.
    public var insecureAllowsHTTP: Bool

    /// Makes a policy.
    public init(
        fields: Set<HTTPFieldName> = [], sendsBody: Bool = false, sendsIdentity: Bool = false, keepsTrust: Bool = false,
        insecureAllowsHTTP: Bool = false
    ) {
        self.fields = fields
        self.sendsBody = sendsBody
        self.sendsIdentity = sendsIdentity
        self.keepsTrust = keepsTrust
        self.insecureAllowsHTTP = insecureAllowsHTTP
    }

    /// The fields that are always sent: what the client accepts and what it is, the requested part and version of the resource,
    /// the type of the body, the handshake for another protocol, and where a stream of events continues.
    public static let safeFields: Set<HTTPFieldName> = [
        .accept, "Accept-Charset", .acceptEncoding, .acceptLanguage, .cacheControl, "Content-Disposition",
        .contentEncoding, "Content-Language", .contentLength, .contentRange, .contentType, .date, .expect, .ifMatch,
        .ifModifiedSince, .ifNoneMatch, .ifRange, "If-Unmodified-Since", "Last-Event-ID", "Pragma", .range,
        "Sec-WebSocket-Extensions", "Sec-WebSocket-Key", "Sec-WebSocket-Protocol", "Sec-WebSocket-Version", .te,
        .transferEncoding, .upgrade, .userAgent,
    ]

    /// A TLS configuration, reduced for an origin that the application did not name.
    func tls(_ own: TLSConfiguration, at standing: OriginStanding) -> TLSConfiguration {
        var tls = own
        if !sendsIdentity { tls.identity = nil }
        if !keepsTrust, standing == .other {
            tls.verification = .full
            tls.insecureAllowsExpiredCertificates = false
            tls.insecureAllowsExpiredRoots = false
            tls.insecureAllowsAnyRoot = false
            tls.peerName = nil
            if case .name = tls.serverNameIndication { tls.serverNameIndication = .peerName }
        }
        return tls
    }

    /// The fields of a request that may be sent to another origin.
    func fields(of all: HTTPFields) throws(HTTPMessageError) -> HTTPFields {
        var kept = HTTPFields()
        for field in all where CrossOriginPolicy.safeFields.contains(field.name) || fields.contains(field.name) {
            try kept.append(rawValue: field.rawValue, for: field.name)
        }
        return kept
    }
}

/// The next request of a load: that of a redirect, or the same one again.
struct NextRequest: Sendable {
    var request: HTTPRequest
    var url: URL
    var origin: HTTPOrigin
    var keepsBody: Bool
    /// The response that leads to the request by a redirect; nil for the same request again.
    var redirect: HTTPResponse?
}

/// How the origin of a request relates to the one that the application named.
enum OriginStanding: Sendable {
    case named
    /// It is an https origin at the host that the application named with http.
    case upgraded
    case other
}
