@testable import HTTP2

/// Runs the file of conversations: what a peer sends to a client or a server, and how that must react.
struct ScenarioScorer: Scorer {
    func runs(file: String) -> Bool { file == "http2-scenarios.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let expected = row.object("expect"), let reaction = expected["reaction"] as? String else {
            throw CaseError("\(row.name): no expectation")
        }
        let steps = try (row.json["steps"] as? [[String: Any]] ?? []).map { try ScenarioStep($0) }
        let observed: ScenarioReaction
        if row.text("role") == "client" {
            let requests = row.json["requests"] as? [[String]] ?? []
            observed = try ScenarioClient.run(steps, requests)
            if let difference = outcome(expected["outcome"] as? [Any] ?? [], observed) {
                return .wrongFields(detail: difference)
            }
        } else {
            observed = try ScenarioServer.run(steps)
        }
        let alternatives = reaction.split(separator: "-or-").map { String($0) }
        let codes = Set(expected["codes"] as? [String] ?? [])
        let isMet = alternatives.contains { meets($0, codes, expected, observed) }
        if isMet { return .agreed }
        let isLaxer = observed.error == nil && observed.resets.isEmpty
        return isLaxer ? .laxer(detail: "\(reaction): \(observed)") : .wrongFields(detail: "\(reaction): \(observed)")
    }

    private func meets(
        _ reaction: String, _ codes: Set<String>, _ expected: [String: Any], _ observed: ScenarioReaction
    ) -> Bool {
        let isCode = { (code: ErrorCode) in codes.isEmpty || codes.contains(code.description) }
        let connection = observed.error.map { isCode($0.code) } ?? false
        switch reaction {
        case "connection-error", "error", "closed": return connection
        case "stream-error":
            return connection || observed.resets.contains { isCode($0.code) }
                // What arrives on a stream that is known to be closed may be ignored as well.
                || codes == ["STREAM_CLOSED"] && observed.error == nil && observed.resets.isEmpty
        case "limit":
            // Either the connection ends, or what it costs stays bounded.
            return connection || observed.error?.code == .enhanceYourCalm
                || observed.maximumMemory <= HTTP2Limits().maximumMemory && observed.requestCount <= 500
        case "http1-answer": return observed.error?.code == .protocolError && observed.error?.rule == "RFC 9113 §3.4"
        case "fine":
            guard observed.error == nil, observed.resets.allSatisfy({ $0.code == .noError }) else { return false }
            if let stream = expected["stream"] as? Int, !observed.answered.contains(StreamID(UInt32(stream))) {
                return false
            }
            guard let answer = expected["answer"] as? String else { return true }
            if answer == "GOAWAY" || answer.hasSuffix("or close") { return true }
            return observed.frames.contains(answer == "spec.EventDataFrame" ? "DATA" : answer)
        default: return false
        }
    }

    /// Compares what became of each request. Returns the first difference.
    private func outcome(_ expected: [Any], _ observed: ScenarioReaction) -> String? {
        for (index, expectation) in expected.enumerated() {
            let found = index < observed.outcomes.count ? observed.outcomes[index] : .unanswered
            switch (expectation, found) {
            case (let pair as [Any], .answer(let status, let body)):
                if pair.count == 2, pair[0] as? Int == status, pair[1] as? String == body { continue }
            case (let word as String, .failed(let mayRepeat)):
                if word == "error" || word.hasPrefix("retry") == mayRepeat && word != "cancelled" { continue }
            case (let word as String, .cancelled): if word == "cancelled" { continue }
            case (let word as String, .unanswered): if word == "error" { continue }
            default: break
            }
            return "request \(index + 1): \(found) instead of \(expectation)"
        }
        return nil
    }
}

/// A step of a conversation.
struct ScenarioStep {
    /// The bytes that the peer sends, in pieces.
    var input: [[UInt8]] = []
    /// The request, counted from 0, that the client cancels.
    var cancelled: Int?
    var closes = false
    var waits = false

    init(_ json: [String: Any]) throws {
        let count = json["count"] as? Int ?? 1
        if let text = json["in_hex"] as? String {
            let bytes = try Self.bytes(text)
            input = Array(repeating: bytes, count: count)
        } else if let template = json["in_template"] as? String {
            let (first, step) = (json["sid_from"] as? Int ?? 1, json["sid_step"] as? Int ?? 2)
            input = try (0..<count).map { index in
                let digits = String(first + index * step, radix: 16)
                let stream = String(repeating: "0", count: 8 - digits.count) + digits
                return try Self.bytes(template.replacing("SSSSSSSS", with: stream))
            }
        }
        if let stream = json["cancel"] as? Int { cancelled = (stream - 1) / 2 }
        closes = json["close"] != nil
        waits = json["wait"] != nil
    }

    private static func bytes(_ hex: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(hex.utf8.count / 2)
        var high: UInt8?
        for digit in hex.utf8 {
            guard let value = Character(Unicode.Scalar(digit)).hexDigitValue.map(UInt8.init) else {
                throw CaseError("a step is not hexadecimal")
            }
            if let first = high { bytes.append(first << 4 | value) }
            high = high == nil ? value : nil
        }
        return bytes
    }
}

/// What was seen of the side under test.
struct ScenarioReaction: CustomStringConvertible {
    enum Outcome {
        case answer(Int, String)
        case failed(mayRepeat: Bool)
        case cancelled
        case unanswered
    }

    /// The error that ended the connection.
    var error: HTTP2Error?
    var resets: [(stream: StreamID, code: ErrorCode)] = []
    /// The names of the frames that were sent.
    var frames: Set<String> = []
    /// The streams on which HEADERS were sent.
    var answered: Set<StreamID> = []
    var outcomes: [Outcome] = []
    var requestCount = 0
    /// The greatest number of bytes that waited to be written or read.
    var maximumMemory = 0

    var description: String {
        "\(error.map(\.description) ?? "no error"), \(resets.prefix(3).map { "RST \($0.stream) \($0.code)" }), \(frames.sorted()), \(outcomes)"
    }

    /// Notes the frames of an output.
    mutating func note(_ output: [UInt8]) {
        maximumMemory = max(maximumMemory, output.count)
        let preface = ConnectionPreface.bytes
        let bytes = output.starts(with: preface) ? Array(output.dropFirst(preface.count)) : output
        var parser = FrameParser()
        var offset = 0
        while let part = try? parser.next(in: bytes.span.bytes, at: &offset) {
            switch part {
            case .begin(let start):
                frames.insert(start.header.kind.description)
                if start.header.kind == .headers { answered.insert(start.header.stream) }
            case .settings: frames.insert("SETTINGS")
            case .settingsAcknowledgment: frames.insert("SETTINGS ACK")
            case .ping(_, let isAcknowledgment): frames.insert(isAcknowledgment ? "PING ACK" : "PING")
            case .goAway: frames.insert("GOAWAY")
            case .resetStream(let stream, let code): resets.append((stream, code))
            default: break
            }
        }
    }
}
