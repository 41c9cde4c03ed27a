internal import FoundationEssentials
internal import HTTPMessage
internal import StreamKit

/// Where a redirect leads and with what request: RFC 9110 §15.4, and what keeps secrets at home.
public struct RedirectPolicy: Sendable {
    /// How many redirects are followed for one load.
    public static let limit = 20

    private var seen: Set<String> = []
    private var count = 0

    init() {}

    /// One step on the way.
    struct Hop {
        var request: HTTPRequest
        var url: URL
        var origin: HTTPOrigin
        var keepsBody: Bool
    }

    /// The next request, or nil if the answer is no redirect that can be followed.
    ///
    /// - Parameters:
    ///   - hasBody: whether the request has a body, apart from `request`.
    ///   - crossOrigin: what goes along to another origin.
    /// - Throws: for a loop, for too many, for https that leads to http, for a body that must not go to another origin, and
    ///   for a URL that is none.
    mutating func next(
        after response: HTTPResponse, to request: HTTPRequest, at url: URL, of old: HTTPOrigin, hasBody: Bool,
        _ crossOrigin: CrossOriginPolicy
    ) throws(StreamError) -> Hop? {
        guard let location = response.redirectLocation else { return nil }
        guard let target = resolve(location, against: url) else {
            throw .badURL("the redirect's Location is not a URL.")
        }
        guard ["http", "https"].contains(target.scheme?.lowercased()) else {
            throw .foreignRedirect(target.publicText)
        }
        let new = try HTTPOrigin(target)
        if old.isSecure, !new.isSecure { throw .insecureRedirect(target.publicText) }

        let method = RedirectPolicy.method(after: response.status.code, request.method)
        seen.insert(RedirectPolicy.key(request.method, url))
        guard seen.insert(RedirectPolicy.key(method, target)).inserted else {
            throw .redirectLoop(target.publicText)
        }
        count += 1
        guard count <= RedirectPolicy.limit else { throw .tooManyRedirects(RedirectPolicy.limit) }

        let keepsBody = method == request.method
        if new != old, keepsBody, hasBody, !crossOrigin.sendsBody { throw .bodyToOtherOrigin(target.publicText) }
        do throws(HTTPMessageError) {
            var next = try HTTPRequest(method: method, url: target, version: request.version)
            next.fields = new == old ? request.fields : try crossOrigin.fields(of: request.fields)
            if !keepsBody {
                for name in [HTTPFieldName.contentLength, .contentType, .contentEncoding, .transferEncoding, .expect] {
                    next.fields.remove(name)
                }
            }
            return Hop(request: next, url: target, origin: new, keepsBody: keepsBody)
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

    /// A reference without a fragment takes over the old one (RFC 9110 §10.2.2).
    private func resolve(_ location: String, against url: URL) -> URL? {
        guard let target = URL(string: location, relativeTo: url)?.absoluteURL else { return nil }
        guard target.fragment == nil, let fragment = url.fragment else { return target }
        return URL(string: "\(target.absoluteString)#\(fragment)") ?? target
    }

    private static func key(_ method: HTTPMethod, _ url: URL) -> String {
        "\(method) \(url.absoluteString.prefix { $0 != "#" })"
    }
}
