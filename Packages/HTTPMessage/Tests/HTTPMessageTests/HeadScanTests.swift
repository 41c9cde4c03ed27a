import Glibc
import Testing

@testable import HTTPMessage

/// The scanners that test many bytes at once give the results of those that test one.
@Suite struct HeadScanTests {
    /// Compares the scanners with the definitions, for each byte value at each index of bytes of all lengths around 16 and 32.
    @Test(arguments: [1, 15, 16, 17, 31, 32, 33, 41])
    func scannersFindEachByte(_ count: Int) {
        let page = GuardedPage()
        for filler in [UInt8(ascii: "a"), UInt8(ascii: "-"), UInt8(ascii: "Z"), UInt8(ascii: "7")] {
            var wrong: [(index: Int, byte: UInt8)] = []
            for index in 0..<count {
                for byte in UInt8.min ... .max {
                    var bytes = [UInt8](repeating: filler, count: count)
                    bytes[index] = byte
                    let ends = page.with(bytes) { bytes -> (Int, Int) in
                        guard let base = bytes.baseAddress else { return (0, 0) }
                        return (
                            HTTPGrammar.endOfToken(base, from: 0, to: count),
                            HTTPGrammar.endOfValue(base, from: 0, to: count)
                        )
                    }
                    let token = HTTPGrammar.isToken(byte) ? count : index
                    let value = HTTPGrammar.isFieldByte(byte) ? count : index
                    if ends != (token, value) { wrong.append((index, byte)) }
                }
            }
            #expect(wrong.isEmpty)
        }
    }

    static let lines = [
        "HTTP/1.1 200 A reason of some more bytes\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA-name-of-more-than-forty-bytes-of-its-own-1: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nName: a value of more than forty bytes, its own\r\n\r\n",
        "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nContent-Length:1024\r\nETag: \r\nX-A:\t b \t\r\nAge: 1\r\n\r\n",
    ]

    /// Replaces each byte of a head by each value. The result is the same if that byte arrives alone, and is thus tested alone.
    @Test(arguments: lines, [HTTPLeniency.strict, .client, HTTPLeniency(rawValue: .max)])
    func headsWithEachByteAtEachIndex(_ text: String, _ leniency: HTTPLeniency) {
        let page = GuardedPage()
        var wrong: [(index: Int, byte: UInt8)] = []
        let head = Array(text.utf8)
        for index in head.indices {
            for byte in UInt8.min ... .max {
                var bytes = head
                bytes[index] = byte
                let expected = parseHead(
                    .response, [bytes[..<index], bytes[index...index], bytes[(index + 1)...]], leniency, .default)
                let atEnd = page.with(bytes) { parse($0, leniency) }
                bytes += Array(repeating: UInt8(ascii: "x"), count: 40)
                let beforeBody = page.with(bytes) { parse($0, leniency) }
                if atEnd != expected { wrong.append((index, byte)) }
                if expected != .needMore, beforeBody != expected { wrong.append((index, byte)) }
            }
        }
        #expect(wrong.isEmpty)
    }

    /// Cuts heads at every index, with lines of all lengths, in memory that ends there.
    @Test(arguments: 0...40)
    func linesThatEndAtTheEndOfTheBytes(_ length: Int) {
        let page = GuardedPage()
        let name = String(repeating: "N", count: length)
        let value = String(repeating: "v", count: length)
        for line in ["\(name)X: 1", "A: \(value)", "A:\(value)", "A: \(value) ", "A\(name):\t\(value)\t"] {
            let head = Array("HTTP/1.1 200 \(value)\r\n\(line)\r\n\r\n".utf8)
            for end in 1..<head.count {
                #expect(page.with(Array(head[..<end])) { parse($0, .strict) } == .needMore)
            }
            let expected = parseHead(.response, head.indices.map { head[$0...$0] }, .strict, .default)
            #expect(page.with(head) { parse($0, .strict) } == expected)
            guard case .head(head.count, _, let fields) = expected else {
                Issue.record("not a head")
                return
            }
            #expect(fields.count == 1)
        }
    }

    /// The limit of a line holds for the usual syntax, too.
    @Test(arguments: [
        "HTTP/1.1 200 A reason of\r\nAge: 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nAge: 12\r\nServer: 7890123456789\r\nAge: 1\r\n\r\n",
    ])
    func linesOfTheMaximumLength(_ text: String) {
        let bytes = Array(text.utf8) + Array(repeating: UInt8(ascii: "x"), count: 40)
        let longest = text.split(separator: "\r\n").map(\.utf8.count).max() ?? 0
        for limit in 0...longest + 1 {
            var limits = HTTPLimits()
            limits.lineLength = limit
            let whole = parseHead(.response, [bytes[...]], .strict, limits)
            #expect(whole == parseHead(.response, bytes.indices.map { bytes[$0...$0] }, .strict, limits))
            if case .failure(let error) = whole {
                #expect(limit < longest && error.code == .lineTooLong)
            } else {
                #expect(limit >= longest)
            }
        }
    }
}

/// Parses a response's head without a further reference to its bytes.
private func parse(_ bytes: UnsafeRawBufferPointer, _ leniency: HTTPLeniency) -> HeadOutcome {
    var parser = HeadParser(.response, leniency: leniency)
    do throws(HTTPMessageError) {
        guard case .complete(let count) = try parser.parse(bytes) else { return .needMore }
        let response = try parser.makeResponse(from: RawSpan(_unsafeBytes: bytes))
        return .head(byteCount: count, firstLine: response.statusLine, fields: response.fields.map(\.description))
    } catch {
        return .failure(error)
    }
}

/// A page that an inaccessible one follows: a read beyond the end of bytes at its end is fatal.
private final class GuardedPage {
    private let pages: UnsafeMutableRawPointer
    private let size = sysconf(Int32(_SC_PAGESIZE))

    init() {
        guard let pages = mmap(nil, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            pages != MAP_FAILED, mprotect(pages + size, size, PROT_NONE) == 0
        else { fatalError("no memory") }
        self.pages = pages
    }

    deinit {
        munmap(pages, 2 * size)
    }

    /// Calls `body` with the bytes at the end of the page.
    func with<Result>(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let start = pages + (size - bytes.count)
        bytes.withUnsafeBytes { if let base = $0.baseAddress { start.copyMemory(from: base, byteCount: bytes.count) } }
        return body(UnsafeRawBufferPointer(start: start, count: bytes.count))
    }
}
