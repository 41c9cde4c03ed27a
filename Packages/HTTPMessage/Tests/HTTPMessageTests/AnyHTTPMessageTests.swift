import FoundationEssentials
import HTTPMessage
import Testing

@Suite struct AnyHTTPMessageTests {
    // Parity: HM-006, HM-051
    @Test(arguments: [true, false])
    func isEmptyAtFirst(isRequest: Bool) throws {
        var message = AnyHTTPMessage(emptyRequest: isRequest)
        try message.append([])
        #expect(message.isRequest == isRequest)
        #expect(!message.isHeaderComplete)
        #expect(message.method == nil && message.url == nil && message.status == nil && message.statusLine == nil)
        #expect(message.version == nil && message.body == nil && message.fields.isEmpty)
        #expect(message.request == nil && message.response == nil)
        #expect(throws: HTTPMessageError(.incompleteMessage, fault: .caller)) { try message.serialized() }
        #expect(throws: HTTPMessageError(.incompleteMessage, fault: .caller)) { try message.setField("A", to: "1") }
    }

    // Parity: HM-030, HM-031
    @Test func parsesInAnySplit() throws {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nA: 1\r\nA: 2\r\n\r\nbody and more"
        for pieces in everySplit(of: Array(text.utf8)) {
            var message = AnyHTTPMessage(emptyRequest: false)
            var seen: [UInt8] = []
            for piece in pieces {
                try message.append(piece)
                seen += piece
                #expect(message.isHeaderComplete == String(decoding: seen, as: UTF8.self).contains("\r\n\r\n"))
            }
            #expect(message.status == 200)
            #expect(message.statusLine == "HTTP/1.1 200 OK")
            #expect(message.version == .http11)
            #expect(message.fields["a"] == "1, 2")
            #expect(message.body == Array("body and more".utf8))
            #expect(try message.serialized() == Array(text.utf8))
        }
    }

    /// If each piece copied the body, the address of its bytes would change each time.
    // Parity: HM-032
    @Test(arguments: ["GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"])
    func aBodyInManyPiecesIsCopiedRarely(head: String) throws {
        var message = AnyHTTPMessage(emptyRequest: head.hasPrefix("GET"))
        try message.append(Array(head.utf8))
        var addresses: [UnsafeRawPointer?] = []
        for piece in 0..<1000 {
            try message.append([UInt8(truncatingIfNeeded: piece)])
            addresses.append(message.body?.withUnsafeBytes { $0.baseAddress })
        }
        #expect(message.body?.count == 1000)
        #expect(zip(addresses, addresses.dropFirst()).count { $0 != $1 } < 50)
    }

    @Test func readsARequest() throws {
        var message = AnyHTTPMessage(emptyRequest: true)
        try message.append(Array("GET /a?b HTTP/1.1\r\nHost: a.example\r\n\r\n".utf8))
        #expect(message.method == .get)
        #expect(message.url?.relativeString == "/a?b")
        #expect(message.statusLine == nil && message.status == nil && message.body == nil)
        try message.setField("HOST", to: "b.example")
        message.body = Array("x".utf8)
        #expect(try message.serialized() == Array("GET /a?b HTTP/1.1\r\nHOST: b.example\r\n\r\nx".utf8))
    }

    // Parity: HM-007
    @Test func copiesAreIndependentWhileFilling() throws {
        var one = AnyHTTPMessage(emptyRequest: false)
        try one.append(Array("HTTP/1.1 200 OK\r\nA: ".utf8))
        var other = one
        try one.append(Array("1\r\n\r\nx".utf8))
        try other.append(Array("2\r\n\r\n".utf8))
        var third = one
        try third.append(Array("y".utf8))
        #expect(one.fields["A"] == "1" && one.body == Array("x".utf8))
        #expect(other.fields["A"] == "2" && other.body == nil)
        #expect(third.body == Array("xy".utf8))
    }

    @Test func isUnusableAfterAnError() throws {
        var message = AnyHTTPMessage(emptyRequest: false)
        #expect(throws: HTTPMessageError(.malformedVersion, offset: 0)) { try message.append(Array("hello".utf8)) }
        #expect(throws: HTTPMessageError(.parserFinished, fault: .caller)) { try message.append(Array("x".utf8)) }
        #expect(!message.isHeaderComplete)
    }

    // Parity: HM-037
    @Test func readsHeaderlessResponsesIfAllowed() throws {
        var message = AnyHTTPMessage(emptyRequest: false, leniency: .headerlessResponse)
        try message.append(Array("hello".utf8))
        #expect(message.isHeaderComplete && message.status == 200 && message.statusLine == "")
        #expect(message.version == .http09)
        #expect(message.body == Array("hello".utf8))
    }

    /// Like `CFHTTPMessage`, the message accepts LF and folds (HM-033, HM-035), and it reports them.
    // Parity: HM-033, HM-035
    @Test func toleratesWhatAClientShould() throws {
        var message = AnyHTTPMessage(emptyRequest: false)
        try message.append(Array("HTTP/1.1 200 OK\nA: 1\n".utf8))
        #expect(message.toleratedDeviations == [])
        try message.append(Array("  2\nB: 3\n\nbody".utf8))
        #expect(message.isHeaderComplete && message.fields["A"] == "1 2" && message.fields["B"] == "3")
        #expect(message.toleratedDeviations == [.bareLineFeed, .foldedLines])
        #expect(try message.serialized() == Array("HTTP/1.1 200 OK\r\nA: 1 2\r\nB: 3\r\n\r\nbody".utf8))

        var strict = AnyHTTPMessage(emptyRequest: false, leniency: .strict)
        #expect(throws: HTTPMessageError(.bareLineFeed, offset: 15)) {
            try strict.append(Array("HTTP/1.1 200 OK\nA: 1\n".utf8))
        }
        var plain = AnyHTTPMessage(emptyRequest: false)
        try plain.append(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
        #expect(plain.toleratedDeviations == [])
    }

    // Parity: HM-010, HM-045
    @Test(arguments: [true, false])
    func keepsABodyThatIsSetEarly(hasMore: Bool) throws {
        var message = AnyHTTPMessage(emptyRequest: true)
        try message.append(Array("PUT / HTTP/1.1\r\n".utf8))
        message.body = Array("early".utf8)
        #expect(message.body == Array("early".utf8))
        try message.append(Array("Host: a\r\n\r\n\(hasMore ? " and more" : "")".utf8))
        #expect(message.body == Array("early\(hasMore ? " and more" : "")".utf8))
        #expect(message.request?.body == message.body)
    }

    /// CFHTTPMessageCopyBody returns NULL for a message without a body, and no bytes for an empty one.
    // Parity: HM-010
    @Test(arguments: ["GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"])
    func tellsAnEmptyBodyFromNone(_ head: String) throws {
        var message = AnyHTTPMessage(emptyRequest: head.hasPrefix("GET"))
        try message.append(Array(head.utf8))
        #expect(message.body == nil)
        message.body = []
        #expect(message.body == [])
        message.body = nil
        #expect(message.body == nil)
        message.body = [1]
        let other = message
        message.body = nil
        #expect(message.body == nil && other.body == [1])
        #expect(message.request?.body != [1] && message.response?.body != [1])
    }

    @Test func anEarlyBodyCountsTowardsTheLimit() throws {
        var limits = HTTPLimits.default
        limits.bodyLength = 3
        var message = AnyHTTPMessage(emptyRequest: false, limits: limits)
        message.body = [1, 2]
        #expect(throws: HTTPMessageError(.bodyTooLong)) {
            try message.append(Array("HTTP/1.1 200 OK\r\n\r\nab".utf8))
        }
    }

    @Test func boundsTheBody() throws {
        var limits = HTTPLimits.default
        limits.bodyLength = 3
        var message = AnyHTTPMessage(emptyRequest: false, limits: limits)
        try message.append(Array("HTTP/1.1 200 OK\r\n\r\nab".utf8))
        #expect(throws: HTTPMessageError(.bodyTooLong)) { try message.append(Array("cd".utf8)) }
    }

    // Parity: HM-009
    @Test func wrapsRequestsAndResponses() throws {
        var message = AnyHTTPMessage(try HTTPResponse(status: 204))
        #expect(!message.isRequest && !message.isHeaderComplete && message.status == 204)
        message.body = [1]
        #expect(message.response?.body == [1])
        #expect(throws: HTTPMessageError(.parserFinished, fault: .caller)) { try message.append([2]) }
        #expect(AnyHTTPMessage(try HTTPRequest(method: .get, target: "/")).isRequest)
    }
}
