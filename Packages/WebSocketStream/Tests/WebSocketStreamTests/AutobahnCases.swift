@testable import WebSocketStream

/// A case of the Autobahn test suite: what the peer sends, and what an application that returns each message must send.
///
/// The numbers are those of the suite; the frames and outcomes are written after its published descriptions and RFC 6455.
struct AutobahnCase: Sendable, CustomStringConvertible {
    enum Outcome: Sendable, Equatable {
        /// These frames are sent, and the connection stays open or was closed by the peer.
        case sends([WireFrame])
        /// These frames are sent, then a Close frame with this code, and the machine reports an error.
        case fails(Int, after: [WireFrame] = [])
    }

    let id: String
    let frames: [WireFrame]
    let outcome: Outcome
    /// The pieces in which the bytes arrive, in addition to the whole and byte by byte; nil for neither of these.
    var pieces: [Int?] = [nil, 1]

    init(_ id: String, _ frames: [WireFrame], _ outcome: Outcome, pieces: [Int?] = [nil, 1]) {
        (self.id, self.frames, self.outcome, self.pieces) = (id, frames, outcome, pieces)
    }

    /// A case whose messages are returned as they are.
    init(_ id: String, echoes frames: [WireFrame], pieces: [Int?] = [nil, 1]) {
        self.init(id, frames, .sends(frames), pieces: pieces)
    }

    var description: String { id }
    /// The number of the case's group.
    var group: Int { Int(id.prefix { $0 != "." }) ?? 0 }

    static let all = framing + pings + reservedBits + opcodes + fragmentation + text + closing + limits + fragmented
}

private func text(_ count: Int) -> String { String(repeating: "*", count: count) }
private func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 0xFE, count: count) }

extension AutobahnCase {
    /// 1: messages of each form of length.
    static let framing: [AutobahnCase] =
        [0, 125, 126, 127, 128, 65535, 65536, 65536].enumerated().flatMap { index, count in
            let pieces: [Int?] = index == 7 ? [997] : count > 1000 ? [nil] : [nil, 1]
            return [
                AutobahnCase("1.1.\(index + 1)", echoes: [.text(WebSocketStreamTests.text(count))], pieces: pieces),
                AutobahnCase("1.2.\(index + 1)", echoes: [.binary(bytes(count))], pieces: pieces),
            ]
        }

    /// 2: pings and pongs.
    static let pings: [AutobahnCase] = {
        let texts = (0..<10).map { Array("payload-\($0)".utf8) }
        return [
            AutobahnCase("2.1", [.ping()], .sends([.pong()])),
            AutobahnCase("2.2", [.ping(Array("Hello, world!".utf8))], .sends([.pong(Array("Hello, world!".utf8))])),
            AutobahnCase("2.3", [.ping([0, 0xFF, 0xFE, 0xFD])], .sends([.pong([0, 0xFF, 0xFE, 0xFD])])),
            AutobahnCase("2.4", [.ping(bytes(125))], .sends([.pong(bytes(125))])),
            AutobahnCase("2.5", [.ping(bytes(126))], .fails(1002)),
            AutobahnCase("2.6", [.ping(bytes(125))], .sends([.pong(bytes(125))]), pieces: [1]),
            AutobahnCase("2.7", [.pong()], .sends([])),
            AutobahnCase("2.8", [.pong(Array("unsolicited pong payload".utf8))], .sends([])),
            AutobahnCase(
                "2.9", [.pong(Array("unsolicited".utf8)), .ping(Array("ping".utf8))],
                .sends([.pong(Array("ping".utf8))])),
            AutobahnCase("2.10", texts.map { .ping($0) }, .sends(texts.map { .pong($0) }), pieces: [nil]),
            AutobahnCase("2.11", texts.map { .ping($0) }, .sends(texts.map { .pong($0) }), pieces: [1]),
        ]
    }()

    /// 3: reserved bits without an extension.
    static let reservedBits: [AutobahnCase] = {
        let hello = WireFrame.text("Hello, world!")
        func rest(_ reserved: UInt8) -> [WireFrame] { [hello, .text("Hello, world!", reserved: reserved), .ping()] }
        return [
            AutobahnCase("3.1", [.text("Hello, world!", reserved: 1)], .fails(1002)),
            AutobahnCase("3.2", rest(2), .fails(1002, after: [hello]), pieces: [nil]),
            AutobahnCase("3.3", rest(3), .fails(1002, after: [hello]), pieces: [19]),
            AutobahnCase("3.4", rest(4), .fails(1002, after: [hello]), pieces: [1]),
            AutobahnCase("3.5", [.binary(bytes(8), reserved: 5)], .fails(1002)),
            AutobahnCase("3.6", [WireFrame(opcode: 9, payload: bytes(4), reserved: 6)], .fails(1002)),
            AutobahnCase("3.7", [WireFrame(opcode: 8, payload: [], reserved: 7)], .fails(1002)),
        ]
    }()

    /// 4: reserved opcodes.
    static let opcodes: [AutobahnCase] = [(1, 3), (2, 11)].flatMap { (group: Int, first: Int) in
        let hello = WireFrame.text("Hello, world!")
        return (0..<5).map { index in
            let frame = WireFrame(opcode: UInt8(first + index), payload: index % 2 == 0 ? [] : Array("reserved".utf8))
            return index < 2
                ? AutobahnCase("4.\(group).\(index + 1)", [frame], .fails(1002))
                : AutobahnCase("4.\(group).\(index + 1)", [hello, frame, .ping()], .fails(1002, after: [hello]))
        }
    }

    /// 5: fragmentation.
    static let fragmentation: [AutobahnCase] = {
        let parts: [WireFrame] = [.text("fragment1", isFinal: false), .more("fragment2", isFinal: true)]
        let whole = WireFrame.text("fragment1fragment2")
        let ping = WireFrame.ping(Array("ping payload".utf8))
        let pong = WireFrame.pong(Array("ping payload".utf8))
        let lone = WireFrame.more("non-continuation payload", isFinal: true)
        let open = WireFrame.more("non-continuation payload", isFinal: false)
        let hello = WireFrame.text("Hello, world!")
        let five: [WireFrame] = [
            .text("fragment1", isFinal: false), .more("fragment2", isFinal: false), .ping([1]),
            .more("fragment3", isFinal: false), .more("fragment4", isFinal: false), .ping([2]),
            .more("fragment5", isFinal: true),
        ]
        let fiveOut: [WireFrame] = [.pong([1]), .pong([2]), .text("fragment1fragment2fragment3fragment4fragment5")]
        var cases = [
            AutobahnCase(
                "5.1", [WireFrame(opcode: 9, payload: [1], isFinal: false), .more([2], isFinal: true)], .fails(1002)),
            AutobahnCase(
                "5.2", [WireFrame(opcode: 10, payload: [1], isFinal: false), .more([2], isFinal: true)], .fails(1002)),
        ]
        for (id, size) in [("5.3", nil), ("5.4", 15), ("5.5", 1)] as [(String, Int?)] {
            cases.append(AutobahnCase(id, parts, .sends([whole]), pieces: [size]))
        }
        for (id, size) in [("5.6", nil), ("5.7", 15), ("5.8", 1)] as [(String, Int?)] {
            cases.append(AutobahnCase(id, [parts[0], ping, parts[1]], .sends([pong, whole]), pieces: [size]))
        }
        for (id, size) in [("5.9", nil), ("5.10", 30), ("5.11", 1)] as [(String, Int?)] {
            cases.append(AutobahnCase(id, [lone, hello], .fails(1002), pieces: [size]))
        }
        for (id, size) in [("5.12", nil), ("5.13", 30), ("5.14", 1)] as [(String, Int?)] {
            cases.append(AutobahnCase(id, [open, hello], .fails(1002), pieces: [size]))
        }
        return cases + [
            AutobahnCase("5.15", parts + [open, hello], .fails(1002, after: [whole])),
            AutobahnCase("5.16", [open] + parts + [open] + parts, .fails(1002)),
            AutobahnCase("5.17", [lone] + parts + [lone] + parts, .fails(1002)),
            AutobahnCase("5.18", [parts[0], .text("fragment2")], .fails(1002)),
            AutobahnCase("5.19", five, .sends(fiveOut), pieces: [nil]),
            AutobahnCase("5.20", five, .sends(fiveOut), pieces: [1]),
        ]
    }()

    /// 7: the closing handshake.
    static let closing: [AutobahnCase] = {
        let hello = WireFrame.text("Hello World!")
        let long = WireFrame.text(WebSocketStreamTests.text(256 * 1024))
        let invalid: [UInt8] = [0xCE, 0xBA, 0xED, 0xA0, 0x80]
        var cases = [
            AutobahnCase("7.1.1", [hello, .close(1000)], .sends([hello, .close(1000)])),
            AutobahnCase("7.1.2", [.close(1000), .close(1000)], .sends([.close(1000)])),
            AutobahnCase("7.1.3", [.close(1000), .ping()], .sends([.close(1000)])),
            AutobahnCase("7.1.4", [.close(1000), hello], .sends([.close(1000)])),
            AutobahnCase(
                "7.1.5", [.text("fragment1", isFinal: false), .close(1000), .more("fragment2", isFinal: true)],
                .sends([.close(1000)])),
            AutobahnCase("7.1.6", [long, .close(1000), .ping()], .sends([long, .close(1000)]), pieces: [nil, 4096]),
            AutobahnCase("7.3.1", [.close()], .sends([.close()])),
            AutobahnCase("7.3.2", [WireFrame(opcode: 8, payload: [0x61])], .fails(1002)),
            AutobahnCase("7.3.3", [.close(1000)], .sends([.close(1000)])),
            AutobahnCase("7.3.4", [.close(1000, Array("Hello World!".utf8))], .sends([.close(1000)])),
            AutobahnCase("7.3.5", [.close(1000, Array(WebSocketStreamTests.text(123).utf8))], .sends([.close(1000)])),
            AutobahnCase("7.3.6", [.close(1000, Array(WebSocketStreamTests.text(124).utf8))], .fails(1002)),
            AutobahnCase("7.5.1", [.close(1000, invalid)], .fails(1007)),
        ]
        let valid = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999]
        for (index, code) in valid.enumerated() {
            cases.append(AutobahnCase("7.7.\(index + 1)", [.close(code)], .sends([.close(code)])))
        }
        for (index, code) in [0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999].enumerated() {
            cases.append(AutobahnCase("7.9.\(index + 1)", [.close(code)], .fails(1002)))
        }
        for (index, code) in [5000, 65535].enumerated() {
            cases.append(AutobahnCase("7.13.\(index + 1)", [.close(code)], .fails(1002)))
        }
        return cases
    }()

    /// 9: long messages, many fragments, many pieces, many messages.
    static let limits: [AutobahnCase] = {
        var cases: [AutobahnCase] = []
        for (index, count) in [64, 256, 1024, 4096, 8192, 16384].enumerated() {
            let length = count * 1024
            cases.append(
                AutobahnCase("9.1.\(index + 1)", echoes: [.text(WebSocketStreamTests.text(length))], pieces: [65536]))
            cases.append(AutobahnCase("9.2.\(index + 1)", echoes: [.binary(bytes(length))], pieces: [65536]))
        }
        let long = 4 << 20
        for (index, size) in [64, 256, 1024, 4096, 16384, 65536, 262144, 1 << 20, long].enumerated() {
            let text = Array(WebSocketStreamTests.text(long).utf8)
            cases.append(
                AutobahnCase(
                    "9.3.\(index + 1)", WireFrame.fragments(1, text, of: size), .sends([.text(text)]), pieces: [65536]))
            cases.append(
                AutobahnCase(
                    "9.4.\(index + 1)", WireFrame.fragments(2, bytes(long), of: size), .sends([.binary(bytes(long))]),
                    pieces: [65536]))
        }
        for (index, size) in [64, 128, 256, 512, 1024, 2048].enumerated() {
            cases.append(
                AutobahnCase("9.5.\(index + 1)", echoes: [.text(WebSocketStreamTests.text(1 << 20))], pieces: [size]))
            cases.append(AutobahnCase("9.6.\(index + 1)", echoes: [.binary(bytes(1 << 20))], pieces: [size]))
        }
        for (index, count) in [0, 16, 64, 256, 1024, 4096].enumerated() {
            let texts = [WireFrame](repeating: .text(WebSocketStreamTests.text(count)), count: 1000)
            cases.append(AutobahnCase("9.7.\(index + 1)", echoes: texts, pieces: [65536]))
            let messages = [WireFrame](repeating: .binary(bytes(count)), count: 1000)
            cases.append(AutobahnCase("9.8.\(index + 1)", echoes: messages, pieces: [65536]))
        }
        return cases
    }()

    /// 10: a message that its sender has fragmented automatically.
    static let fragmented: [AutobahnCase] = {
        let text = Array(WebSocketStreamTests.text(65536).utf8)
        return [AutobahnCase("10.1.1", WireFrame.fragments(1, text, of: 1300), .sends([.text(text)]), pieces: [nil])]
    }()
}
