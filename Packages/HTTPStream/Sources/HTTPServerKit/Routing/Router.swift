public import HTTPStream

/// Chooses a handler by the method and the path of a request.
///
/// ```swift
/// var router = Router()
/// router.get("/users/:id") { call in
///     let id = try call.path.value("id", as: Int.self)        // otherwise 400
///     guard let user = await users.find(id) else { throw HTTPProblem(.notFound) }
///     try await call.respond(json: user)
/// }
/// try await HTTPServer(port: 8080).run(router)
/// ```
///
/// Of several routes that match a path, the one with the earlier literal is used: `/users/me` before `/users/:id`. A path that
/// exists with other methods only is a 405 with `Allow`; `HEAD` uses the route of `GET`, without the body; `OPTIONS` is answered
/// for each path that exists. A path with an invalid escape or with a `..` segment is a 400, and so is a query with an invalid escape, except for
/// files (``files(_:_:)``).
public struct Router: Sendable {
    /// Responds to a request. An ``HTTPProblem`` that it throws is the response.
    public typealias Handler = @Sendable (RoutedExchange) async throws -> Void

    /// The compression of responses; nil, the default, for none. See ``ResponseCompression``.
    public var compression: ResponseCompression?

    private var table = RouteTable()
    private var routes: [Route] = []

    private struct Route {
        let handler: Handler
        /// Whether the handler may read the query. Files do not depend on it: a malformed one does no harm.
        let readsQuery: Bool
    }

    /// Makes a router without routes.
    public init() {}

    /// Adds a route.
    ///
    /// - Precondition: No route with this method matches the same paths.
    public mutating func on(_ method: HTTPMethod, _ pattern: RoutePattern, _ handler: @escaping Handler) {
        add(method, pattern, handler)
    }

    private mutating func add(
        _ method: HTTPMethod, _ pattern: RoutePattern, readsQuery: Bool = true, _ handler: @escaping Handler
    ) {
        table.add(method, pattern)
        routes.append(Route(handler: handler, readsQuery: readsQuery))
    }

    /// Adds a route for `GET` and `HEAD`.
    public mutating func get(_ pattern: RoutePattern, _ handler: @escaping Handler) { on(.get, pattern, handler) }

    /// Adds a route for `POST`.
    public mutating func post(_ pattern: RoutePattern, _ handler: @escaping Handler) { on(.post, pattern, handler) }

    /// Adds a route for `PUT`.
    public mutating func put(_ pattern: RoutePattern, _ handler: @escaping Handler) { on(.put, pattern, handler) }

    /// Adds a route for `PATCH`.
    public mutating func patch(_ pattern: RoutePattern, _ handler: @escaping Handler) {
        on(.patch, pattern, handler)
    }

    /// Adds a route for `DELETE`.
    public mutating func delete(_ pattern: RoutePattern, _ handler: @escaping Handler) {
        on(.delete, pattern, handler)
    }

    /// Adds a route that serves the files of a folder with `GET` and `HEAD`.
    ///
    /// ```swift
    /// router.files("/assets/*path", try StaticFiles("/srv/assets"))
    /// ```
    ///
    /// - Precondition: The pattern ends with `*` and a name.
    public mutating func files(_ pattern: RoutePattern, _ files: StaticFiles) {
        guard case .rest(let name)? = pattern.segments.last else {
            preconditionFailure("\(pattern): the path of files must end with * and a name")
        }
        add(.get, pattern, readsQuery: false) { call in
            try await files.respond(to: call, path: call.path[name] ?? "")
        }
    }

    /// Responds to a request: the handler of a server.
    ///
    /// - Throws: the error of the route's handler, unless it is an ``HTTPProblem`` thrown before the response.
    public func handle(_ exchange: HTTPServerExchange) async throws {
        let request = exchange.request
        do {
            switch table.choose(request.method, request.target) {
            case .route(let number, let parameters):
                let route = routes[number]
                guard let query = QueryParameters(route.readsQuery ? request.target.query ?? "" : "") else {
                    throw HTTPProblem(.badRequest, "The query has an invalid percent-escape.")
                }
                try await route.handler(
                    RoutedExchange(
                        exchange, path: PathParameters(parameters), query: query, compression: compression))
            case .options(let allow):
                try await exchange.respond(.noContent, fields: Router.allowing(allow))
            case .methodNotAllowed(let allow):
                throw HTTPProblem(.methodNotAllowed, fields: Router.allowing(allow))
            case .notFound: throw HTTPProblem(.notFound)
            case .badPath: throw HTTPProblem(.badRequest, "The path is invalid.")
            }
        } catch let problem as HTTPProblem {
            if exchange.hasResponse { throw problem }
            var fields = problem.fields
            try fields.set("application/problem+json", for: .contentType)
            try await exchange.respond(problem.status, fields: fields, body: problem.body)
        }
    }

    private static func allowing(_ methods: [String]) -> HTTPFields {
        var fields = HTTPFields()
        // Names of methods are tokens, which are valid values.
        try? fields.set(methods.joined(separator: ", "), for: "Allow")
        return fields
    }
}

extension HTTPServer {
    /// Serves clients with a router until ``HTTPServer/stop(within:)`` is called or the task is cancelled.
    ///
    /// - Throws: as `run(_:)` with a handler.
    public func run(_ router: Router) async throws(StreamError) {
        try await run { exchange in try await router.handle(exchange) }
    }
}
