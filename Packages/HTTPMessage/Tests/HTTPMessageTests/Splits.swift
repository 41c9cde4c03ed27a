import HTTPMessage
import Testing

/// Every way in which tests hand over bytes: whole, in two pieces at every place, and one by one.
func everySplit(of bytes: [UInt8]) -> [[ArraySlice<UInt8>]] {
    var splits: [[ArraySlice<UInt8>]] = [[bytes[...]]]
    for place in bytes.indices.dropFirst() { splits.append([bytes[..<place], bytes[place...]]) }
    splits.append(bytes.indices.map { bytes[$0...$0] })
    return splits
}

/// What a head parser made of bytes, however they came.
enum HeadOutcome: Equatable {
    case head(byteCount: Int, firstLine: String, fields: [String])
    case needMore
    case failure(HTTPMessageError)
}

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

/// The outcome for the whole bytes, after a check that every split gives the same.
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

/// A body decoder's outcome, however the bytes came.
struct BodyOutcome: Equatable {
    var payload: [UInt8] = []
    var trailers: [String] = []
    var isComplete = false
    var consumed = 0
    var error: HTTPMessageError?
}

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
