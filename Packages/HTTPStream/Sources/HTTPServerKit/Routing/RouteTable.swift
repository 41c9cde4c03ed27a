internal import HTTPStream

/// Chooses the route of a request. A value without I/O.
struct RouteTable: Sendable {
    /// The choice for a request.
    enum Choice: Hashable {
        /// The number of the route, in the order of ``add(_:_:)``, and the parameters of its path.
        case route(Int, parameters: [String: String])
        /// The path exists; the methods are for `Allow` (RFC 9110 §10.2.1).
        case options(allow: [String])
        /// The path exists with other methods only.
        case methodNotAllowed(allow: [String])
        case notFound
        /// The path has an invalid escape, a `.` or `..` segment, or an escaped `/` that the route does not permit.
        case badPath
    }

    private struct Route {
        let method: HTTPMethod
        let pattern: RoutePattern
        let number: Int
    }

    /// Sorted: the preferred ones first.
    private var routes: [Route] = []

    /// Adds a route.
    ///
    /// - Precondition: No route with this method matches the same paths.
    mutating func add(_ method: HTTPMethod, _ pattern: RoutePattern) {
        precondition(
            !routes.contains { $0.method == method && $0.pattern.hasShape(of: pattern) },
            "\(method) \(pattern): there is a route for the same paths")
        let route = Route(method: method, pattern: pattern, number: routes.count)
        let position =
            routes.firstIndex { pattern.rank.lexicographicallyPrecedes($0.pattern.rank) } ?? routes.endIndex
        routes.insert(route, at: position)
    }

    /// Returns the choice for a request. `HEAD` is served by the route of `GET` unless it has one of its own, and `OPTIONS` is
    /// answered for each path that exists.
    func choose(_ method: HTTPMethod, _ target: RequestTarget) -> Choice {
        if target.form == .asterisk { return .options(allow: allow(routes)) }
        guard let path = target.path.flatMap({ RoutePath($0.isEmpty ? "/" : $0) }) else { return .badPath }
        var matches: [Route] = []
        var isBad = false
        var fallback: (Route, [String: String])?
        for route in routes {
            guard let parameters = route.pattern.match(path) else { continue }
            if path.hasSlashes, !route.pattern.permitsSlashes {
                isBad = true
                continue
            }
            if route.method == method { return .route(route.number, parameters: parameters) }
            if method == .head, route.method == .get, fallback == nil { fallback = (route, parameters) }
            matches.append(route)
        }
        if let (route, parameters) = fallback { return .route(route.number, parameters: parameters) }
        if matches.isEmpty { return isBad ? .badPath : .notFound }
        return method == .options ? .options(allow: allow(matches)) : .methodNotAllowed(allow: allow(matches))
    }

    private func allow(_ routes: [Route]) -> [String] {
        var names = Set(routes.map(\.method.name))
        if names.contains("GET") { names.insert("HEAD") }
        names.insert("OPTIONS")
        return names.sorted()
    }
}
