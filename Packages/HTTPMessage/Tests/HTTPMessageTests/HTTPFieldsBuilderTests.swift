import Testing

@_spi(Packages) @testable import HTTPMessage

@Suite struct HTTPFieldsBuilderTests {
    private func text(_ bytes: RawSpan) -> String {
        bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    private func fields(_ lines: [(String, String)], capacity: Int = 0) throws -> HTTPFields {
        var builder = HTTPFields.Builder(fieldCapacity: capacity, byteCapacity: capacity * 32)
        for (name, value) in lines { try builder.append(name: name.utf8.span.bytes, value: value.utf8.span.bytes) }
        #expect(builder.count == lines.count)
        return builder.fields()
    }

    @Test(arguments: [0, 1, 4, 40]) func buildsTheSameFieldsAsAppending(capacity: Int) throws {
        let lines = (0..<20).map { ("x-name-\($0)", String(repeating: "v", count: $0 * 3)) }
        let built = try fields(lines, capacity: capacity)
        #expect(try built == HTTPFields(lines))
        #expect(built.map(\.description) == lines.map { "\($0.0): \($0.1)" })
        var copy = built
        try copy.set("1", for: "x-name-3")
        copy.remove("x-name-0")
        try copy.append("2", for: "last")
        #expect(copy.count == 20 && copy["x-name-3"] == "1" && copy["last"] == "2" && built["x-name-3"] == "vvvvvvvvv")
    }

    @Test func sufficientCapacityMeansOneAllocation() throws {
        let lines = [("content-type", "text/html"), ("etag", "\"1\"")]
        let size = lines.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + HTTPFields.Builder.bytesPerField }
        var builder = HTTPFields.Builder(fieldCapacity: 2, byteCapacity: size + "HTTP/2.0 200 OK\r\n".utf8.count)
        let storage = ObjectIdentifier(builder.storage)
        for (name, value) in lines { try builder.append(name: name.utf8.span.bytes, value: value.utf8.span.bytes) }
        let response = HTTPResponse(status: .ok, version: .http20, fields: builder)
        #expect(ObjectIdentifier(response.fields.storage) == storage)
        #expect(
            String(decoding: response.serialized(), as: UTF8.self)
                == "HTTP/2.0 200 OK\r\ncontent-type: text/html\r\netag: \"1\"\r\n\r\n")
    }

    @Test(arguments: [
        "", "a b", "a:", ":a", "a\r\n", "\u{E9}", "a\0", "A", "eTag", "Content-Type", "content-typE",
        "x-Name-of-16-bytes",
        String(repeating: "a", count: 40) + "\n",
    ])
    func rejectsNames(name: String) throws {
        var builder = HTTPFields.Builder(fieldCapacity: 1, byteCapacity: 8)
        let error = #expect(throws: HTTPMessageError.self) {
            try builder.append(name: name.utf8.span.bytes, value: "b".utf8.span.bytes)
        }
        #expect(error?.code == .invalidFieldName)
        #expect(builder.count == 0)
    }

    @Test(arguments: [
        " a", "a ", "\ta", "a\t", " ", "a\0b", "a\r\nb", "\u{7F}", String(repeating: "v", count: 40) + "\n",
    ])
    func rejectsValues(value: String) throws {
        var builder = HTTPFields.Builder(fieldCapacity: 1, byteCapacity: 8)
        try builder.append(name: "a".utf8.span.bytes, value: "b".utf8.span.bytes)
        for isExtension in [false, true] {
            let error = #expect(throws: HTTPMessageError.self) {
                if isExtension {
                    try builder.extendLast(with: value.utf8.span.bytes, separator: "; ")
                } else {
                    try builder.append(name: "a".utf8.span.bytes, value: value.utf8.span.bytes)
                }
            }
            #expect(error?.code == .invalidFieldValue)
        }
        #expect(builder.fields() == ["a": "b"])
    }

    private func isLowercaseToken(_ byte: UInt8) -> Bool {
        HTTPGrammar.isToken(byte) && HTTPGrammar.lowercased(byte) == byte
    }

    /// Each byte at each position of names and values of each length: the same verdict as that of the grammar.
    @Test(arguments: [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50]) func everyByteAtEveryPosition(length: Int) {
        for byte in 0...255 as ClosedRange<UInt8> {
            for position in 0..<length {
                var name = [UInt8](repeating: UInt8(ascii: "x"), count: length)
                name[position] = byte
                var builder = HTTPFields.Builder(fieldCapacity: 2, byteCapacity: 200)
                let isName = (try? builder.append(name: name.span.bytes, value: "".utf8.span.bytes)) != nil
                let isValue = (try? builder.append(name: "x".utf8.span.bytes, value: name.span.bytes)) != nil
                let isOuterSpace = HTTPGrammar.isSpaceOrTab(byte) && (position == 0 || position == length - 1)
                guard isName == isLowercaseToken(byte), isValue == (HTTPGrammar.isFieldByte(byte) && !isOuterSpace)
                else {
                    Issue.record("byte \(byte) at \(position)")
                    return
                }
            }
        }
    }

    @Test func acceptsWhatFieldsMayContain() throws {
        let value = "a\tb \u{E9} \u{1F600} " + String(repeating: "~", count: 40)
        #expect(try fields([("!#$%&'*+-.^_`|~09az", value), ("empty", "")]).map(\.value) == [value, ""])
    }

    @Test(arguments: [
        (["a=1", "b=2", "c=3"], "a=1; b=2; c=3"), (["", "b=2"], "b=2"), (["a=1", ""], "a=1"), (["", ""], ""),
        (["a=1", "", "c=3"], "a=1; c=3"),
    ])
    func extendsTheLastValue(pieces: [String], joined: String) throws {
        for isLast in [false, true] {
            var builder = HTTPFields.Builder(fieldCapacity: 2, byteCapacity: 0)
            try builder.append(name: "x".utf8.span.bytes, value: "y".utf8.span.bytes)
            try builder.append(name: "cookie".utf8.span.bytes, value: pieces[0].utf8.span.bytes)
            for piece in pieces.dropFirst() { try builder.extendLast(with: piece.utf8.span.bytes, separator: "; ") }
            if !isLast { try builder.append(name: "z".utf8.span.bytes, value: "1".utf8.span.bytes) }
            let fields = builder.fields()
            #expect(fields.map(\.value) == (isLast ? ["y", joined] : ["y", joined, "1"]))
        }
    }

    @Test(arguments: [
        ("GET", "/a?b", "GET /a?b HTTP/2.0"), ("CONNECT", "a:443", "CONNECT a:443 HTTP/2.0"),
        ("OPTIONS", "*", "OPTIONS * HTTP/2.0"), ("CONNECT", "/chat", "CONNECT /chat HTTP/2.0"),
        ("M-SEARCH", "http://a/", "M-SEARCH http://a/ HTTP/2.0"),
    ])
    func makesRequests(method: String, target: String, line: String) throws {
        for capacity in [0, 200] {
            var builder = HTTPFields.Builder(fieldCapacity: 1, byteCapacity: capacity)
            try builder.append(name: "host".utf8.span.bytes, value: "a".utf8.span.bytes)
            let request = try HTTPRequest(
                method: method.utf8.span.bytes, target: target.utf8.span.bytes, version: .http20, fields: builder)
            #expect(request.requestLine == line && request.method.name == method)
            #expect(String(decoding: request.target.bytes, as: UTF8.self) == target)
            #expect(request.fields == ["host": "a"] && request.version == .http20)
            #expect(String(decoding: request.serialized(), as: UTF8.self) == line + "\r\nhost: a\r\n\r\n")
            var parser = HeadParser(.request, leniency: [.anyVersion, .anyTargetForm])
            let bytes = request.serialized()
            #expect(try parser.parse(bytes.span.bytes) == .complete(byteCount: bytes.count))
            #expect(try parser.makeRequest(from: bytes.span.bytes) == request)
        }
    }

    @Test(arguments: [
        ("", "/", HTTPMessageError.Code.invalidMethod), ("G T", "/", .invalidMethod), ("GET", "", .invalidTarget),
        ("GET", "/a b", .invalidTarget), ("GET", "/\u{E9}", .invalidTarget), ("GET", "a:443", .invalidTarget),
        ("GET", "*", .invalidTarget), ("CONNECT", "*", .invalidTarget), ("GET", "/\r\n", .invalidTarget),
    ])
    func rejectsRequests(method: String, target: String, code: HTTPMessageError.Code) {
        let error = #expect(throws: HTTPMessageError.self) {
            try HTTPRequest(
                method: method.utf8.span.bytes, target: target.utf8.span.bytes, version: .http20,
                fields: HTTPFields.Builder(fieldCapacity: 0, byteCapacity: 0))
        }
        #expect(error?.code == code)
    }

    @Test(arguments: [HTTPStatus.ok, .notFound, 299, 999]) func makesResponses(status: HTTPStatus) throws {
        let response = HTTPResponse(
            status: status, version: .http20, fields: HTTPFields.Builder(fieldCapacity: 0, byteCapacity: 0))
        #expect(try response == HTTPResponse(status: status, version: .http20))
        #expect(response.status == status && response.reason == status.standardPhrase && response.fields.isEmpty)
    }

    @Test func rawFieldsAreThoseThatWereParsed() throws {
        let head = Array("HTTP/1.1 200 OK\r\nA:  b \r\nC: d\r\n e\r\nF:\r\n\r\n".utf8)
        var parser = HeadParser(.response, leniency: .foldedLines)
        _ = try parser.parse(head.span.bytes)
        let response = try parser.makeResponse(from: head.span.bytes)
        var lines: [String] = []
        response.fields.forEachRawField { name, value in
            lines.append("\(text(name))=\(text(value))")
        }
        #expect(lines == ["A=b", "C=d e", "F="])
    }

    /// Another format must not carry control characters, nor blanks at the ends of values.
    @Test func rawFieldsHaveNoToleratedControls() throws {
        let head = Array("HTTP/1.1 200 OK\r\nA: \u{1}b\u{7}c\u{1}\r\nB: \u{1}\r\n\r\n".utf8)
        var parser = HeadParser(.response, leniency: .controlCharactersInValues)
        _ = try parser.parse(head.span.bytes)
        let response = try parser.makeResponse(from: head.span.bytes)
        var lines: [String] = []
        response.fields.forEachRawField { name, value in lines.append("\(text(name))=\(text(value))") }
        #expect(lines == ["A=b c", "B="])
        #expect(response.fields["A"] == "\u{1}b\u{7}c\u{1}", "the value is as received")
    }

    @Test func rawPartsAreThoseOfTheMessage() throws {
        let head = Array("PUT /a?b HTTP/1.1\r\nHost: a\r\nX: c\r\n d\r\nx: e\r\n\r\n".utf8)
        var parser = HeadParser(.request, leniency: .foldedLines)
        _ = try parser.parse(head.span.bytes)
        var request = try parser.makeRequest(from: head.span.bytes)
        // The start line is in the storage of the fields at first, then in its own.
        for isDetached in [false, true] {
            if isDetached { try request.fields.set("b", for: .host) }
            let line = request.withRawStartLine { method, target in text(method) + " " + text(target) }
            #expect(line == "PUT /a?b")
            #expect(request.fields.withRawValue(of: .host) { text($0) } == (isDetached ? "b" : "a"))
            #expect(request.fields.withRawValue(of: "x") { text($0) } == "c d")
            #expect(request.fields.withRawValue(of: .cookie) { text($0) } == nil)
        }
    }

    @Test func errorsOfClosuresPass() throws {
        struct Stop: Error {}
        let request = try HTTPRequest(method: .get, target: "/")
        #expect(throws: Stop.self) {
            try request.withRawStartLine { _, _ throws(Stop) in throw Stop() }
        }
        let fields: HTTPFields = ["a": "b"]
        #expect(throws: Stop.self) {
            try fields.withRawValue(of: "a") { _ throws(Stop) in throw Stop() }
        }
    }
}
