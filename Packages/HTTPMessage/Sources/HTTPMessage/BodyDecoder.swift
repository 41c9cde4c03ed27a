/// An incremental decoder that removes the framing of a body and locates the payload in received bytes.
///
/// ``next(in:at:upTo:)`` copies no payload; it returns ranges of its input. Between two inputs, ``expectedPayloadCount`` is the number
/// of bytes that are known to be payload. A driver can read these bytes directly into its caller's memory and report them with
/// ``receivePayload(_:)``.
///
/// ```swift
/// var decoder = BodyDecoder(.chunked)
/// let input = Array("5\r\nhello\r\n0\r\n\r\n".utf8)
/// var position = 0
/// while case .payload(let range) = try decoder.next(in: input.span.bytes, at: &position) {
///     print(String(decoding: input[range], as: UTF8.self))  // hello
/// }
/// decoder.isComplete  // true
/// ```
///
/// The decoder buffers only trailer sections, within the limits for a head. After an error, further decoding throws
/// ``HTTPMessageError/Code/parserFinished``.
public struct BodyDecoder: Sendable {
    /// The next element of the body.
    public enum Event: Hashable, Sendable {
        /// The input is consumed, and the body continues.
        case needMore
        /// These bytes of the input are payload. They count as consumed.
        case payload(Range<Int>)
        /// The body has ended. The rest of the input belongs to the next message.
        case end
    }

    /// How the end of the body is determined.
    public let framing: BodyFraming

    /// The number of payload bytes so far.
    public private(set) var payloadCount: Int64 = 0

    /// The trailer section of a chunked body (RFC 9112 §7.1.2). Empty until the body has ended.
    ///
    /// Trailer fields are not part of the head. Fields that frame, route or authenticate a message are never among them
    /// (RFC 9110 §6.5.1): they are an error or, with ``HTTPLeniency/forbiddenTrailers``, in ``droppedTrailers``.
    public var trailers: HTTPFields { trailerSection?.fields ?? HTTPFields() }

    /// The fields that were removed from the trailer section because they are not allowed there.
    public var droppedTrailers: HTTPFields { trailerSection?.droppedFields ?? HTTPFields() }

    private let limits: HTTPLimits
    private let leniency: HTTPLeniency
    private var state: State
    private var extensionBytes = 0
    private var wireCount = 0
    /// Nil until the trailer section begins.
    private var trailerSection: TrailerSection?

    private enum State {
        case payload(remaining: Int64)
        case chunkLine(ChunkLine)
        case chunkEnd(awaitsLineFeed: Bool)
        case trailers
        case complete
        case failed
    }

    /// Creates a decoder for the body that follows a head.
    @inline(__always)  // Otherwise the decoder is built elsewhere and copied to the caller.
    public init(_ framing: BodyFraming, limits: HTTPLimits = .default, leniency: HTTPLeniency = .strict) {
        self.framing = framing
        self.limits = limits
        self.leniency = leniency
        switch framing {
        case .none, .length(0): state = .complete
        case .length(let count): state = .payload(remaining: count)
        case .chunked: state = .chunkLine(ChunkLine())
        case .untilClose, .tunnel: state = .payload(remaining: .max)
        }
    }

    /// Whether the body has ended according to its framing.
    public var isComplete: Bool {
        if case .complete = state { true } else { false }
    }

    /// Whether all payload has been decoded. A trailer section may still follow.
    public var isPayloadComplete: Bool {
        switch state {
        case .complete, .trailers: true
        default: false
        }
    }

    /// The number of following bytes that are payload: the rest of the body or chunk.
    ///
    /// `Int64.max` if the body ends when the peer closes the connection.
    public var expectedPayloadCount: Int64 {
        if case .payload(let remaining) = state { remaining } else { 0 }
    }

    /// Returns the next element of the body and advances `position` past the consumed bytes.
    ///
    /// A range of payload is at most `limit` bytes long. Call again as long as the result is ``Event/payload(_:)``.
    ///
    /// Throws if a chunk violates the grammar of RFC 9112 §7.1 or a limit is exceeded. The error's offset is counted from the
    /// start of the body.
    ///
    /// - Precondition: `position` is within `input`.
    public mutating func next(
        in input: RawSpan, at position: inout Int, upTo limit: Int = .max
    ) throws(HTTPMessageError) -> Event {
        precondition(position >= 0 && position <= input.byteCount, "the position is outside the input")
        let start = position
        let before = state
        state = .failed  // Remains if an error is thrown.
        do throws(HTTPMessageError) {
            let (event, after) = try advance(before, input, &position, limit: limit)
            state = after
            wireCount += position - start
            return event
        } catch {
            // Offsets of trailers are relative to their section, which may have begun in an earlier input.
            var error = error
            let bufferedCount = trailerSection?.bufferedCount ?? 0
            error.offset = wireCount + position - start + (error.offset.map { $0 - bufferedCount } ?? 0)
            throw error
        }
    }

    /// Records payload that the caller read directly instead of with ``next(in:at:upTo:)``.
    ///
    /// Throws ``HTTPMessageError/Code/bodyTooLong`` if the body exceeds ``HTTPLimits/bodyLength``.
    ///
    /// - Precondition: `count` is from 0 to ``expectedPayloadCount``.
    public mutating func receivePayload(_ count: Int) throws(HTTPMessageError) {
        precondition(
            count >= 0 && Int64(count) <= expectedPayloadCount, "the count is negative or exceeds expectedPayloadCount")
        let before = state
        state = .failed
        state = try countPayload(before, count)
        wireCount += count
    }

    /// Records that the peer has closed the connection.
    ///
    /// Ends a body that is delimited by the close. Throws ``HTTPMessageError/Code/truncated`` if the body is incomplete.
    public mutating func receiveEnd() throws(HTTPMessageError) {
        switch (state, framing) {
        case (.complete, _): return
        case (.payload, .untilClose), (.payload, .tunnel): state = .complete
        default:
            state = .failed
            throw HTTPMessageError(.truncated, offset: wireCount)
        }
    }

    /// Copies payload from `input` into `output`, as much as fits.
    ///
    /// A convenience over ``next(in:at:upTo:)`` for callers that have their own memory. Returns the numbers of bytes consumed
    /// and written, and throws the same errors.
    public mutating func decode(
        _ input: RawSpan, into output: inout OutputRawSpan
    ) throws(HTTPMessageError) -> (consumed: Int, written: Int) {
        var position = 0
        let before = output.byteCount
        while output.freeCapacity > 0 || expectedPayloadCount == 0 {
            guard case .payload(let range) = try next(in: input, at: &position, upTo: output.freeCapacity) else {
                break
            }
            input.extracting(range).withUnsafeBytes { payload in
                output.withUnsafeMutableBytes { buffer, count in
                    UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyMemory(from: payload)
                    count += payload.count
                }
            }
        }
        return (position, output.byteCount - before)
    }
}

extension BodyDecoder {
    /// Consumes framing until the next payload, the end of the body or the end of the input.
    private mutating func advance(
        _ before: State, _ input: RawSpan, _ position: inout Int, limit: Int
    ) throws(HTTPMessageError) -> (Event, State) {
        var state = before
        while true {
            switch state {
            case .complete:
                return (.end, state)
            case .failed:
                throw HTTPMessageError(.parserFinished, fault: .caller)
            case .payload(let remaining):
                let count = Int(Swift.min(Int64(Swift.min(input.byteCount - position, limit)), remaining))
                guard count > 0 else { return (.needMore, state) }
                state = try countPayload(state, count)
                position += count
                return (.payload(position - count..<position), state)
            case .chunkLine(var line):
                let ended = try parseChunkLine(&line, input, &position)
                guard ended else { return (.needMore, .chunkLine(line)) }
                state = line.size > 0 ? .payload(remaining: line.size) : .trailers
            case .chunkEnd(let awaitsLineFeed):
                guard position < input.byteCount else { return (.needMore, state) }
                let byte = input.unsafeLoad(fromUncheckedByteOffset: position, as: UInt8.self)
                guard byte == (awaitsLineFeed ? HTTPGrammar.lf : HTTPGrammar.cr) else {
                    throw HTTPMessageError(.invalidChunkDelimiter)
                }
                position += 1
                state = awaitsLineFeed ? .chunkLine(ChunkLine()) : .chunkEnd(awaitsLineFeed: true)
            case .trailers:
                guard try parseTrailers(input, &position) else { return (.needMore, state) }
                state = .complete
            }
        }
    }

    /// Counts decoded payload. Returns the state that follows it.
    private mutating func countPayload(_ state: State, _ count: Int) throws(HTTPMessageError) -> State {
        guard case .payload(let remaining) = state else { return state }
        guard Int64(count) <= limits.bodyLength - payloadCount else { throw HTTPMessageError(.bodyTooLong) }
        payloadCount += Int64(count)
        switch framing {
        case .untilClose, .tunnel: return state
        case .chunked where remaining == Int64(count): return .chunkEnd(awaitsLineFeed: false)
        case .none, .length, .chunked:
            return remaining == Int64(count) ? .complete : .payload(remaining: remaining - Int64(count))
        }
    }

    /// Parses the bytes of a chunk's size line. Returns true once the line is complete.
    private mutating func parseChunkLine(
        _ line: inout ChunkLine, _ input: RawSpan, _ position: inout Int
    ) throws(HTTPMessageError) -> Bool {
        while position < input.byteCount {
            let byte = input.unsafeLoad(fromUncheckedByteOffset: position, as: UInt8.self)
            let ended = try line.parse(byte, leniency, extensionBytes: &extensionBytes)
            if extensionBytes > limits.chunkExtensionLength { throw HTTPMessageError(.chunkExtensionsTooLong) }
            position += 1
            if ended { return true }
        }
        return false
    }

    /// Buffers the trailer section, which may arrive in pieces. Returns true once it is complete.
    private mutating func parseTrailers(_ input: RawSpan, _ position: inout Int) throws(HTTPMessageError) -> Bool {
        guard position < input.byteCount else { return false }
        let section = uniqueTrailerSection()
        section.bufferedCount = section.bytes.count
        let capacity = Swift.max(0, limits.effectiveHeadLength + 1 - section.bufferedCount)
        let end = Swift.min(input.byteCount, position + capacity)
        input.extracting(position..<end).withUnsafeBytes { section.bytes.append(contentsOf: $0) }
        guard let count = try section.parse(dropsForbidden: leniency.contains(.forbiddenTrailers)) else {
            position = end
            return false
        }
        position += count - section.bufferedCount
        return true
    }

    /// Returns the trailer section, which no copy of the decoder shares.
    private mutating func uniqueTrailerSection() -> TrailerSection {
        if isKnownUniquelyReferenced(&trailerSection), let trailerSection { return trailerSection }
        let section = trailerSection?.copy() ?? TrailerSection(limits)
        trailerSection = section
        return section
    }
}

/// A trailer section that is being received, which few bodies have: outside the decoder, it costs the others nothing.
private final class TrailerSection: @unchecked Sendable {
    // Unchecked: modified only after isKnownUniquelyReferenced has shown that a single decoder refers to it.

    var bytes: [UInt8] = []
    /// The number of bytes that arrived with earlier inputs.
    var bufferedCount = 0
    private(set) var fields = HTTPFields()
    private(set) var droppedFields = HTTPFields()
    private var parser: HeadParser

    init(_ limits: HTTPLimits) {
        parser = HeadParser(.trailers, limits: limits)
    }

    func copy() -> TrailerSection {
        let copy = TrailerSection(parser.limits)
        copy.bytes = bytes
        copy.bufferedCount = bufferedCount
        copy.fields = fields
        copy.droppedFields = droppedFields
        copy.parser = parser
        return copy
    }

    /// Parses the buffered bytes. Returns the length of the section, or nil if more bytes are needed.
    func parse(dropsForbidden: Bool) throws(HTTPMessageError) -> Int? {
        let section = bytes
        guard case .complete(let count) = try parser.parse(section.span.bytes) else { return nil }
        bytes = []
        try store(parser.makeTrailers(from: section.span.bytes), dropsForbidden)
        return count
    }

    /// Stores the fields. Throws for forbidden ones, or stores them apart.
    private func store(_ all: HTTPFields, _ dropsForbidden: Bool) throws(HTTPMessageError) {
        guard let first = all.first(where: { HTTPFieldName.forbiddenInTrailers.contains($0.name) }) else {
            fields = all
            return
        }
        guard dropsForbidden else {
            throw HTTPMessageError(.forbiddenTrailer, offset: Int(all.storage.slots[first.index].nameStart))
        }
        fields = all
        for field in all where HTTPFieldName.forbiddenInTrailers.contains(field.name) {
            fields.remove(field.name)
            try droppedFields.append(rawValue: field.rawValue, for: field.name)
        }
    }
}
