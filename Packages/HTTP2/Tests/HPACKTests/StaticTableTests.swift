import Testing

@testable import HPACK

@Suite struct StaticTableTests {
    private let table = StaticTable.shared

    private func text(_ range: Range<Int>) -> String { String(decoding: table.bytes[range], as: UTF8.self) }

    private func firstIndex(of name: String) -> Int {
        let name = Array(name.utf8)
        return table.firstIndex(of: name.span.bytes, hash: name.span.bytes.hash)
    }

    private func index(_ name: String, _ value: String) -> Int {
        table.index(of: value.utf8.span.bytes, firstIndex: firstIndex(of: name))
    }

    @Test(arguments: [
        (1, ":authority", ""), (2, ":method", "GET"), (5, ":path", "/index.html"), (8, ":status", "200"),
        (14, ":status", "500"), (15, "accept-charset", ""), (16, "accept-encoding", "gzip, deflate"), (21, "age", ""),
        (32, "cookie", ""), (46, "location", ""), (58, "user-agent", ""), (61, "www-authenticate", ""),
    ])
    func entries(index: Int, name: String, value: String) {
        #expect(text(table.entries[index].name) == name && text(table.entries[index].value) == value)
        #expect(self.index(name, value) == index)
    }

    @Test func everyEntryIsFound() {
        #expect(table.entries.count == StaticTable.count + 1)
        for entry in table.entries.dropFirst() {
            let name = text(entry.name)
            let first = firstIndex(of: name)
            #expect(first > 0 && text(table.entries[first].name) == name)
            #expect(table.entries[1..<first].allSatisfy { text($0.name) != name })
            #expect(table.entries[index(name, text(entry.value))].start == entry.start)
        }
    }

    @Test(arguments: ["", ":", "x", ":statu", "statuss", ":protocol", "aGe", "accept-encodinG", "www-authenticat"])
    func otherNamesAreNotFound(name: String) {
        #expect(firstIndex(of: name) == 0)
    }

    @Test func otherValuesAreNotFound() {
        #expect(index(":method", "get") == 0 && index(":status", "201") == 0 && index("accept", "x") == 0)
        #expect(index("none", "") == 0)
    }

    @Test(arguments: [
        (StaticTable.Index.authority, ":authority"), (StaticTable.Index.method, ":method"),
        (StaticTable.Index.path, ":path"), (StaticTable.Index.scheme, ":scheme"), (StaticTable.Index.status, ":status"),
        (StaticTable.Index.age, "age"), (StaticTable.Index.authorization, "authorization"),
        (StaticTable.Index.contentLength, "content-length"), (StaticTable.Index.cookie, "cookie"),
        (StaticTable.Index.etag, "etag"), (StaticTable.Index.ifModifiedSince, "if-modified-since"),
        (StaticTable.Index.ifNoneMatch, "if-none-match"), (StaticTable.Index.location, "location"),
        (StaticTable.Index.proxyAuthorization, "proxy-authorization"), (StaticTable.Index.setCookie, "set-cookie"),
    ])
    func namedIndices(index: Int, name: String) {
        #expect(firstIndex(of: name) == index)
    }
}
