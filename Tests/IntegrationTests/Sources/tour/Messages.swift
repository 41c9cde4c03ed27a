import Foundation
import NetKitFoundation

/// Protocols without I/O.
enum Messages {
    /// A chunked response that arrives byte by byte, and a response with two lengths.
    static func parse() throws -> String {
        var parser = MessageParser(.response)
        parser.expectResponse(to: .get)
        var (status, body) = ("", "")
        for byte in "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n".utf8 {
            try parser.append([byte])
            while let event = try parser.next() {
                if case .response(let response) = event { status = response.statusLine }
                if case .body(let bytes) = event { body += String(decoding: bytes, as: UTF8.self) }
            }
        }
        var strict = MessageParser(.response)
        strict.expectResponse(to: .get)
        do {
            try strict.append(Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello".utf8))
            while try strict.next() != nil {}
        } catch {
            return "read '\(body)' of \(status) byte by byte; refused two lengths: \(error)"
        }
        throw Surprise("two lengths were let through")
    }

    /// The challenges of a server, and the answer.
    static func answerAChallenge() async throws -> String {
        var response = try HTTPResponse(status: .unauthorized)
        response.url = URL(string: "https://www.example.org/")
        try response.fields.append("Basic realm=\"staff\"", for: .wwwAuthenticate)
        try response.fields.append(
            "Digest realm=\"staff\", qop=\"auth\", algorithm=SHA-256, nonce=\"n\"", for: .wwwAuthenticate)
        guard let authentication = HTTPAuthentication(response: response), let url = response.url else {
            throw Surprise("no challenge was found")
        }
        var request = try HTTPRequest(method: .get, url: url)
        let credential = Credential(user: "ann", password: "open sesame", for: authentication.space)
        try await authentication.apply(to: &request, credential)
        let sent = request.fields[.authorization] ?? ""
        return
            "offered Basic and Digest, answered '\(sent.prefix(24))…', without the password: \(!sent.contains("sesame"))"
    }
}
