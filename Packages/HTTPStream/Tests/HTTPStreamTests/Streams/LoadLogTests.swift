import FoundationEssentials
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

@Suite struct LoadLogTests {
    @Test func requestsAndOutcomes() throws {
        let url = try #require(URL(string: "http://user:secret@example.org/path?q#f"))
        var log = LoadLog()
        log.beginRequest(.get, url)
        #expect(log.report(nil).steps.map(\.outcome) == [.underway])
        let answer = try HTTPResponse(status: 302)
        log.answered(answer)
        #expect(log.report(answer).steps.map(\.outcome) == [.succeeded("HTTP/1.1 302 Found")])
        log.keepStatusLine(of: answer)
        log.beginRequest(.post, url)
        log.failed(.closed)
        log.beginRequest(.put, url)
        log.abandon()
        log.abandon()
        let steps = log.report(nil).steps
        #expect(steps.map(\.outcome) == [.succeeded("HTTP/1.1 302 Found"), .failed(.closed), .abandoned])
        #expect(steps.map(\.kind).first == .request("GET", "http://example.org/path?q"))
        #expect(steps.allSatisfy { $0.time != nil })
    }

    @Test func connectionsComeFirst() throws {
        var log = LoadLog()
        let pair = StreamPair(host: "127.0.0.1", port: 1)
        log.beginConnection(pair)
        #expect(log.report(nil).steps.isEmpty)
        log.endConnection()
        #expect(log.report(nil).steps.isEmpty)
        pair.close()
    }
}
