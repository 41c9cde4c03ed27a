@testable import HTTP2

/// Runs the file of field lists: each is received by a machine, as the head of a request or of a response, or as trailers.
struct FieldListScorer: Scorer {
    func runs(file: String) -> Bool { file == "http2-headers.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        if row.text("kind") == "priority" { return score(priority: row) }
        let ends = row.flag("end_stream") ?? true
        let result: ReceivedList
        switch row.text("kind") {
        case "request": result = try ReceivedList(request: row.hex("block_hex"), ends: ends)
        case "response": result = try ReceivedList(response: row.hex("block_hex"), ends: ends)
        case "trailer": result = try ReceivedList(trailers: row.hex("block_hex"), ends: ends)
        default: throw CaseError("\(row.name): an unknown kind")
        }
        switch row.verdict {
        case "malformed", "malformed-by-9110":
            guard let error = result.error else { return .laxer(detail: "accepted") }
            return error.code == .protocolError ? .agreed : .wrongFields(detail: "\(error)")
        case "accept", "interim":
            if let error = result.error { return .stricter(rule: error.rule) }
            guard result.isInterim == (row.verdict == "interim") else { return .wrongFields(detail: "interim") }
            let expected = (row.json["fields"] as? [[String]] ?? []).filter {
                !$0[0].hasPrefix(":") && $0[0] != "host" && $0[0] != "cookie"
            }
            let found = (result.fields ?? [:]).filter { $0.name != .host && $0.name != .cookie }
            let isEqual = expected.elementsEqual(found) { $0[0] == $1.name.name && Array($0[1].utf8) == $1.rawValue }
            let isLatin = expected.contains { $0[1].unicodeScalars.contains { $0.value > 0x7F } }
            return isEqual || isLatin ? .agreed : .wrongFields(detail: "\(found)")
        default: return .agreed
        }
    }

    /// The values of the field `Priority`. A value that is ignored leaves the defaults.
    private func score(priority row: CaseRow) -> Outcome {
        let priority = HTTP2Priority(row.text("value") ?? "")
        let isEqual =
            priority.urgency == row.json["urgency"] as? Int && priority.isIncremental == row.flag("incremental")
        return isEqual ? .agreed : .wrongFields(detail: "u=\(priority.urgency), i=\(priority.isIncremental)")
    }
}

/// What a machine makes of a list.
private struct ReceivedList {
    var error: HTTP2Error?
    var fields: HTTPFields?
    var isInterim = false

    init(request block: [UInt8], ends: Bool) throws {
        var server = HTTP2ServerMachine(now: .zero)
        let bytes = ConnectionPreface.bytes + Self.settings + Self.headers(block, ends: ends)
        do throws(HTTP2Error) { try server.receive(bytes.span.bytes, now: .zero) } catch { self.error = error }
        while let event = server.nextEvent() { read(event) }
        readReset(server.withOutput { $0.withUnsafeBytes { Array($0) } })
    }

    init(response block: [UInt8], ends: Bool) throws {
        var client = HTTP2ClientMachine(now: .zero)
        var head = try HTTPRequest(method: .get, target: "/")
        try head.fields.set("localhost", for: .host)
        _ = try client.request(HTTP2Request(head, scheme: "https"), endsHere: true, now: .zero)
        let bytes = Self.settings + Self.headers(block, ends: ends)
        do throws(HTTP2Error) { try client.receive(bytes.span.bytes, now: .zero) } catch { self.error = error }
        while let event = client.nextEvent() { read(event) }
    }

    init(trailers block: [UInt8], ends: Bool) throws {
        var server = HTTP2ServerMachine(now: .zero)
        let head =
            Self.literal(":method", "POST") + Self.literal(":scheme", "https")
            + Self.literal(":authority", "localhost") + Self.literal(":path", "/")
        let bytes =
            ConnectionPreface.bytes + Self.settings + Self.headers(head, ends: false) + Self.headers(block, ends: ends)
        do throws(HTTP2Error) { try server.receive(bytes.span.bytes, now: .zero) } catch { self.error = error }
        while let event = server.nextEvent() {
            if case .request = event { continue }
            read(event)
        }
        readReset(server.withOutput { $0.withUnsafeBytes { Array($0) } })
    }

    /// A literal field that enters no table.
    private static func literal(_ name: String, _ value: String) -> [UInt8] {
        [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
    }

    private static let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]

    /// HEADERS on stream 1.
    private static func headers(_ block: [UInt8], ends: Bool) -> [UInt8] {
        var writer = FrameWriter()
        let content = writer.beginHeaders(on: StreamID(1), ends: ends)
        writer.bytes += block
        writer.endHeaders(content, on: StreamID(1))
        return writer.withBytes { $0.withUnsafeBytes { Array($0) } }
    }

    private mutating func read(_ event: HTTP2Event) {
        switch event {
        case .request(_, let request): fields = request.head.fields
        case .response(_, let response): fields = response.fields
        case .interim(_, let response):
            fields = response.fields
            isInterim = true
        case .trailers(_, let trailers): fields = trailers
        case .reset(let stream, let failure):
            if case .violation(let violation) = failure.cause { error = violation }
            if error == nil { error = .stream(stream, failure.code, "", "") }
        default: break
        }
    }

    /// A request that was refused before the program knew of it is in the output only.
    private mutating func readReset(_ output: [UInt8]) {
        var parser = FrameParser()
        var offset = 0
        while let part = try? parser.next(in: output.span.bytes, at: &offset) {
            if case .resetStream(let stream, let code) = part, error == nil {
                error = .stream(stream, code, "reset", "")
            }
        }
    }
}
