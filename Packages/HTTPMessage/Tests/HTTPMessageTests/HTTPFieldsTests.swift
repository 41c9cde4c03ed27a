import HTTPMessage
import Testing

@Suite struct HTTPFieldsTests {
    // Parity: HM-011, HM-034, HM-047
    @Test func preservesOrderCaseAndDuplicates() throws {
        var fields = HTTPFields()
        try fields.append("a=1", for: "set-cookie")
        try fields.append("x", for: "X-One")
        try fields.append("b=2", for: "Set-Cookie")
        #expect(fields.map(\.description) == ["set-cookie: a=1", "X-One: x", "Set-Cookie: b=2"])
        #expect(fields.values(for: .setCookie) == ["a=1", "b=2"])
        #expect(fields[.setCookie] == "a=1, b=2")
        #expect(fields["x-one"] == "x")
        #expect(fields["none"] == nil)
        #expect(fields.dictionary == ["Set-Cookie": "a=1, b=2", "X-One": "x"])
    }

    @Test func fieldsOfNamesAndValuesThatAreNotLiterals() throws {
        let (name, value) = ("x-\("runtime")", "a\("b")")
        var fields = try HTTPFields([name: value, "Accept": "c", name: "d"])
        #expect(fields.map(\.description) == ["x-runtime: ab", "Accept: c", "x-runtime: d"])
        #expect(try fields == HTTPFields([(name, value), ("Accept", "c"), (name, "d")]))
        #expect(fields.values(for: name) == ["ab", "d"] && fields.contains(name.uppercased()))
        #expect(fields.values(for: "a \(name)") == [] && !fields.contains("a \(name)"))
        fields.remove(name)
        #expect(fields.map(\.name) == [.accept])
        for (name, value) in [("a \(name)", "b"), (name, "a\r\nb")] {
            #expect(throws: HTTPMessageError.self) { try HTTPFields([name: value]) }
            #expect(throws: HTTPMessageError.self) { try HTTPFields([(name, value)]) }
        }
    }

    @Test func namesKnownAtRunTimeAreChecked() throws {
        var fields = HTTPFields()
        let name = "x-\("runtime")"
        try fields.set("1", for: name)
        try fields.append("2", for: name)
        #expect(fields[name] == "1, 2" && fields["X-Runtime"] == "1, 2")
        for bad in ["", "a b", "a:", "a\r\nb"] {
            #expect(throws: HTTPMessageError(.invalidFieldName, fault: .caller)) { try fields.set("1", for: bad) }
            #expect(fields[bad] == nil)
        }
        try fields.set(nil, for: name)
        #expect(fields.isEmpty)
    }

    @Test func setReplacesTheFirstAndRemovesTheOthers() throws {
        var fields: HTTPFields = ["A": "1", "B": "2", "a": "3", "C": "4"]
        try fields.set("long enough to move everything behind it", for: "a")
        #expect(fields.map(\.name.name) == ["a", "B", "C"])
        #expect(fields.map(\.value) == ["long enough to move everything behind it", "2", "4"])
        try fields.set(nil, for: "B")
        #expect(fields.map(\.name.name) == ["a", "C"])
        fields.remove("A")
        #expect(fields == ["C": "4"])
        #expect(!fields.contains("a"))
    }

    // Parity: HM-011
    @Test(arguments: ["a\r\nb: c", "a\nb", "a\rb", "a\0b", "\u{7f}", "\u{1}"])
    func rejectsControlCharacters(value: String) throws {
        var fields: HTTPFields = ["A": "1"]
        #expect { try fields.set(value, for: "A") } throws: {
            ($0 as? HTTPMessageError)?.code == .invalidFieldValue && ($0 as? HTTPMessageError)?.fault == .caller
        }
        #expect { try fields.append(value, for: "A") } throws: {
            ($0 as? HTTPMessageError)?.code == .invalidFieldValue
        }
        #expect(fields == ["A": "1"])
    }

    @Test func trimsWhitespace() throws {
        var fields = HTTPFields()
        try fields.set(" \t a b\t ", for: "A")
        try fields.set("  ", for: "B")
        #expect(fields.map(\.value) == ["a b", ""])
    }

    // Parity: HM-015
    @Test func preservesAnyText() throws {
        var fields = HTTPFields()
        try fields.set("日é", for: "A")
        try fields.set(rawValue: [0xE9, 0x20, 0xFF], for: "B")
        #expect(fields["A"] == "日é")
        #expect(fields["B"] == "\u{e9} \u{ff}")
        #expect(fields[1].rawValue == [0xE9, 0x20, 0xFF])
    }

    // Parity: HM-007
    @Test func copiesAreIndependent() throws {
        let one: HTTPFields = ["A": "1"]
        var other = one
        try other.append("2", for: "B")
        var third = other
        third.remove("A")
        #expect(one == ["A": "1"])
        #expect(other == ["A": "1", "B": "2"])
        #expect(third == ["B": "2"])
    }

    @Test func growsToManyFields() throws {
        var fields = HTTPFields()
        for number in 0..<1000 { try fields.append("\(number)", for: "N") }
        #expect(fields.count == 1000)
        #expect(fields.values(for: "n") == (0..<1000).map(String.init))
    }

    // Parity: HM-046
    @Test func ignoresCaseOfNamesOnly() {
        #expect(["A": "x"] as HTTPFields == ["a": "x"])
        #expect(["A": "x"] as HTTPFields != ["A": "X"])
        #expect(["A": "x", "B": "y"] as HTTPFields != ["B": "y", "A": "x"])
        #expect((["A": "x"] as HTTPFields).hashValue == (["a": "x"] as HTTPFields).hashValue)
    }

    @Test func hidesSecretsInDescriptions() {
        let fields: HTTPFields = ["Authorization": "Basic c2VjcmV0", "cookie": "secret", "A": "1"]
        #expect(fields.description == "Authorization: …\ncookie: …\nA: 1")
    }

    @Test func normalizesLenientlyParsedLines() throws {
        let bytes = Array("HTTP/1.1 200 OK\nA:  1\n  2\nB:3\n\n".utf8)
        var parser = HeadParser(.response, leniency: .client)
        _ = try parser.parse(bytes.span.bytes)
        var response = try parser.makeResponse(from: bytes.span.bytes)
        response.fields.normalize()
        #expect(response.fields.map(\.description) == ["A: 1 2", "B: 3"])
        #expect(response.serialized() == Array("HTTP/1.1 200 OK\r\nA: 1 2\r\nB: 3\r\n\r\n".utf8))
    }

    @Test func joinsCookiesWithSemicolons() {
        #expect((["Cookie": "a=1", "cookie": "b=2"] as HTTPFields)[.cookie] == "a=1; b=2")
    }

    // Parity: HM-011
    @Test(arguments: [("HOST", "Host"), ("x-a-b", "X-A-B"), ("www-AUTHENTICATE", "Www-Authenticate"), ("-", "-")])
    func canonicalizesNames(name: String, canonical: String) {
        #expect(HTTPFieldName(name)?.canonicalName == canonical)
    }

    @Test(arguments: ["", "a b", "a:", "é", "a\r", "a\0"])
    func rejectsInvalidNames(name: String) {
        #expect(HTTPFieldName(name) == nil)
        #expect(HTTPMethod(name) == nil)
    }

    @Test func distinguishesNamesThatDifferInTheCaseBit() {
        // 0x5E and 0x7E differ in the bit that distinguishes the case of letters, but are not letters.
        #expect(HTTPFieldName("^") != HTTPFieldName("~"))
        #expect((["^": "1"] as HTTPFields)["~"] == nil)
    }
}
