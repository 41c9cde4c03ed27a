import HTTPStream
import Testing

@testable import HTTPServerKit

@Suite struct RoutePatternTests {
    @Test(
        arguments: [
            ("/", "/", [:]), ("/users", "/users", [:]), ("/users/:id", "/users/7", ["id": "7"]),
            ("/users/:id/", "/users/7/", ["id": "7"]), ("/a/:x/b/:y", "/a/1/b/2", ["x": "1", "y": "2"]),
            ("/files/*path", "/files/a/b%20c", ["path": "a/b c"]), ("/files/*path", "/files/", ["path": ""]),
            ("/*path", "/", ["path": ""]), ("/t/:name", "/t/S%C3%A3o+P", ["name": "São+P"]),
            ("/t/:name", "/t/a%2Fb", ["name": "a/b"]), ("/caf%65", "/caf%2565", [:]), ("/x", "/%78", [:]),
            ("/users", "/users/", nil), ("/users/", "/users", nil), ("/users/:id", "/users/", nil),
            ("/users/:id", "/users/7/8", nil), ("/users/:id", "/Users/7", nil), ("/files/*path", "/files", nil),
            ("/", "//", nil), ("/a", "/b", nil),
            // The Kelvin sign is canonically equivalent to K, and U+0301 forms one character with the slash before it.
            ("/K", "/%E2%84%AA", nil), ("/café", "/cafe%CC%81", nil), ("/:x", "/a/\u{301}b", nil),
            ("/:x/:y", "/a/\u{301}b", ["x": "a", "y": "\u{301}b"]),
        ] as [(RoutePattern, String, [String: String]?)])
    func match(_ sample: (pattern: RoutePattern, path: String, parameters: [String: String]?)) throws {
        #expect(sample.pattern.match(try #require(RoutePath(sample.path))) == sample.parameters)
    }

    @Test(arguments: ["", "users", "/a//b", "//", "/:", "/*", "/*rest/x", "/:a/:a", "/:a/*a"])
    func invalidPatterns(_ text: String) {
        #expect(RoutePattern(text) == nil)
    }

    @Test(arguments: [
        "/../etc", "/a/..", "/a/%2e%2e/b", "/a/%2E./b", "/.", "/a/./b", "/%", "/%4", "/%zz", "/%ff", "/%00", "a", "",
    ])
    func invalidPaths(_ path: String) {
        #expect(RoutePath(path) == nil)
    }
}

@Suite struct RouteTableTests {
    /// An escaped `/` in a parameter needs a route that permits it.
    @Test(arguments: [
        ("/strict/a%2Fb", RouteTable.Choice.badPath), ("/strict/%2e%2e%2Fa", .badPath), ("/strict/..%2Fa", .badPath),
        ("/rest/a/b%2Fc", .badPath), ("/key/a%2Fb", .route(2, parameters: ["key": "a/b"])),
        ("/key/..%2F..%2Fa", .route(2, parameters: ["key": "../../a"])), ("/key/%2e%2e", .badPath),
        ("/none/a%2Fb", .notFound), ("/both/a%2Fb", .route(4, parameters: ["all": "a/b"])),
        ("/both/a", .route(3, parameters: ["name": "a"])),
    ])
    func escapedSlashes(_ path: String, _ choice: RouteTable.Choice) throws {
        var table = RouteTable()
        let (key, all): (RoutePattern, RoutePattern) = ("/key/:key", "/both/*all")
        table.add(.get, "/strict/:name")
        table.add(.get, "/rest/*path")
        table.add(.get, key.permittingSlashes)
        table.add(.get, "/both/:name")
        table.add(.get, all.permittingSlashes)
        #expect(table.choose(.get, try #require(RequestTarget(path))) == choice)
    }

    private static let table: RouteTable = {
        var table = RouteTable()
        table.add(.get, "/users/:id")  // 0
        table.add(.get, "/users/me")  // 1
        table.add(.delete, "/users/:name")  // 2
        table.add(.post, "/users")  // 3
        table.add(.get, "/*rest")  // 4
        table.add(.head, "/head")  // 5
        table.add(.get, "/head")  // 6
        table.add(.put, "/only/put")  // 7
        return table
    }()

    @Test(
        arguments: [
            (.get, "/users/7?x=/y", .route(0, parameters: ["id": "7"])),
            (.get, "/users/me", .route(1, parameters: [:])),
            // A parameter's route counts if the literal's has another method.
            (.delete, "/users/me", .route(2, parameters: ["name": "me"])),
            (.post, "/users", .route(3, parameters: [:])),
            (.get, "/", .route(4, parameters: ["rest": ""])),
            (.get, "http://h/users/7", .route(0, parameters: ["id": "7"])),
            (.get, "http://h", .route(4, parameters: ["rest": ""])),
            // HEAD from GET, unless it has a route of its own.
            (.head, "/users/7", .route(0, parameters: ["id": "7"])), (.head, "/head", .route(5, parameters: [:])),
            (.put, "/users/7", .methodNotAllowed(allow: ["DELETE", "GET", "HEAD", "OPTIONS"])),
            (.options, "/users", .options(allow: ["GET", "HEAD", "OPTIONS", "POST"])),
            (.options, "*", .options(allow: ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"])),
            (.get, "/../x", .badPath), (.get, "/%", .badPath),
        ] as [(HTTPMethod, RequestTarget, RouteTable.Choice)])
    func choose(_ sample: (method: HTTPMethod, target: RequestTarget, choice: RouteTable.Choice)) {
        #expect(Self.table.choose(sample.method, sample.target) == sample.choice)
    }

    @Test func unknownPath() {
        var table = RouteTable()
        table.add(.put, "/only/put")
        #expect(table.choose(.get, "/other") == .notFound)
        #expect(table.choose(.options, "/other") == .notFound)
        #expect(table.choose(.head, "/only/put") == .methodNotAllowed(allow: ["OPTIONS", "PUT"]))
    }
}

@Suite struct RequestParametersTests {
    @Test func values() throws {
        let path = PathParameters(["id": "7", "name": "x"])
        #expect(try path.value("id", as: Int.self) == 7)
        #expect(try path.value("name") { $0 == "x" ? true : nil })
        let query = try #require(QueryParameters("page=2&tag=a+b&tag=%C3%A9&flag&empty=&eq=a=b"))
        #expect(query["tag"] == "a b")
        #expect(query.values(for: "tag") == ["a b", "é"])
        #expect(query["flag"] == "" && query["empty"] == "" && query["eq"] == "a=b" && query["none"] == nil)
        #expect(try query.value("page", as: Int.self) == 2)
        #expect(try query.value("none", as: Int.self) == nil)
        #expect(try query.required("page", as: Double.self) == 2)
    }

    /// `&` and `=` separate beside combining marks as well, and only the same scalars are the same name.
    @Test func textOutsideASCII() throws {
        let form = try #require(QueryParameters("a=1&\u{301}b=2&c=3\u{D4E}&d=4&e=\u{301}5&%E2%84%AA=6"))
        #expect(form.items.map(\.name) == ["a", "\u{301}b", "c", "d", "e", "\u{212A}"])
        #expect(form.items.map(\.value) == ["1", "2", "3\u{D4E}", "4", "\u{301}5", "6"])
        #expect(form["K"] == nil && form.values(for: "K").isEmpty && form["\u{212A}"] == "6")
    }

    /// The sentences name the parameter, and repeat at most 64 characters of the client's text.
    @Test func sentences() throws {
        let long = String(repeating: "x", count: 100)
        let path = PathParameters(["id": "seven", "long": long])
        let query = try #require(QueryParameters("on=maybe&x=1e"))
        func problem(_ body: () throws -> Void) -> String? {
            do { try body() } catch { return (error as? HTTPProblem)?.description }
            return nil
        }
        #expect(
            problem { _ = try path.value("id", as: Int.self) }
                == #"400 Bad Request: The path parameter "id" must be an integer, not "seven"."#)
        #expect(problem { _ = try path.value("long", as: UInt8.self) }?.contains("\"\(long.prefix(64))…\"") == true)
        #expect(problem { _ = try path.value("other", as: Int.self) } == "500 Internal Server Error")
        #expect(
            problem { _ = try query.value("on", as: Bool.self) }
                == #"400 Bad Request: The query parameter "on" must be true or false, not "maybe"."#)
        #expect(problem { _ = try query.value("x", as: Double.self) }?.contains("a number") == true)
        #expect(
            problem { _ = try query.required("y", as: Int.self) }
                == #"400 Bad Request: The query parameter "y" is required."#)
    }

    @Test(arguments: ["a=%", "%4=1", "a=%ff"])
    func invalidQuery(_ text: String) {
        #expect(QueryParameters(text) == nil)
    }

    @Test func problemBody() {
        let problem = HTTPProblem(.badRequest, "a \"b\"\n\u{1}é")
        let expected = #"{"title":"Bad Request","status":400,"detail":"a \"b\"\n\u0001é"}"# + "\n"
        #expect(String(decoding: problem.body, as: UTF8.self) == expected)
    }
}
