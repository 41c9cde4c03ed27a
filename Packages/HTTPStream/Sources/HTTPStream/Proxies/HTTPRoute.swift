internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// How a request reaches its origin: the proxy routes of its connection, and the form in which it is sent.
///
/// An `https` request and one that offers another protocol use tunnels, which the connection establishes. Any other `http` request is
/// sent to the last proxy of the route if that is an HTTP proxy (RFC 9112 §3.2.2) without ``HTTPProxy/usesTunnels``: the connection then
/// ends there, and the request names its origin.
struct HTTPRoute: Sendable {
    /// The routes to the endpoint of the connection.
    var routes: [ProxyRoute] = []
    /// The proxy at which the connection ends; nil if it ends at the origin.
    var proxy: HTTPProxy?

    /// The routes to try for an origin, in order. Proxy routes that need the same form of the request are tried by the stream.
    ///
    /// - Parameter inTunnels: whether all proxies have to establish tunnels: a proxy that receives an offer of another protocol
    ///   itself rarely supports that protocol (RFC 6455 §4.1).
    static func all(
        to origin: HTTPOrigin, through routes: [ProxyRoute], inTunnels: Bool = false
    ) -> [HTTPRoute] {
        if origin.isSecure || inTunnels || routes.isEmpty { return [HTTPRoute(routes: routes)] }
        var candidates: [HTTPRoute] = []
        for route in routes {
            if let proxy = route.requestProxy {
                let before = ProxyRoute(hops: route.hops.dropLast())
                candidates.append(HTTPRoute(routes: before.isDirect ? [] : [before], proxy: proxy))
            } else if candidates.last?.proxy == nil, !candidates.isEmpty {
                candidates[candidates.count - 1].routes.append(route)
            } else {
                candidates.append(HTTPRoute(routes: [route]))
            }
        }
        return candidates
    }

    /// Returns the request in the form that is sent.
    ///
    /// - Parameters:
    ///   - proxy: the proxy that receives the request; nil for the origin. Proxy credentials are removed from requests to any
    ///     other recipient.
    ///   - owner: the proxy that the caller's own credentials are for.
    ///   - logins: the session's logins for proxies.
    ///   - body: the body, for a login that signs it.
    static func form(
        _ request: HTTPRequest, of url: URL, for proxy: HTTPProxy?, owner: HTTPProxy? = nil,
        _ logins: ProxyLogins? = nil, body: AuthenticationBody = .bytes([])
    ) throws(StreamError) -> HTTPRequest {
        let hasOwn = !request.fields.isEmpty && request.fields.contains(.proxyAuthorization)
        guard proxy != nil || hasOwn else { return request }
        var request = request
        do throws(HTTPMessageError) {
            guard let proxy else {
                request.fields.remove(.proxyAuthorization)
                return request
            }
            if hasOwn, owner?.space != proxy.space { request.fields.remove(.proxyAuthorization) }
            try request.setTarget(RequestTarget(absolute: url))
            // The proxy itself logs in to the FTP server; no other program sees the field.
            if url.scheme?.lowercased() == "ftp", let user = url.user(percentEncoded: false),
                !request.fields.contains(.authorization)
            {
                let text = "\(user):\(url.password(percentEncoded: false) ?? "")"
                try request.fields.set("Basic \(Data(text.utf8).base64EncodedString())", for: .authorization)
            }
            let login = logins?[proxy]
            if let value = login?.value { try request.fields.set(rawValue: value, for: .proxyAuthorization) }
            if login == nil, !hasOwn, let account = proxy.isSession ? proxy.unaskedLogin : proxy.ownLogin {
                account.sign(&request, for: proxy.space, body: body)
            }
            for field in proxy.fields where !request.fields.contains(field.name) {
                if login != nil, field.name == .proxyAuthorization { continue }
                try request.fields.append(field.value, for: field.name)
            }
            return request
        } catch {
            throw StreamError(error)
        }
    }

    /// Returns the proxy that the caller's own credentials are for: the only one on all routes. With several proxies, the
    /// recipient is ambiguous, and the credentials are sent to none of them.
    static func owner(of request: HTTPRequest, in routes: [ProxyRoute]) -> HTTPProxy? {
        guard !request.fields.isEmpty, request.fields.contains(.proxyAuthorization) else { return nil }
        let proxies = routes.flatMap { $0.hops.compactMap { $0 as? HTTPProxy } }
        guard let first = proxies.first, proxies.allSatisfy({ $0.space == first.space }) else { return nil }
        return first
    }

    /// Returns the routes, with the caller's own credentials added to the proxy that they are for.
    static func routes(_ routes: [ProxyRoute], for request: HTTPRequest) throws(StreamError) -> [ProxyRoute] {
        guard let owner = owner(of: request, in: routes), let value = request.fields[.proxyAuthorization] else {
            return routes
        }
        var known: [ProxyRoute] = []
        for route in routes {
            var hops = route.hops
            for index in hops.indices {
                guard var proxy = hops[index] as? HTTPProxy, proxy.space == owner.space else { continue }
                do throws(HTTPMessageError) {
                    try proxy.fields.set(value, for: .proxyAuthorization)
                } catch {
                    throw StreamError(error)
                }
                hops[index] = proxy
            }
            known.append(ProxyRoute(hops: hops))
        }
        return known
    }
}
