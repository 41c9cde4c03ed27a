/// An incremental parser for the head of a message at the start of the caller's buffer.
///
/// The parser stores no bytes. Call ``parse(_:)-(RawSpan)`` with the same, growing buffer until it returns
/// ``Progress/complete(byteCount:)``. Each call continues where the previous one stopped, so that each byte is examined once,
/// regardless of how the bytes arrive. ``makeRequest(from:)`` and ``makeResponse(from:)`` then copy the head to a value with one
/// allocation, or with none if the previous message has been released: its memory is reused.
///
/// ```swift
/// var parser = HeadParser(.response, leniency: .client)
/// while case .needMore = try parser.parse(buffer.span.bytes) {
///     buffer += try connection.read()
/// }
/// let response = try parser.makeResponse(from: buffer.span.bytes)
/// buffer.removeFirst(parser.byteCount ?? 0)
/// parser.reset()
/// ```
///
/// Interim responses (1xx) are parsed like others; the final response follows (RFC 9110 §15.2).
///
/// After an error, only ``reset()`` makes the parser usable again. Errors do not depend on how the bytes were split.
public struct HeadParser {
    /// The kinds of heads.
    public enum Kind: Hashable, Sendable {
        /// The head of a request.
        case request
        /// The head of a response.
        case response
        /// A trailer section: field lines only. The parser ignores its leniency and follows RFC 9112 strictly.
        case trailers
    }

    /// The progress of parsing.
    public enum Progress: Hashable, Sendable {
        /// The buffer ends before the end of the head.
        case needMore
        /// The head is complete and has this many bytes, including the empty lines before and after it.
        case complete(byteCount: Int)
    }

    /// The kind of head that is parsed.
    public let kind: Kind
    /// The limits on the size of a head.
    public let limits: HTTPLimits
    /// The tolerated deviations from RFC 9112. Always empty for trailers.
    public let leniency: HTTPLeniency

    /// The length of the head, including the empty lines before and after it. Nil until the head is complete.
    public var byteCount: Int? { state.stage == .complete ? state.scan : nil }

    /// The flags of ``leniency`` that the head has required so far. Empty if the head conforms to RFC 9112.
    public var toleratedDeviations: HTTPLeniency { state.toleratedDeviations }

    /// Whether the head is complete or an error has occurred: only ``reset()`` makes the parser usable again.
    var isFinished: Bool { state.stage == .complete || state.stage == .failed }

    /// The maximum length of a head whose memory is kept for reuse.
    ///
    /// Longer heads are rare, and an idle connection may keep its parser for hours.
    static let maximumReusedLength = 4096

    var state = State()
    var buffer: SlotBuffer
    private var lastStorage: HeadStorage?

    /// Creates a parser for heads of one kind.
    public init(_ kind: Kind, limits: HTTPLimits = .default, leniency: HTTPLeniency = .strict) {
        self.kind = kind
        self.limits = limits
        self.leniency = kind == .trailers ? [] : leniency
        buffer = SlotBuffer(capacity: 32)
        reset()
    }

    /// Prepares the parser for the next head, which must be at the start of the buffer.
    public mutating func reset() {
        state = State()
        state.stage = kind == .trailers ? .fieldName : .emptyLines
    }

    /// Parses the bytes that are new since the last call. `bytes` must begin with the bytes of the previous calls.
    ///
    /// Throws if the bytes are not a valid head or exceed a limit, and ``HTTPMessageError/Code/parserFinished`` if the head is
    /// already complete or an error has occurred.
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

    /// Parses the bytes that are new since the last call. `bytes` must begin with the bytes of the previous calls.
    ///
    /// Throws if the bytes are not a valid head or exceed a limit, and ``HTTPMessageError/Code/parserFinished`` if the head is
    /// already complete or an error has occurred.
    public mutating func parse(_ bytes: UnsafeRawBufferPointer) throws(HTTPMessageError) -> Progress {
        guard !isFinished else { throw HTTPMessageError(.parserFinished, fault: .caller) }
        guard let base = bytes.baseAddress, bytes.count > 0 else { return .needMore }
        if !isKnownUniquelyReferenced(&buffer) {
            buffer = SlotBuffer(capacity: buffer.capacity, copying: buffer, count: state.fieldCount)
        }
        let maximumHeadLength = limits.effectiveHeadLength
        let scan = Scan(
            base: base, end: Swift.min(bytes.count, maximumHeadLength), maximumLineLength: limits.effectiveLineLength,
            maximumFieldCount: limits.fieldCount, leniency: leniency)
        do throws(HTTPMessageError) {
            try advance(scan)
            if state.stage == .complete { return .complete(byteCount: state.scan) }
            if bytes.count > maximumHeadLength { throw HTTPMessageError(.headTooLong, offset: maximumHeadLength) }
            return .needMore
        } catch {
            state.stage = .failed
            throw error
        }
    }

    /// Creates the request from its complete head, without a body.
    ///
    /// `bytes` must be the bytes that were passed to ``parse(_:)-(RawSpan)``. Throws
    /// ``HTTPMessageError/Code/incompleteMessage`` if the head of a request is not complete.
    public mutating func makeRequest(from bytes: RawSpan) throws(HTTPMessageError) -> HTTPRequest {
        guard kind == .request, state.stage == .complete, bytes.byteCount >= state.scan else {
            throw HTTPMessageError(.incompleteMessage, fault: .caller)
        }
        return HTTPRequest(parsed: copyFields(bytes))
    }

    /// Creates the response from its complete head, without a body.
    ///
    /// `bytes` must be the bytes that were passed to ``parse(_:)-(RawSpan)``. Throws
    /// ``HTTPMessageError/Code/incompleteMessage`` if the head of a response is not complete.
    public mutating func makeResponse(from bytes: RawSpan) throws(HTTPMessageError) -> HTTPResponse {
        guard kind == .response, state.stage == .complete, bytes.byteCount >= state.scan else {
            throw HTTPMessageError(.incompleteMessage, fault: .caller)
        }
        return HTTPResponse(parsed: copyFields(bytes))
    }

    /// Creates the fields of a complete trailer section.
    ///
    /// `bytes` must be the bytes that were passed to ``parse(_:)-(RawSpan)``. Throws
    /// ``HTTPMessageError/Code/incompleteMessage`` if the trailer section is not complete.
    public mutating func makeTrailers(from bytes: RawSpan) throws(HTTPMessageError) -> HTTPFields {
        guard kind == .trailers, state.stage == .complete, bytes.byteCount >= state.scan else {
            throw HTTPMessageError(.incompleteMessage, fault: .caller)
        }
        return copyFields(bytes)
    }
}

// The buffer and the last message's storage are written only after isKnownUniquelyReferenced has proved that this value has the
// only reference to them.
extension HeadParser: @unchecked Sendable {}

extension HeadParser {
    /// The element that the parser expects next, in the order of the bytes.
    enum Stage: UInt8 {
        case emptyLines, method, target, version, status, reason
        case fieldName, fieldValue, fold
        case complete, failed
    }

    /// The state between two calls. All offsets are relative to the start of the buffer.
    struct State {
        var stage = Stage.emptyLines
        /// The offset at which to continue. Once complete, the length of the head.
        var scan = 0
        /// The start of the current line.
        var lineStart = 0
        var nameEnd = 0
        var valueStart = 0
        var fieldCount = 0
        var emptyLines = 0
        /// The start of the start line, after the empty lines.
        var start = 0
        var startLine = StartLine()
        var fieldsStart = 0
        var fieldsEnd = 0
        /// The leniencies that the head has required.
        var toleratedDeviations = HTTPLeniency.strict
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
        let storage = reusableStorage(slots: count, bytes: size)
        let slots = buffer.slots
        let startLine = startLine
        let (fieldsStart, fieldsEnd, toleratedDeviations) = (
            state.fieldsStart - start, state.fieldsEnd - start, state.toleratedDeviations
        )
        bytes.withUnsafeBytes { bytes in
            storage.fill(
                copying: UnsafeRawBufferPointer(rebasing: bytes[start..<start + size]), slots: slots, count: count,
                fieldsStart: fieldsStart, fieldsEnd: fieldsEnd, startLine: startLine,
                toleratedDeviations: toleratedDeviations)
        }
        if start > 0 {
            let slots = storage.slots
            for index in 0..<count { slots[index] = slots[index].moved(by: -start) }
        }
        return HTTPFields(storage)
    }

    /// Returns the storage of the last message, if it is no longer referenced and is large enough, or a new one.
    ///
    /// Allocating and freeing an object takes a third of the time that parsing a head takes.
    @inline(__always)
    private mutating func reusableStorage(slots: Int, bytes: Int) -> HeadStorage {
        if isKnownUniquelyReferenced(&lastStorage), let lastStorage, lastStorage.hasCapacity(slots: slots, bytes: bytes)
        {
            return lastStorage
        }
        let storage = HeadStorage.make(slotCapacity: slots, byteCapacity: bytes)
        lastStorage = bytes <= Self.maximumReusedLength ? storage : nil
        return storage
    }

    /// Checks the `Host` fields of a request: at most one, with a valid host, and exactly one in HTTP/1.1 (RFC 9112 §3.2).
    @inline(__always)
    private mutating func checkHost(_ base: UnsafeRawPointer) throws(HTTPMessageError) {
        let slots = buffer.slots
        var found = false
        var index = 0
        while index < state.fieldCount {
            let slot = slots[index]
            if slot.nameEnd &- slot.nameStart == 4 {
                let name = base.loadUnaligned(fromByteOffset: Int(slot.nameStart), as: UInt32.self)
                if UInt32(littleEndian: name) | 0x2020_2020 == 0x7473_6F68 {  // "host" in any case
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
            state.toleratedDeviations.insert(.missingHost)
        }
    }
}
