import FoundationEssentials
import HTTPMessage
import Testing

@Suite struct BodyDecodingTests {
    private struct User: Codable, Equatable {
        var name: String
        var age: Int
    }

    private func response(_ body: [UInt8], _ contentType: String? = nil) throws -> HTTPResponse {
        var response = try HTTPResponse(status: .ok)
        response.body = body
        try response.fields.set(contentType, for: .contentType)
        return response
    }

    @Test(
        "text follows the charset of Content-Type",
        arguments: [
            (Array("é".utf8), nil, "é"), (Array("é".utf8), "text/plain", "é"), ([0xef, 0xbb, 0xbf, 0x41], nil, "A"),
            ([0xe9], nil, nil), ([0xe9], "text/html; charset=ISO-8859-1", "é"),
            ([0xe9], "text/html;charset=\"latin1\"", "é"), ([0xfe, 0xff, 0, 0x41], "a/b; charset=utf-16", "A"),
            ([0xff, 0xfe, 0x41, 0], "a/b; charset=UTF-16", "A"), ([0x41, 0], "a/b; charset=utf-16le", "A"),
            ([0x41], "a/b; charset=utf-16", nil), ([0xd8, 0], "a/b; charset=utf-16be", nil),
            ([0x41], "a/b; charset=koi8-r", nil), ([], nil, ""),
            ([0xc3, 0xbc], "a/b; charset=us-ascii", nil), ([0x41], "a/b; q=1; Charset = us-ascii", "A"),
            ([0x41], "a/b; charset=", "A"),
            // U+0301 forms one character with the semicolon before it; U+037E is canonically equivalent to a semicolon.
            ([0xe9], "a/b;\u{301}x; charset=latin1", "é"), ([0xe9], "a/b\u{37E} charset=latin1", nil),
        ] as [([UInt8], String?, String?)])
    func text(_ bytes: [UInt8], _ contentType: String?, _ expected: String?) throws {
        #expect(try response(bytes, contentType).text == expected)
    }

    @Test func messagesAreMadeWithoutABody() throws {
        let request = try HTTPRequest(method: .get, target: "/")
        let response = try HTTPResponse(status: .ok)
        #expect(request.body == [] && request.text == "" && response.body == [] && response.text == "")
    }

    @Test func jsonInBothDirections() throws {
        let user = User(name: "joe", age: 7)
        var request = try HTTPRequest(method: .post, target: "/")
        try request.setJSON(user)
        #expect(request.fields[.contentType] == "application/json")
        #expect(try request.decode(User.self) == user)
        #expect(try response(request.body).decode() == user)
        #expect(throws: DecodingError.self) { try response([]).decode(User.self) }
        #expect(throws: DecodingError.self) { try response(Array("{".utf8)).decode(User.self) }
    }

    @Test func aValueThatCannotBeEncodedChangesNothing() throws {
        var request = try HTTPRequest(method: .post, target: "/")
        request.body = [1]
        #expect(throws: EncodingError.self) { try request.setJSON(Double.nan) }
        #expect(request.body == [1] && request.fields.isEmpty)
    }

    @Test func forms() throws {
        var request = try HTTPRequest(method: .post, target: "/")
        request.setForm([("user", "joe"), ("city", "São Paulo"), ("a&b", "=%~*"), ("user", "")])
        #expect(request.text == "user=joe&city=S%C3%A3o+Paulo&a%26b=%3D%25%7E*&user=")
        #expect(request.fields[.contentType] == "application/x-www-form-urlencoded")
    }
}
