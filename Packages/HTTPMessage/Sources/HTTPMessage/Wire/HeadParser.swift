/// Finds the head of a message at the start of a buffer that fills bit by bit.
///
/// The parser keeps no bytes. Give it the same buffer again, longer, until it says ``Progress/complete(byteCount:)``: it
/// goes on where it stopped, so that each byte is looked at once however the bytes arrive. Then ``makeResponse(from:)``
/// copies the head into a value with one allocation; with none, if the message before has been let go: its memory is used
/// again.
///
/// ```swift
/// var parser = HeadParser(.response, leniency: .client)
/// while case .needMore = try parser.parse(buffer.span.bytes) {
///     buffer += try connection.read()
/// }
/// let response = try parser.makeResponse(from: buffer.span.bytes)
/// buffer.removeFirst(parser.byteCount)
/// parser.reset()
/// ```
///
/// Responses with status 1xx are reported like others: the final one follows (RFC 9110 §15.2).
///
/// An error ends the parse; only ``reset()`` makes the parser usable again. Errors do not depend on how the bytes were
/// split.
public struct HeadParser {
    /// What is parsed.
    public enum Kind: Hashable, Sendable {
        /// Heads of requests.
        case request
        /// Heads of responses.
        case response
        /// Field lines only, as in a trailer section; no departure in line ends or folds is tolerated.
        case trailers
    }

    /// How far a head has been found.
    public enum Progress: Hashable, Sendable {
        /// The buffer ends within the head.
        case needMore
        /// The head, with the empty line after it and those before it, takes up this many bytes.
        case complete(byteCount: Int)
    }

    /// What is parsed.
    public let kind: Kind
    /// How much is accepted.
    public let limits: HTTPLimits
    /// What is tolerated.
    public let leniency: HTTPLeniency

    /// The length of the head found, with the empty lines around it; nil until then.
    public var byteCount: Int? { state.stage == .complete ? state.scan : nil }

    /// What was tolerated in the head so far: the flags of ``leniency`` that made a difference. Empty for a head in the strict
    /// form of RFC 9112.
    public var departures: HTTPLeniency { state.departures }

    /// Heads up to this length have their memory used again; longer ones are rare, and a connection may idle for hours.
    static let largestKept = 4096

    var state = State()
    var buffer: SlotBuffer
    private var lastStorage: HeadStorage?

    /// Makes a parser for heads of one kind.
    public init(_ kind: Kind, limits: HTTPLimits = .default, leniency: HTTPLeniency = .strict) {
        self.kind = kind
        self.limits = limits
        self.leniency = kind == .trailers ? [] : leniency
        buffer = SlotBuffer(capacity: 32)
        reset()
    }

    /// Makes the parser ready for another head, at the start of a buffer.
    public mutating func reset() {
        state = State()
        state.stage = kind == .trailers ? .fieldName : .emptyLines
    }

    /// Looks at the bytes that are new since the last call. `bytes` must begin with those given before.
    public mutating func parse(_ bytes: RawSpan) throws(HTTPMessageError) -> Progress {
        let result = bytes.withUnsafeBytes { bytes -> Result<Progress, HTTPMessageError> in
            do throws(HTTPMessageError) {
                return .success(try parse(bytes))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Looks at the bytes that are new since the last call. `bytes` must begin with those given before.
    public mutating func parse(_ bytes: UnsafeRawBufferPointer) throws(HTTPMessageError) -> Progress {
        guard state.stage != .complete, state.stage != .failed else {
            throw HTTPMessageError(.parserFinished, fault: .caller)
        }
        guard let base = bytes.baseAddress, bytes.count > 0 else { return .needMore }
        if !isKnownUniquelyReferenced(&buffer) {
            buffer = SlotBuffer(capacity: buffer.capacity, copying: buffer, count: state.fieldCount)
        }
        let headLimit = limits.effectiveHeadLength
        let scan = Scan(
            base: base, end: Swift.min(bytes.count, headLimit), lineLimit: limits.effectiveLineLength,
            fieldLimit: limits.fieldCount, leniency: leniency)
        do throws(HTTPMessageError) {
            try advance(scan)
            if state.stage == .complete { return .complete(byteCount: state.scan) }
            if bytes.count > headLimit { throw HTTPMessageError(.headTooLong, offset: headLimit) }
            return .needMore
        } catch {
            state.stage = .failed
            throw error
        }
    }

    /// The request whose head was found, without a body. `bytes` must be those given to ``parse(_:)-(RawSpan)``.
    ///
    /// Throws ``HTTPMessageError/Code/incompleteMessage`` if no head of a request has been found.
    public mutating func makeRequest(from bytes: RawSpan) throws(HTTPMessageError) -> HTTPRequest {
        guard kind == .request, state.stage == .complete, bytes.byteCount >= state.scan else {
            throw HTTPMessageError(.incompleteMessage, fault: .caller)
        }
        return HTTPRequest(startLine: startLine, fields: copyFields(bytes))
    }

    /// The response whose head was found, without a body. `bytes` must be those given to ``parse(_:)-(RawSpan)``.
    ///
    /// Throws ``HTTPMessageError/Code/incompleteMessage`` if no head of a response has been found.
    public mutating func makeResponse(from bytes: RawSpan) throws(HTTPMessageError) -> HTTPResponse {
        guard kind == .response, state.stage == .complete, bytes.byteCount >= state.scan else {
            throw HTTPMessageError(.incompleteMessage, fault: .caller)
        }
        return HTTPResponse(startLine: startLine, fields: copyFields(bytes))
    }

    /// The trailer fields that were found. `bytes` must be those given to ``parse(_:)-(RawSpan)``.
    ///
    /// Throws ``HTTPMessageError/Code/incompleteMessage`` if the section has not ended.
    public mutating func makeTrailers(from bytes: RawSpan) throws(HTTPMessageError) -> HTTPFields {
        guard kind == .trailers, state.stage == .complete, bytes.byteCount >= state.scan else {
            throw HTTPMessageError(.incompleteMessage, fault: .caller)
        }
        return copyFields(bytes)
    }
}

// The buffer and the last message's storage are written only after isKnownUniquelyReferenced proved that this value alone
// refers to them.
extension HeadParser: @unchecked Sendable {}

extension HeadParser {
    /// What the parser expects next; the order is that of the bytes.
    enum Stage: UInt8 {
        case emptyLines, method, target, version, status, reason
        case fieldName, fieldValue, fold
        case complete, failed
    }

    /// What is known of the head so far. All places are counted from the start of the buffer.
    struct State {
        var stage = Stage.emptyLines
        /// Where to go on; once complete, the length of the head.
        var scan = 0
        /// Where the current line starts.
        var lineStart = 0
        var nameEnd = 0
        var valueStart = 0
        var fieldCount = 0
        var emptyLines = 0
        /// Where the start line starts, after the empty lines.
        var start = 0
        var startLine = StartLine()
        var fieldsStart = 0
        var fieldsEnd = 0
        /// What was tolerated.
        var departures = HTTPLeniency.strict
    }

    @inline(__always)
    private mutating func advance(_ scan: Scan) throws(HTTPMessageError) {
        if state.stage.rawValue < Stage.fieldName.rawValue {
            switch kind {
            case .request: try scan.requestLine(&state, emptyLines: limits.leadingEmptyLines)
            case .response: try scan.statusLine(&state, emptyLines: limits.leadingEmptyLines)
            case .trailers: break
            }
            if state.stage.rawValue < Stage.fieldName.rawValue || state.stage == .complete { return }
        }
        try scan.fields(&state, &buffer)
        if state.stage == .complete, kind == .request { try checkHost(scan.base) }
    }

    @inline(__always)
    private var startLine: StartLine {
        var line = state.startLine
        guard state.start > 0 else { return line }
        line.first = line.first.relative(to: state.start)
        line.second = line.second.relative(to: state.start)
        line.line = line.line.relative(to: state.start)
        return line
    }

    @inline(__always)
    private mutating func copyFields(_ bytes: RawSpan) -> HTTPFields {
        let start = state.start
        let size = state.scan - start
        let count = state.fieldCount
        let storage = emptyStorage(slots: count, bytes: size)
        let slots = buffer.slots
        let (fieldsStart, fieldsEnd, departures) = (
            state.fieldsStart - start, state.fieldsEnd - start, state.departures
        )
        bytes.withUnsafeBytes { bytes in
            storage.fill(
                copying: UnsafeRawBufferPointer(rebasing: bytes[start..<start + size]), slots: slots, count: count,
                fieldsStart: fieldsStart, fieldsEnd: fieldsEnd, departures: departures)
        }
        if start > 0 {
            let slots = storage.slots
            for index in 0..<count { slots[index] = slots[index].moved(by: -start) }
        }
        return HTTPFields(storage)
    }

    /// The storage of the last message if nobody holds that any more and there is room; a new one otherwise.
    ///
    /// To allocate an object and to free it takes a third of the time that it takes to parse a head.
    @inline(__always)
    private mutating func emptyStorage(slots: Int, bytes: Int) -> HeadStorage {
        if isKnownUniquelyReferenced(&lastStorage), let lastStorage, lastStorage.hasRoom(slots: slots, bytes: bytes) {
            return lastStorage
        }
        let storage = HeadStorage.make(slotCapacity: slots, byteCapacity: bytes)
        lastStorage = bytes <= Self.largestKept ? storage : nil
        return storage
    }

    /// A request of HTTP/1.1 has one `Host`; no request has two or one that is no host (RFC 9112 §3.2).
    @inline(__always)
    private mutating func checkHost(_ base: UnsafeRawPointer) throws(HTTPMessageError) {
        let slots = buffer.slots
        var found = false
        var index = 0
        while index < state.fieldCount {
            let slot = slots[index]
            if slot.nameEnd &- slot.nameStart == 4 {
                let name = base.loadUnaligned(fromByteOffset: Int(slot.nameStart), as: UInt32.self)
                if UInt32(littleEndian: name) | 0x2020_2020 == 0x7473_6F68 {  // "host", letters only
                    if found { throw HTTPMessageError(.repeatedHost, offset: Int(slot.nameStart)) }
                    found = true
                    let value = UnsafeRawBufferPointer(
                        start: base + Int(slot.valueStart), count: Int(slot.valueEnd &- slot.valueStart))
                    let table = HTTPGrammar.classTable
                    var i = 0
                    while i < value.count, table[Int(value[i])] & HTTPGrammar.hostClass != 0 { i &+= 1 }
                    guard i == value.count || RequestTarget.isAuthority(value, requiresPort: false) else {
                        throw HTTPMessageError(.invalidHost, offset: Int(slot.valueStart))
                    }
                }
            }
            index &+= 1
        }
        if !found, state.startLine.version >= .http11 {
            guard leniency.contains(.missingHost) else { throw HTTPMessageError(.missingHost) }
            state.departures.insert(.missingHost)
        }
    }
}
