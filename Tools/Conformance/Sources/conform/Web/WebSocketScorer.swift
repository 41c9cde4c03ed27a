import Foundation
import HTTPMessage

@testable import WebSocketStream

/// Runs the file of WebSockets: URLs, subprotocols and codes of closure that a program may use, and responses to handshakes.
struct WebSocketScorer: Scorer {
    func runs(file: String) -> Bool { file == "websocket-wpt.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        let isExpected = row.text("expected") == "valid" || row.text("expected") == "opens"
        let failure: (any Error)?
        do {
            try run(row)
            failure = nil
        } catch let error as CaseError {
            throw error
        } catch {
            failure = error
        }
        if (failure == nil) == isExpected || row.verdict == "either" { return .agreed }
        return failure.map { .wrongFields(detail: "\($0)") } ?? .laxer(detail: "accepted")
    }

    private func run(_ row: CaseRow) throws {
        switch row.text("kind") {
        case "ws-url":
            guard let url = row.text("url").flatMap({ URL(string: $0) }) else {
                throw WebSocketError.invalidArgument("no URL")
            }
            _ = try WebSocket.request(for: url)
        case "ws-protocol": _ = try WebSocketClientHandshake(subprotocols: row.texts("protocols"))
        case "ws-close":
            guard let code = (row.json["code"] as? Int).flatMap({ UInt16(exactly: $0) }) else {
                throw CaseError("\(row.name): no code")
            }
            var machine = WebSocketMachine(.client)
            try machine.close(
                WebSocketClosure(code: WebSocketCloseCode(rawValue: code), reason: row.text("reason") ?? ""))
        case "ws-handshake": try handshake(row)
        default: throw CaseError("\(row.name): unknown kind")
        }
    }

    private func handshake(_ row: CaseRow) throws {
        let handshake = try WebSocketClientHandshake(subprotocols: row.texts("protocols"))
        var request = try HTTPRequest(
            method: .get, url: URL(string: "http://example.org/") ?? URL(fileURLWithPath: "/"))
        try handshake.addFields(to: &request)
        try request.fields.set("websocket", for: .upgrade)
        try request.fields.set("Upgrade", for: .connection)
        // Our server computes the proof for the key of our client.
        let right = try WebSocketServerHandshake(request).accept()
        let proof = right.fields["Sec-WebSocket-Accept"] ?? ""
        let text = String(decoding: try row.bytes("response_b64"), as: UTF8.self).replacing("{accept}", with: proof)
        var parser = HeadParser(.response, leniency: .client)
        let bytes = Array(text.utf8)
        guard case .complete = try parser.parse(bytes.span.bytes) else { throw CaseError("\(row.name): no head") }
        let agreement = try handshake.agreement(with: parser.makeResponse(from: bytes.span.bytes))
        if agreement.subprotocol != row.text("protocol") { throw WebSocketError.invalidArgument("another subprotocol") }
    }
}
