import FoundationEssentials
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

@Suite(.timeLimit(.minutes(5))) struct ResponseSuccessTests {
    private func response(_ status: HTTPStatus, url: String? = nil) throws -> HTTPResponse {
        var response = try HTTPResponse(status: status)
        response.url = url.flatMap { URL(string: $0) }
        return response
    }

    @Test(arguments: [200, 201, 204, 206, 299])
    func success(_ status: HTTPStatus) throws {
        var response = try response(status)
        response.body = [1]
        #expect(try response.requireSuccess() == response)
        try response.requireSuccess()  // without a warning
    }

    @Test(
        "the message names the status, the public URL and what it means",
        arguments: [
            (304, "The response for http://a/b?c is not a success: 304 Not Modified."),
            (400, "The response for http://a/b?c is not a success: 400 Bad Request."),
            (401, "The server requires a login for http://a/b?c: 401 Unauthorized."),
            (403, "The server refuses access to http://a/b?c: 403 Forbidden."),
            (404, "The server has no resource at http://a/b?c: 404 Not Found."),
            (407, "The proxy requires a login for http://a/b?c: 407 Proxy Authentication Required."),
            (416, "The response for http://a/b?c is not a success: 416 Range Not Satisfiable."),
            (503, "The server does not serve requests for http://a/b?c now: 503 Service Unavailable. Try again later."),
            (500, "The server failed to respond for http://a/b?c: 500 Internal Server Error."),
            (999, "The server failed to respond for http://a/b?c: 999 Unknown Status."),
        ] as [(HTTPStatus, String)])
    func message(_ status: HTTPStatus, _ message: String) throws {
        let failed = try response(status, url: "http://user:secret@a/b?c#d")
        let error = try #require(throws: StreamError.self) { try failed.requireSuccess() }
        #expect("\(error)" == message)
        #expect(error.domain == .httpStatus && error.code == status.code)
        #expect(error.httpStatus == status && error.httpResponse == failed)
        #expect(!error.isTimeout && !error.isCancellation)
    }

    /// The 416 of a download whose file is complete, and any other.
    @Test func ofADownload() throws {
        var response = try response(.rangeNotSatisfiable)
        response.isFileComplete = true
        try response.requireSuccess()
        response.isFileComplete = false
        #expect(throws: StreamError.self) { try response.requireSuccess() }
    }

    @Test func withoutURL() throws {
        let error = try #require(throws: StreamError.self) { try response(.notFound).requireSuccess() }
        #expect("\(error)" == "The server has no resource: 404 Not Found.")
    }

    @Test(arguments: [("https://joe:x@c/d", "https://c/d"), ("/x?y", "http://a/x?y")])
    func aRedirectThatWasNotFollowed(_ location: String, _ url: String) throws {
        var moved = try response(.found, url: "http://a/b")
        try moved.fields.set(location, for: .location)
        let error = try #require(throws: StreamError.self) { try moved.requireSuccess() }
        #expect("\(error)" == "The server redirects http://a/b to \(url), which was not followed: 302 Found.")
    }

    @Test func otherErrorsHaveNoStatus() {
        #expect(StreamError.cancelled.httpStatus == nil && StreamError.badURL("x").httpResponse == nil)
    }

    /// An error response is decoded like any other: it throws the decoder's error, unless it is checked first.
    @Test func ofASession() async throws {
        struct Note: Decodable { var title: String }
        let problem = "HTTP/1.1 404 X\r\nContent-Length: 4\r\n\r\ngone"
        let note = "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"title\":\"milk\"}"
        let server = try TurnServer([problem, problem, problem, note])
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/note"))
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.proxies = .direct
        let session = HTTPSession(configuration)
        #expect(try await session.get(url).status == .notFound)
        await #expect(throws: DecodingError.self) { try await session.get(url).decode(Note.self) }
        do {
            try await session.get(url).requireSuccess()
            Issue.record("no error")
        } catch {
            #expect(error.httpStatus == .notFound && error.httpResponse?.text == "gone")
            #expect("\(error)" == "The server has no resource at \(url): 404 Not Found.")
        }
        #expect(try await session.get(url).requireSuccess().decode(Note.self).title == "milk")
    }
}
