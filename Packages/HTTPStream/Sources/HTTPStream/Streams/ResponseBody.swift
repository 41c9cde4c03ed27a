internal import HTTPMessage
internal import StreamKit

/// The body of a response: its framing and its content coding.
///
/// It takes bytes out of a connection's buffer. Reading from the connection is the task of the load.
struct ResponseBody: Sendable {
    /// The cost of one call of the decoder in a turn's budget, in addition to the bytes it consumes.
    private static let decodeCost = 64

    private var decoder: BodyDecoder
    /// Nil for a body that is delivered as the server encoded it.
    private var content: ContentDecoder?

    /// Makes an empty body.
    init() {
        decoder = BodyDecoder(.none)
    }

    init(_ framing: BodyFraming, limits: HTTPLimits) {
        decoder = BodyDecoder(framing, limits: limits, leniency: .client)
    }

    /// Decodes the body if the response declares a known content coding.
    mutating func decodeContent(of response: HTTPResponse, limit: Int64) {
        content = ContentDecoder(for: response, limit: limit)
    }

    /// Whether the body is decoded.
    var isCoded: Bool { content != nil }

    /// Whether all bytes of the body have been taken out of the buffer.
    var isComplete: Bool { decoder.isComplete }

    /// The number of payload bytes that are known to follow.
    var expectedPayloadCount: Int64 { decoder.expectedPayloadCount }

    /// The number of payload bytes so far.
    var payloadCount: Int64 { decoder.payloadCount }

    var trailers: HTTPFields { decoder.trailers }
    var droppedTrailers: HTTPFields { decoder.droppedTrailers }

    /// Whether the end of the body can be found without the end of the connection.
    var endsByItself: Bool { decoder.framing.endsByItself }

    /// The length of the body as read, if the head declares it; nil otherwise.
    var length: Int64? {
        switch decoder.framing {
        case .none: 0
        case .length(let length): content == nil ? length : nil
        case .chunked, .untilClose, .tunnel: nil
        }
    }

    // MARK: Framing

    /// Returns the next event of the framing, and removes the framing's own bytes before it.
    mutating func next(_ connection: HTTPConnection, upTo limit: Int) throws(StreamError) -> BodyDecoder.Event {
        var used = 0
        let event: BodyDecoder.Event
        do throws(HTTPMessageError) {
            event = try connection.buffer.withBytes { (bytes) throws(HTTPMessageError) in
                try decoder.next(in: bytes, at: &used, upTo: limit)
            }
        } catch {
            throw StreamError(error)
        }
        if case .payload = event { return event }
        connection.buffer.remove(used)
        return event
    }

    /// Counts payload that was received without the buffer, or decoded.
    mutating func advance(_ count: Int) throws(StreamError) {
        do throws(HTTPMessageError) {
            try decoder.receivePayload(count)
        } catch {
            throw StreamError(error)
        }
    }

    /// Handles the end of the connection.
    ///
    /// - Throws: an error if it is not the proper end of the body.
    mutating func receiveEnd() throws(StreamError) {
        do throws(HTTPMessageError) {
            try decoder.receiveEnd()
        } catch {
            throw StreamError(error)
        }
    }

    // MARK: Content coding

    /// Whether decoded bytes are available.
    var hasDecodedBytes: Bool { content?.hasBytes == true }

    /// Decodes some of the buffered payload. Returns its cost in the turn's budget.
    mutating func decode(_ available: Int, of connection: HTTPConnection) throws(StreamError) -> Int {
        let used = try connection.buffer.withBytes { (bytes) throws(StreamError) in
            try content?.decode(bytes.extracting(..<available)) ?? 0
        }
        connection.buffer.remove(used)
        try advance(used)
        return used + ResponseBody.decodeCost
    }

    /// Moves decoded bytes into `target`. Returns their number.
    mutating func readDecoded(into target: inout MutableRawSpan) -> Int { content?.read(into: &target) ?? 0 }

    /// Ends the coded data; see ``ContentDecoder/finish()``.
    mutating func finishDecoding() throws(StreamError) {
        try content?.finish()
    }
}

extension BodyFraming {
    /// Whether the end of the body can be found without the end of the connection.
    var endsByItself: Bool {
        switch self {
        case .none, .length, .chunked: true
        case .untilClose, .tunnel: false
        }
    }
}

/// Removes the content coding of a body (RFC 9110 §8.4), one bounded piece at a time.
struct ContentDecoder: Sendable {
    /// The number of bytes decoded at once, which is also the most that are held.
    static let pieceSize = 64 * 1024

    private let coding: String
    private let limit: Int64
    private var zlib: Zlib?
    private var piece: [UInt8] = []
    private var position = 0
    private var end = 0
    private var total: Int64 = 0
    private var hasEnded = false

    /// Returns nil for a body without a coding or with an unknown one, which is delivered as it is.
    init?(for response: HTTPResponse, limit: Int64) {
        guard let coding = response.fields[.contentEncoding]?.lowercased(),
            ["gzip", "x-gzip", "deflate"].contains(coding)
        else { return nil }
        self.coding = coding
        self.limit = limit
    }

    /// Whether decoded bytes are available.
    var hasBytes: Bool { position < end }

    /// Moves decoded bytes into `target`. Returns their number.
    mutating func read(into target: inout MutableRawSpan) -> Int {
        let count = min(target.byteCount, end - position)
        target.withUnsafeMutableBytes { target in
            piece.withUnsafeBytes {
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[position..<position + count]))
            }
        }
        position += count
        return count
    }

    /// Decodes from the front of `input` into the empty piece. Returns the number of bytes consumed.
    ///
    /// - Throws: an error if the data do not have the declared coding, or exceed the limit.
    mutating func decode(_ input: RawSpan) throws(StreamError) -> Int {
        let zlib = try engine(for: input)
        if hasEnded {
            // Another member may follow (RFC 1952 §2.2); other bytes after the coded data do not belong to the body.
            guard case .gzip = zlib.format, input.unsafeLoad(as: UInt8.self) == 0x1f, zlib.restart() else {
                return input.byteCount
            }
            hasEnded = false
        }
        if piece.isEmpty { piece = [UInt8](repeating: 0, count: ContentDecoder.pieceSize) }
        guard let step = piece.withUnsafeMutableBytes({ zlib.inflate(input, into: $0) }) else {
            throw .badContentCoding(coding)
        }
        position = 0
        end = step.produced
        hasEnded = step.hasEnded
        total += Int64(step.produced)
        guard total <= limit else { throw .decodedTooMuch(limit) }
        return step.consumed
    }

    /// Ends the coded body. Decodes what zlib still holds, so check ``hasBytes`` afterwards.
    ///
    /// - Throws: an error if the coded data are incomplete. A body of no bytes at all counts as an empty one.
    mutating func finish() throws(StreamError) {
        guard !hasEnded, zlib != nil else { return }
        let nothing: [UInt8] = []
        _ = try decode(nothing.span.bytes)
        if !hasBytes, !hasEnded { throw .badContentCoding(coding) }
    }

    private mutating func engine(for input: RawSpan) throws(StreamError) -> Zlib {
        if let zlib { return zlib }
        guard !input.isEmpty else { throw .badContentCoding(coding) }
        // "deflate" means the zlib format. A first byte that cannot begin it indicates a server that sends raw data.
        let first = input.unsafeLoad(as: UInt8.self)
        let format: Zlib.Format = coding == "deflate" ? (first & 0x0f == 8 ? .zlib : .raw()) : .gzip
        let zlib = try Zlib(inflating: format)
        self.zlib = zlib
        return zlib
    }
}
