public import HTTPStream

/// A response that a handler throws: a status, and a sentence for the client (RFC 9457).
///
/// ```swift
/// guard let user = users[id] else { throw HTTPProblem(.notFound, "There is no user \(id).") }
/// ```
///
/// The router sends it as `application/problem+json`, unless the handler has begun another response. It is not an error of the
/// server and is not passed to `HTTPServer.Configuration.onError`.
public struct HTTPProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The status of the response: 400 to 599.
    public let status: HTTPStatus

    /// A sentence for the client; nil to send only the status. It must contain no secrets.
    public let detail: String?

    /// Further fields of the response, such as `Retry-After`.
    public var fields: HTTPFields

    /// Makes a problem.
    ///
    /// - Precondition: The status is an error: 400 to 599.
    public init(_ status: HTTPStatus, _ detail: String? = nil, fields: HTTPFields = HTTPFields()) {
        precondition(400...599 ~= status.code, "HTTPProblem: the status must be an error")
        self.status = status
        self.detail = detail
        self.fields = fields
    }

    /// The status and the sentence.
    public var description: String {
        "\(status) \(status.standardPhrase)" + (detail.map { ": \($0)" } ?? "")
    }

    /// The body: an object with `title`, `status` and `detail`.
    var body: [UInt8] {
        let detail = detail.map { #","detail":\#(HTTPProblem.quoted($0))"# } ?? ""
        return Array(
            #"{"title":\#(HTTPProblem.quoted(status.standardPhrase)),"status":\#(status.code)\#(detail)}"#.utf8)
            + [0x0a]
    }

    /// A JSON string (RFC 8259 §7). Written here because a problem must not depend on an encoder that throws.
    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case "\n": result += "\\n"
            default:
                if scalar.value < 0x20 {
                    result += "\\u00\(scalar.value < 0x10 ? "0" : "")\(String(scalar.value, radix: 16))"
                } else {
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return result + "\""
    }
}

extension String {
    /// The text for a message to the client: at most 64 characters.
    var excerpt: String { count > 64 ? "\(prefix(64))…" : self }
}
