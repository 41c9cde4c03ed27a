public import FoundationEssentials
public import HTTPStream

/// A request with the parameters of its route, and its response.
///
/// ```swift
/// router.post("/notes") { call in
///     let note = try await call.json(Note.self)
///     await notes.add(note)
///     try await call.respond(.created, json: note)
/// }
/// ```
///
/// For bodies of any size, use ``exchange``: `readBody()`, `begin(_:length:)` and `write(_:)`.
public struct RoutedExchange: Sendable {
    /// The request and the response, piece by piece.
    public let exchange: HTTPServerExchange

    /// The parameters in the path.
    public let path: PathParameters

    /// The query.
    public let query: QueryParameters

    let compression: ResponseCompression?

    /// The head of the request.
    public var request: HTTPRequest { exchange.request }

    init(
        _ exchange: HTTPServerExchange, path: PathParameters, query: QueryParameters, compression: ResponseCompression?
    ) {
        self.exchange = exchange
        self.path = path
        self.query = query
        self.compression = compression
    }
}

// MARK: - The request's body

extension RoutedExchange {
    /// Returns the body of the request.
    ///
    /// - Parameter limit: The maximum length, in bytes. The server's own limit, `HTTPServer.Configuration.limits.bodyLength`,
    ///   applies as well.
    /// - Throws: a 413 for a longer body; the errors of `HTTPServerExchange.readBody(upTo:)`.
    public func body(limit: Int = 1 << 20) async throws -> [UInt8] {
        let tooLong = HTTPProblem(.contentTooLarge, "The body must have at most \(limit) bytes.")
        if let length = request.fields[.contentLength].flatMap(Int64.init), length > Int64(limit) { throw tooLong }
        var body: [UInt8] = []
        while case let piece = try await exchange.readBody(), !piece.isEmpty {
            guard body.count + piece.count <= limit else { throw tooLong }
            body += piece
        }
        return body
    }

    /// Decodes the body of the request as JSON (RFC 8259).
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - limit: The maximum length of the body, in bytes.
    ///   - decoder: The decoder.
    /// - Throws: a 415 unless `Content-Type` is `application/json` or ends with `+json`, and for a content coding; a 413 for a
    ///   longer body; a 400 that names the wrong value for another body; the errors of `HTTPServerExchange.readBody(upTo:)`.
    public func json<Value: Decodable>(
        _ type: Value.Type = Value.self, limit: Int = 1 << 20, decoder: JSONDecoder = JSONDecoder()
    ) async throws -> Value {
        try requireType("application/json") { $0 == "application/json" || $0.hasSuffix("+json") }
        let bytes = try await body(limit: limit)
        do {
            return try decoder.decode(type, from: Data(bytes))
        } catch let error as DecodingError {
            throw HTTPProblem(.badRequest, JSONFailure.sentence(error))
        }
    }

    /// Decodes the body of the request as the fields of a form (`application/x-www-form-urlencoded`).
    ///
    /// - Parameter limit: The maximum length of the body, in bytes.
    /// - Throws: as ``json(_:limit:decoder:)``.
    public func form(limit: Int = 1 << 20) async throws -> QueryParameters {
        let type = "application/x-www-form-urlencoded"
        try requireType(type) { $0 == type }
        let bytes = try await body(limit: limit)
        guard let text = String(validating: bytes, as: UTF8.self), let form = QueryParameters(text) else {
            throw HTTPProblem(.badRequest, "The form has an invalid percent-escape.")
        }
        return form
    }

    /// Checks the media type of the body, and that it has no content coding.
    private func requireType(_ accepted: String, _ isAccepted: (String) -> Bool) throws {
        let type = MediaType.essence(request.fields[.contentType] ?? "")
        guard isAccepted(type) else {
            var problem = HTTPProblem(.unsupportedMediaType, "The body must be \(accepted).")
            try problem.fields.set(accepted, for: .accept)
            throw problem
        }
        guard ["", "identity"].contains(request.fields[.contentEncoding]?.lowercased() ?? "") else {
            throw HTTPProblem(
                .unsupportedMediaType, "The body must have no content coding.", fields: ["Accept-Encoding": "identity"])
        }
    }
}

/// Messages for bodies that are not the expected JSON. They name the value by its path, and contain no part of the body.
private enum JSONFailure {
    static func sentence(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, let context):
            "The value \(path(context.codingPath + [key])) is missing."
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "The value \(path(context.codingPath)) has the wrong type."
        case .dataCorrupted(let context) where !context.codingPath.isEmpty:
            "The value \(path(context.codingPath)) is invalid."
        case .dataCorrupted: "The body is not valid JSON."
        @unknown default: "The body is not the expected JSON."
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        if keys.isEmpty { return "of the body" }
        return "\"" + keys.map { $0.intValue.map(String.init) ?? $0.stringValue.excerpt }.joined(separator: ".") + "\""
    }
}

// MARK: - The response

extension RoutedExchange {
    /// Responds with a status, fields and a body.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - fields: The fields; `Content-Length`, `Date` and `Connection` are added.
    ///   - body: The body.
    /// - Throws: as `HTTPServerExchange.respond(_:fields:body:)`.
    public func respond(
        _ status: HTTPStatus = .ok, fields: HTTPFields = HTTPFields(), body: [UInt8] = []
    ) async throws {
        var response = try HTTPResponse(status: status)
        response.fields = fields
        if let compression = try compressed(&response, length: Int64(body.count)) {
            return try await compression.send(body, response, on: exchange)
        }
        try await exchange.respond(status, fields: response.fields, body: body)
    }

    /// Responds with text in UTF-8.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - text: The text.
    ///   - type: The media type, without a charset.
    public func respond(
        _ status: HTTPStatus = .ok, text: String, type: String = "text/plain"
    ) async throws {
        var fields = HTTPFields()
        try fields.set("\(type); charset=utf-8", for: .contentType)
        try await respond(status, fields: fields, body: Array(text.utf8))
    }

    /// Responds with a value in JSON.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - value: The value.
    ///   - fields: Further fields; `Content-Type` is `application/json` unless they have another one.
    ///   - encoder: The encoder.
    /// - Throws: `EncodingError`; no response has begun then.
    public func respond(
        _ status: HTTPStatus = .ok, json value: some Encodable, fields: HTTPFields = HTTPFields(),
        encoder: JSONEncoder = JSONEncoder()
    ) async throws {
        let body = try [UInt8](encoder.encode(value))
        var fields = fields
        if !fields.contains(.contentType) { try fields.set("application/json", for: .contentType) }
        try await respond(status, fields: fields, body: body)
    }

    /// Responds with another location, which the client requests with `GET`.
    ///
    /// - Parameters:
    ///   - location: A URL, absolute or relative to that of the request. Do not take it from the request: a redirect to any URL
    ///     serves attackers.
    ///   - status: The status; 303 by default.
    public func redirect(to location: String, _ status: HTTPStatus = .seeOther) async throws {
        var fields = HTTPFields()
        try fields.set(location, for: .location)
        try await respond(status, fields: fields)
    }

    /// Decides about compression, and adds the fields of the decision. Returns nil for a response that is sent as it is.
    func compressed(_ response: inout HTTPResponse, length: Int64?) throws -> ResponseCompression? {
        guard let compression, compression.applies(to: response, length: length) else { return nil }
        try ContentCoding.vary(&response.fields)
        guard ContentCoding.preferred(request.fields[.acceptEncoding]) == .gzip, ResponseCompression.isAvailable else {
            return nil
        }
        try response.fields.set("gzip", for: .contentEncoding)
        // The compressed representation is another one (RFC 9110 §8.8.3).
        if let tag = response.fields[.entityTag], !tag.hasPrefix("W/") {
            try response.fields.set("W/\(tag)", for: .entityTag)
        }
        return compression
    }
}
