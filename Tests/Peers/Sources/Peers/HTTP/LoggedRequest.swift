internal import Foundation

/// One request in a server's access log.
public struct LoggedRequest: Hashable, Sendable {
    /// The number of the connection, the same for all its requests.
    public var connection: Int
    /// The number of the request on its connection, from 1. A higher number means that the connection was reused.
    public var requestOnConnection: Int
    /// The method.
    public var method: String
    /// The request target as received, with its query.
    public var target: String
    /// The protocol version, such as `HTTP/1.1`.
    public var version: String
    /// The status of the response.
    public var status: Int
    /// The size of the response body in bytes, as sent.
    public var bodyBytes: Int
    /// The value of the field `Host`, or the empty string.
    public var host: String
    /// The value of the field `Authorization`, or the empty string.
    public var authorization: String
    /// The value of the field `Cookie`, or the empty string.
    public var cookie: String
    /// The TLS version, such as `TLSv1.3`, or the empty string.
    public var tlsVersion: String
    /// The server name that the client sent (SNI), or the empty string.
    public var serverName: String
    /// Whether the TLS session was resumed.
    public var isResumed: Bool
}

extension LoggedRequest: Decodable {
    private enum CodingKeys: String, CodingKey {
        case connection, request, method, target, version, status, bytes, host, authorization, cookie, tls, sni, resumed
    }

    /// Decodes a line in the log format of ``Nginx``.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        func text(_ key: CodingKeys) throws -> String { try values.decode(String.self, forKey: key) }
        func number(_ key: CodingKeys) throws -> Int { Int(try text(key)) ?? 0 }
        connection = try number(.connection)
        requestOnConnection = try number(.request)
        method = try text(.method)
        target = try text(.target)
        version = try text(.version)
        status = try number(.status)
        bodyBytes = try number(.bytes)
        host = try text(.host)
        authorization = try text(.authorization)
        cookie = try text(.cookie)
        tlsVersion = try text(.tls)
        serverName = try text(.sni)
        isResumed = try text(.resumed) == "r"
    }

    /// Parses a log of one JSON object per line; ignores a last line that is not complete yet.
    static func parse(_ log: [UInt8]) -> [Self] {
        log.split(separator: UInt8(ascii: "\n")).compactMap { try? JSONDecoder().decode(Self.self, from: Data($0)) }
    }

    /// The log format for nginx. Every value is a string, because nginx writes some numbers as `000` or leaves them out.
    static let nginxFormat =
        [
            "connection": "connection", "request": "connection_requests", "method": "request_method",
            "target": "request_uri", "version": "server_protocol", "status": "status", "bytes": "body_bytes_sent",
            "host": "http_host", "authorization": "http_authorization", "cookie": "http_cookie", "tls": "ssl_protocol",
            "sni": "ssl_server_name", "resumed": "ssl_session_reused",
        ].map { "\"\($0)\":\"$\($1)\"" }.sorted().joined(separator: ",")
}
