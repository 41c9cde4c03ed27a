import FTPStream
import Foundation

/// Replies of a control connection, and what is read from those that name a port.
///
/// Addresses of PASV are not compared: none is believed.
struct ControlScorer: Scorer {
    func runs(file: String) -> Bool { file == "ftp-control.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        let bytes = try row.bytes("input_b64")
        switch row.text("kind") {
        case "control-stream": return try stream(row, bytes)
        case "pasv", "epsv":
            let reply = FTPReply(code: 227, lines: [bytes])
            let port = row.text("kind") == "pasv" ? reply.passivePort : reply.extendedPassivePort
            let expected = (row.json["expected"] as? [String: Any])?["port"] as? Int
            if port.map(Int.init) == expected { return .agreed }
            guard let port else { return .stricter(rule: "noPort") }
            // RFC 2428 §3 allows any delimiter; a source that knows one refuses the rest.
            return row.verdict == "reject"
                ? .notComparable(reason: "the delimiter of EPSV is the server's choice (RFC 2428 §3)")
                : .wrongFields(detail: "port \(port), not \(expected.map(String.init) ?? "none")")
        default: throw CaseError("\(row.name): unknown kind")
        }
    }

    private func stream(_ row: CaseRow, _ input: [UInt8]) throws -> Outcome {
        // Some sources parse a text, not a stream: its end is a line's end.
        let bytes = input.last == UInt8(ascii: "\n") || row.text("rest") != "" ? input : input + [13, 10]
        let whole = read(bytes, inPiecesOf: bytes.count)
        for size in [1, 2, 3, 7] where read(bytes, inPiecesOf: size) != whole {
            return .wrongFields(detail: "pieces of \(size) are read otherwise")
        }
        guard let whole else { return row.verdict == "reject" ? .agreed : .stricter(rule: "notAReply") }
        if row.verdict == "reject" { return .laxer(detail: "\(whole.replies.count) replies") }
        let expected = row.json["replies"] as? [[String: Any]] ?? []
        guard whole.replies.map(\.code) == expected.compactMap({ $0["code"] as? Int }), whole.isComplete else {
            return .wrongFields(detail: "codes \(whole.replies.map(\.code))")
        }
        for (reply, values) in zip(whole.replies, expected) {
            let own = reply.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            if let text = values["text"] as? String {
                let lines = text.split(separator: "\n").map { line in
                    line.hasPrefix("\(reply.code)-") || line.hasPrefix("\(reply.code) ") ? line.dropFirst(4) : line
                }
                if own != lines.map(String.init) { return .wrongFields(detail: "lines \(own), not \(lines)") }
            } else if let lines = values["lines"] as? [String] {
                // This source joins a line without a code to the one before, and forgets what a foreign code ended.
                guard own.joined().hasSuffix(lines.joined()) else {
                    return .wrongFields(detail: "lines \(own), not \(lines)")
                }
            }
        }
        return .agreed
    }

    private struct Reading: Equatable {
        var replies: [FTPReply]
        var isComplete: Bool
    }

    /// The replies; nil if something is none.
    private func read(_ bytes: [UInt8], inPiecesOf size: Int) -> Reading? {
        var parser = FTPReplyParser()
        var replies: [FTPReply] = []
        for start in stride(from: 0, to: bytes.count, by: max(1, size)) {
            var piece = bytes[start..<min(bytes.count, start + size)]
            while !piece.isEmpty {
                var used = 0
                do throws(FTPError) {
                    if let reply = try parser.parse(piece, used: &used) { replies.append(reply) }
                } catch {
                    return nil
                }
                piece = piece.dropFirst(used)
            }
        }
        return Reading(replies: replies, isComplete: parser.isEmpty)
    }
}
