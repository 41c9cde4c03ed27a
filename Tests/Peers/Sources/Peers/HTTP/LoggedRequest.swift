internal import Foundation

/// One line of a server's access log: what it saw of a request.
public struct LoggedRequest: Hashable, Sendable {
    /// A number that is the same for all requests of one connection.
    public var connection: Int
    /// 1 for the first request on its connection: more means that the connection was kept and used again.
    public var requestOnConnection: Int
    /// The method.
    public var method: String
    /// The request target as it came, with its query.
    public var target: String
    /// `HTTP/1.1` and the like.
    public var version: String
    /// The status of the answer.
    public var status: Int
    /// The bytes of the answer's body as sent.
    public var bodyBytes: Int
    /// The value of each of these fields, or the empty string.
    public var host: String
    /// `Authorization`.
    public var authorization: String
    /// `Cookie`.
    public var cookie: String
    /// `TLSv1.3` and the like, or the empty string.
    public var tlsVersion: String
    /// The server name that the client asked for (SNI), or the empty string.
    public var serverName: String
    /// Whether the TLS session was resumed.
    public var isResumed: Bool
}

extension LoggedRequest: Decodable {
    private enum CodingKeys: String, CodingKey {
        case connection, request, method, target, version, status, bytes, host, authorization, cookie, tls, sni, resumed
    }

    /// Reads what the log format of ``Nginx`` writes.
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

    /// Reads a log of one JSON object per line; a line that is not complete yet is left out.
    static func parse(_ log: [UInt8]) -> [Self] {
        log.split(separator: UInt8(ascii: "\n")).compactMap { try? JSONDecoder().decode(Self.self, from: Data($0)) }
    }

    /// The log format for nginx: every value a string, because nginx writes some numbers as `000` or not at all.
    static let nginxFormat =
        [
            "connection": "connection", "request": "connection_requests", "method": "request_method",
            "target": "request_uri", "version": "server_protocol", "status": "status", "bytes": "body_bytes_sent",
            "host": "http_host", "authorization": "http_authorization", "cookie": "http_cookie", "tls": "ssl_protocol",
            "sni": "ssl_server_name", "resumed": "ssl_session_reused",
        ].map { "\"\($0)\":\"$\($1)\"" }.sorted().joined(separator: ",")
}
