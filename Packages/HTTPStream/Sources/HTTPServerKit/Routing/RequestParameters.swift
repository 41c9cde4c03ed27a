internal import HTTPStream

/// The parameters in the path of a request, as named by the route's ``RoutePattern``.
public struct PathParameters: Sendable, Hashable {
    let values: [String: String]

    /// Makes parameters, for tests of handlers.
    public init(_ values: [String: String]) {
        self.values = values
    }

    /// The decoded text of a parameter; nil if the route has no such parameter.
    public subscript(name: String) -> String? { values[name] }

    /// Returns a parameter as a number or another value made of text.
    ///
    /// ```swift
    /// let id = try call.path.value("id", as: Int.self)
    /// ```
    ///
    /// - Throws: a 400 for the client if the text is not a value of the type; a 500 if the route has no such parameter.
    public func value<Value: LosslessStringConvertible>(
        _ name: String, as type: Value.Type = Value.self
    ) throws(HTTPProblem) -> Value {
        try value(name) { Value($0) }
    }

    /// Returns a parameter as a value that a closure makes of its text.
    ///
    /// ```swift
    /// let id = try call.path.value("id", UUID.init(uuidString:))
    /// ```
    ///
    /// - Throws: a 400 for the client if the closure returns nil; a 500 if the route has no such parameter.
    public func value<Value>(_ name: String, _ make: (String) -> Value?) throws(HTTPProblem) -> Value {
        guard let text = values[name] else { throw HTTPProblem(.internalServerError) }
        guard let value = make(text) else { throw .invalid("path", name, text, Value.self) }
        return value
    }
}

/// The query of a request, or the fields of a form: names and values, in order (`application/x-www-form-urlencoded`).
public struct QueryParameters: Sendable, Hashable {
    /// The decoded names and values, in order.
    public let items: [Item]

    /// A name and its value.
    public struct Item: Sendable, Hashable {
        /// The name.
        public let name: String
        /// The value; empty for a name without `=`.
        public let value: String

        /// Whether the name has the same bytes: a canonically equivalent name is another one for other programs.
        fileprivate func hasName(_ name: String) -> Bool { self.name.utf8.elementsEqual(name.utf8) }
    }

    /// Decodes a query, without its `?`. Returns nil for an invalid percent-escape and for invalid UTF-8.
    public init?(_ text: String) {
        var items: [Item] = []
        for part in text.utf8.split(separator: UInt8(ascii: "&")) {
            let pair = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentCoding.decode(pair[0], plusIsSpace: true),
                let value = PercentCoding.decode(pair.dropFirst().joined(), plusIsSpace: true)
            else { return nil }
            items.append(Item(name: name, value: value))
        }
        self.items = items
    }

    /// The first value with this name; nil if there is none.
    public subscript(name: String) -> String? { items.first { $0.hasName(name) }?.value }

    /// Returns all values with this name, in order.
    public func values(for name: String) -> [String] { items.filter { $0.hasName(name) }.map(\.value) }

    /// Returns the first value with this name as a number or another value made of text; nil if there is none.
    ///
    /// ```swift
    /// let page = try call.query.value("page", as: Int.self) ?? 1
    /// ```
    ///
    /// - Throws: a 400 for the client if the text is not a value of the type.
    public func value<Value: LosslessStringConvertible>(
        _ name: String, as type: Value.Type = Value.self
    ) throws(HTTPProblem) -> Value? {
        guard let text = self[name] else { return nil }
        guard let value = Value(text) else { throw .invalid("query", name, text, Value.self) }
        return value
    }

    /// Returns the first value with this name.
    ///
    /// - Throws: a 400 for the client if there is none, or if the text is not a value of the type.
    public func required<Value: LosslessStringConvertible>(
        _ name: String, as type: Value.Type = Value.self
    ) throws(HTTPProblem) -> Value {
        guard let value = try value(name, as: type) else {
            throw HTTPProblem(.badRequest, "The query parameter \"\(name)\" is required.")
        }
        return value
    }
}

extension HTTPProblem {
    /// A parameter that has no value of the type.
    fileprivate static func invalid(_ kind: String, _ name: String, _ text: String, _ type: Any.Type) -> HTTPProblem {
        let expected =
            switch type {
            case is any FixedWidthInteger.Type: "an integer"
            case is any BinaryFloatingPoint.Type: "a number"
            case is Bool.Type: "true or false"
            default: "a valid \(type)"
            }
        return HTTPProblem(
            .badRequest, "The \(kind) parameter \"\(name)\" must be \(expected), not \"\(text.excerpt)\".")
    }
}
