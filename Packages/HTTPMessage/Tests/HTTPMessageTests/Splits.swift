import HTTPMessage
import Testing

/// All splits that tests use: the whole bytes, two pieces split at every index, and single bytes.
func everySplit(of bytes: [UInt8]) -> [[ArraySlice<UInt8>]] {
    var splits: [[ArraySlice<UInt8>]] = [[bytes[...]]]
    for index in bytes.indices.dropFirst() { splits.append([bytes[..<index], bytes[index...]]) }
    splits.append(bytes.indices.map { bytes[$0...$0] })
    return splits
}

/// The result of parsing a head.
enum HeadOutcome: Equatable {
    case head(byteCount: Int, firstLine: String, fields: [String])
    case needMore
    case failure(HTTPMessageError)
}

/// Parses a head that arrives in pieces.
func parseHead(
    _ kind: HeadParser.Kind, _ pieces: [ArraySlice<UInt8>], _ leniency: HTTPLeniency, _ limits: HTTPLimits
) -> HeadOutcome {
    var parser = HeadParser(kind, limits: limits, leniency: leniency)
    var buffer: [UInt8] = []
    do throws(HTTPMessageError) {
        for piece in pieces {
            buffer += piece
            guard case .complete(let count) = try parser.parse(buffer.span.bytes) else { continue }
            switch kind {
            case .request:
                let request = try parser.makeRequest(from: buffer.span.bytes)
                return .head(
                    byteCount: count, firstLine: request.requestLine, fields: request.fields.map(\.description))
            case .response:
                let response = try parser.makeResponse(from: buffer.span.bytes)
                return .head(
                    byteCount: count, firstLine: response.statusLine, fields: response.fields.map(\.description))
            case .trailers:
                let trailers = try parser.makeTrailers(from: buffer.span.bytes)
                return .head(byteCount: count, firstLine: "", fields: trailers.map(\.description))
            }
        }
        return .needMore
    } catch {
        return .failure(error)
    }
}

/// Parses a head and checks that every split gives the same result.
func parseHead(
    _ kind: HeadParser.Kind, _ text: String, _ leniency: HTTPLeniency = .strict, limits: HTTPLimits = .default,
    sourceLocation: SourceLocation = #_sourceLocation
) -> HeadOutcome {
    parseHead(kind, bytes: Array(text.utf8), leniency, limits: limits, sourceLocation: sourceLocation)
}

func parseHead(
    _ kind: HeadParser.Kind, bytes: [UInt8], _ leniency: HTTPLeniency = .strict, limits: HTTPLimits = .default,
    sourceLocation: SourceLocation = #_sourceLocation
) -> HeadOutcome {
    let whole = parseHead(kind, [bytes[...]], leniency, limits)
    for pieces in everySplit(of: bytes) {
        let outcome = parseHead(kind, pieces, leniency, limits)
        #expect(outcome == whole, "split at \(pieces.first?.count ?? 0)", sourceLocation: sourceLocation)
    }
    return whole
}

/// The result of decoding a body.
struct BodyOutcome: Equatable {
    var payload: [UInt8] = []
    var trailers: [String] = []
    var isComplete = false
    var consumed = 0
    var error: HTTPMessageError?
}

/// Decodes a body that arrives in pieces.
func decodeBody(_ decoder: BodyDecoder, _ pieces: [ArraySlice<UInt8>], atEnd: Bool) -> BodyOutcome {
    var decoder = decoder
    var outcome = BodyOutcome()
    do throws(HTTPMessageError) {
        for piece in pieces {
            let input = Array(piece)
            var position = 0
            reading: while true {
                switch try decoder.next(in: input.span.bytes, at: &position) {
                case .payload(let range): outcome.payload += input[range]
                case .needMore, .end: break reading
                }
            }
            outcome.consumed += position
        }
        if atEnd { try decoder.receiveEnd() }
    } catch {
        outcome.error = error
    }
    outcome.isComplete = decoder.isComplete
    outcome.trailers = decoder.trailers.map(\.description)
    if outcome.error != nil { outcome.consumed = 0 }
    return outcome
}

/// Decodes a body and checks that every split gives the same result.
func decodeBody(
    _ decoder: BodyDecoder, _ text: String, atEnd: Bool = false, sourceLocation: SourceLocation = #_sourceLocation
) -> BodyOutcome {
    let bytes = Array(text.utf8)
    let whole = decodeBody(decoder, [bytes[...]], atEnd: atEnd)
    for pieces in everySplit(of: bytes) {
        let outcome = decodeBody(decoder, pieces, atEnd: atEnd)
        #expect(outcome == whole, "split at \(pieces.first?.count ?? 0)", sourceLocation: sourceLocation)
    }
    return whole
}
