import FoundationEssentials
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

@Suite struct LoadLogTests {
    @Test func requestsAndOutcomes() throws {
        let url = try #require(URL(string: "http://user:secret@example.org/path?q#f"))
        func fetch(_ method: HTTPMethod) throws -> Fetch { Fetch(try HTTPRequest(method: method, url: url), body: nil) }
        let get = try fetch(.get)
        let post = try fetch(.post)
        let put = try fetch(.put)
        var log = LoadLog()
        log.beginRequest(at: .now)
        let underway = log.report(nil, get, nil).steps.map(\.outcome)
        #expect(underway == [.underway])
        let answer = try HTTPResponse(status: 302)
        log.answered(answer, get)
        let answered = log.report(answer, get, nil).steps.map(\.outcome)
        #expect(answered == [.succeeded("HTTP/1.1 302 Found")])
        log.keepRequest(get, answer: answer)
        log.beginRequest(at: .now)
        log.failed(.closed, post)
        log.keepRequest(post)
        log.beginRequest(at: .now)
        log.abandon(put)
        log.abandon(put)
        let steps = log.report(nil, put, nil).steps
        #expect(steps.map(\.outcome) == [.succeeded("HTTP/1.1 302 Found"), .failed(.closed), .abandoned])
        let kinds = ["GET", "POST", "PUT"].map { ConnectionReport.Kind.request($0, "http://example.org/path?q") }
        #expect(steps.map(\.kind) == kinds)
        #expect(steps.allSatisfy { $0.time != nil })
    }

    @Test func connectionsComeFirst() throws {
        var log = LoadLog()
        let fetch = Fetch(try HTTPRequest(method: .get, target: "/"), body: nil)
        let pair = StreamPair(host: "127.0.0.1", port: 1)
        log.beginConnection(pair)
        let during = log.report(nil, fetch, nil)
        #expect(during.steps.isEmpty)
        log.endConnection()
        let after = log.report(nil, fetch, nil)
        #expect(after.steps.isEmpty)
        pair.close()
    }
}
