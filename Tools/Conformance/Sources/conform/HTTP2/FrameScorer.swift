import Foundation

@testable import HTTP2

/// Runs the file of single frames: the fields of a frame, or the error of its connection or stream.
struct FrameScorer: Scorer {
    func runs(file: String) -> Bool { file == "http2-frames.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        let wire =
            try row.text("wire_hex") != nil
            ? row.hex("wire_hex")
            : row.hex("wire_head_hex") + [UInt8](repeating: 0, count: row.json["wire_zero_octets"] as? Int ?? 0)
        let whole = ParsedFrame(wire, inPiecesOf: max(1, wire.count))
        guard wire.count > 4096 || ParsedFrame(wire, inPiecesOf: 1) == whole else {
            return .wrongFields(detail: "another result byte by byte")
        }
        if let error = whole.error {
            let codes = row.texts("error")
            guard row.verdict == "error" else { return .stricter(rule: error.rule) }
            if !codes.isEmpty, !codes.contains(error.code.description) { return .wrongFields(detail: "\(error)") }
            // An error of the connection is wider than one of the stream.
            let isNarrower = row.text("scope") == "connection" && error.scope != .connection
            return isNarrower ? .laxer(detail: "only the stream ends: \(error)") : .agreed
        }
        switch row.verdict {
        case "need-more": return whole.isComplete ? .laxer(detail: "the frame is complete") : .agreed
        case "error": return .laxer(detail: "no error")
        default: break
        }
        guard whole.isComplete, let expected = row.object("frame") else { return .wrongFields(detail: "incomplete") }
        for (key, value) in expected {
            guard let found = whole.fields[key] else { return .wrongFields(detail: "\(key) is missing") }
            if "\(found)" != "\(ParsedFrame.comparable(value))" {
                return .wrongFields(detail: "\(key): \(found) instead of \(value)")
            }
        }
        return .agreed
    }
}

/// What the parser says of one frame, in the words of the case file.
private struct ParsedFrame: Equatable {
    var fields: [String: String] = [:]
    var error: HTTP2Error?
    var isComplete = false

    init(_ wire: [UInt8], inPiecesOf size: Int) {
        var parser = FrameParser()
        var content: [UInt8] = []
        var start: FrameStart?
        if wire.count >= FrameHeader.size { readHeader(FrameHeader(wire.span.bytes)) }
        do throws(HTTP2Error) {
            for position in stride(from: 0, to: wire.count, by: size) {
                let piece = Array(wire[position..<min(wire.count, position + size)])
                var offset = 0
                while let part = try parser.next(in: piece.span.bytes, at: &offset) {
                    switch part {
                    case .begin(let begun): start = begun
                    case .content(let range): content += piece[range]
                    case .end: if let start { read(start, content) }
                    default: try read(part, wire)
                    }
                }
            }
        } catch {
            self.error = error
        }
        isComplete = parser.isBetweenFrames && !wire.isEmpty
    }

    /// JSON's booleans are numbers on Linux as well; null is a value.
    static func comparable(_ value: Any) -> String {
        switch value {
        case let flag as Bool where type(of: value) == Bool.self || "\(type(of: value))".contains("Bool"): "\(flag)"
        case let list as [[Int]]: list.map { "\($0[0])=\($0[1])" }.joined(separator: " ")
        case let object as [String: Any]:
            object.sorted { $0.key < $1.key }.map { "\($0.key)=\(comparable($0.value))" }.joined(separator: " ")
        case is NSNull: "null"
        default: "\(value)"
        }
    }

    private mutating func readHeader(_ header: FrameHeader) {
        let known = header.kind.rawValue < 10
        fields["type"] = known ? header.kind.description : "\(header.kind.rawValue)"
        fields["flags"] = "\(header.flags.rawValue)"
        fields["stream"] = "\(header.stream)"
        fields["length"] = "\(header.length)"
    }

    private mutating func read(_ start: FrameStart, _ content: [UInt8]) {
        let header = start.header
        fields["padding"] = start.padding.map { "\($0)" } ?? "null"
        fields["end_headers"] = "\(header.endsHeaders)"
        fields["end_stream"] = "\(header.endsStream)"
        fields["data_hex"] = Self.hex(content)
        fields["fragment_hex"] = Self.hex(content)
        fields["flow_controlled_length"] = "\(header.length)"
        fields["priority"] = start.dependency.map(Self.text) ?? "null"
        if let promised = start.promised { fields["promised"] = "\(promised)" }
    }

    private mutating func read(_ part: FrameParser.Part, _ wire: [UInt8]) throws(HTTP2Error) {
        switch part {
        case .settings(let settings):
            var values = HTTP2Settings()
            for setting in settings { try values.apply(setting, from: .client) }
            fields["settings"] = settings.map { "\($0.id.rawValue)=\($0.value)" }.joined(separator: " ")
            fields["ack"] = "false"
        case .settingsAcknowledgment:
            fields["settings"] = ""
            fields["ack"] = "true"
        case .ping(let opaque, let isAcknowledgment):
            fields["ack"] = "\(isAcknowledgment)"
            fields["opaque_hex"] = Self.hex((0..<8).map { UInt8(truncatingIfNeeded: opaque >> (56 - 8 * $0)) })
        case .goAway(let goAway):
            fields["last_stream"] = "\(goAway.lastStream)"
            fields["error_code"] = "\(goAway.code.rawValue)"
            fields["debug_hex"] = Self.hex(goAway.debugData)
        case .windowUpdate(_, let increment): fields["increment"] = "\(increment)"
        case .resetStream(_, let code): fields["error_code"] = "\(code.rawValue)"
        case .priority(_, let dependency): fields["priority"] = Self.text(dependency)
        case .unknown, .priorityUpdate: fields["payload_hex"] = Self.hex(Array(wire.dropFirst(FrameHeader.size)))
        case .streamError(let error): throw error
        case .begin, .content, .end: break
        }
    }

    private static func text(_ dependency: StreamDependency) -> String {
        "depends_on=\(dependency.stream) exclusive=\(dependency.isExclusive) weight=\(dependency.weight)"
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
