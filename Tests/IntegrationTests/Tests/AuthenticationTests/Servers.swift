import Foundation
import HTTPAuth
import HTTPMessage
import NetKit
import Peers
import StreamKit

typealias Origin = Peers.HTTPOrigin

/// The servers that require a login, one of each for all tests. Both have the user alice with the password "open sesame".
enum Servers {
    static let apache = Result {
        let apache = Apache(listeners: [.plain, .tls])
        try apache.start()
        try apache.write("secret.txt", Array("treasure".utf8))
        return apache
    }

    static let lighttpd = Result {
        let lighttpd = Lighttpd()
        try lighttpd.start()
        try lighttpd.write("secret.txt", Array("treasure".utf8))
        return lighttpd
    }

    /// The protected resources of both servers, by name.
    static let names = [
        "apache basic", "apache digest", "lighttpd basic", "lighttpd md5", "lighttpd sha256", "lighttpd sha512",
        "lighttpd both", "lighttpd userhash",
    ]

    static func url(_ name: String) throws -> URL {
        let words = name.split(separator: " ")
        let path = "/\(words[1])/secret.txt"
        let text = words[0] == "apache" ? try apache.get().url(.plain, path) : try lighttpd.get().url(path)
        guard let url = URL(string: text) else { throw URLError(.badURL) }
        return url
    }
}

/// The response that a plain stream received.
struct Answer {
    var response: HTTPResponse
    var text: String
}

/// Sends a request with a plain HTTP stream, without authentication.
func send(_ request: HTTPRequest) async throws -> Answer {
    let stream = ReadStream(request: request)
    try stream.open()
    defer { stream.close() }
    let response = try await stream.response()
    var body: [UInt8] = []
    for try await chunk in stream.chunks() { body += chunk }
    return Answer(response: response, text: String(decoding: body, as: UTF8.self))
}
