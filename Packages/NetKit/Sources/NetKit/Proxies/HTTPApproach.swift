internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// How a request gets near its origin: over which ways, and in which form it is sent.
///
/// An `https` request goes through tunnels, which are the connection's business. An `http` request is given to a proxy
/// that is an HTTP proxy (RFC 9112 §3.2.2): then the connection ends there, and the request says whom it is for.
struct HTTPApproach: Sendable {
    /// The ways to where the connection ends.
    var routes: [ProxyRoute] = []
    /// The proxy where it ends; nil if it ends at the origin.
    var proxy: HTTPProxy?

    /// What to try for an origin, in order; ways that take the same form are left to the stream.
    static func all(to origin: HTTPOrigin, through routes: [ProxyRoute]) -> [HTTPApproach] {
        if origin.isSecure || routes.isEmpty { return [HTTPApproach(routes: routes)] }
        var approaches: [HTTPApproach] = []
        for route in routes {
            if let proxy = route.hops.last as? HTTPProxy {
                let before = ProxyRoute(hops: route.hops.dropLast())
                approaches.append(HTTPApproach(routes: before.isDirect ? [] : [before], proxy: proxy))
            } else if approaches.last?.proxy == nil, !approaches.isEmpty {
                approaches[approaches.count - 1].routes.append(route)
            } else {
                approaches.append(HTTPApproach(routes: [route]))
            }
        }
        return approaches
    }

    /// The request in the form that is sent.
    ///
    /// - Parameters:
    ///   - proxy: who is given the request; nil for the origin. Whoever is not meant does not see what is for a proxy.
    ///   - owner: the proxy that the caller's own credentials are for.
    ///   - logins: what a session has for proxies.
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
            // Of FTP the proxy itself logs in, and nobody else sees this.
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

    /// The proxy that a caller's own credentials are for: the only one on all the ways. If there are several, nobody can
    /// say for which they are, and none gets them.
    static func owner(of request: HTTPRequest, in routes: [ProxyRoute]) -> HTTPProxy? {
        guard !request.fields.isEmpty, request.fields.contains(.proxyAuthorization) else { return nil }
        let proxies = routes.flatMap { $0.hops.compactMap { $0 as? HTTPProxy } }
        guard let first = proxies.first, proxies.allSatisfy({ $0.space == first.space }) else { return nil }
        return first
    }

    /// The ways, with the caller's own credentials for the proxy that they are for.
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
