internal import FoundationEssentials

/// A start line, fields and a body: the common part of requests and responses.
///
/// The start line of a parsed head is stored before its fields, in the single allocation of ``HeadStorage``. Fields can be
/// assigned from one message to another; therefore the start line is copied to separate bytes before the fields change.
///
/// Two references, so that a message is copied with few instructions and an existential contains it without an allocation.
struct MessageHead {
    /// The fields, for reading. Use ``fields`` to change them.
    private(set) var storedFields: HTTPFields
    /// The parts that are not in the storage of the fields. Nil for a parsed message without a body.
    private var own: OwnParts?

    /// The parts of a message that few parsed messages have. Changed only while a single head refers to it.
    private final class OwnParts: @unchecked Sendable {
        // Unchecked: changed only after isKnownUniquelyReferenced has proved that one value has the only reference.

        @exclusivity(unchecked) var startLine: StartLine
        /// The start line with its line ending. Nil while the start line is in the storage of the fields.
        @exclusivity(unchecked) var startBytes: [UInt8]?
        @exclusivity(unchecked) var body: [UInt8]

        init(_ startLine: StartLine, _ startBytes: [UInt8]?, body: [UInt8]) {
            self.startLine = startLine
            self.startBytes = startBytes
            self.body = body
        }
    }

    /// Creates a parsed head, whose start line is in the storage of the fields.
    init(parsed fields: HTTPFields) {
        storedFields = fields
    }

    /// Creates a head without fields. The start line is the three parts, separated by spaces.
    init(_ first: RawSpan, _ second: RawSpan, _ third: RawSpan, startLine: StartLine) {
        storedFields = HTTPFields()
        setStartLine(first, second, third, startLine)
    }

    /// The positions of the parts of the start line, in the bytes of ``bytes(_:)``.
    var startLine: StartLine {
        if let own, own.startBytes != nil { own.startLine } else { storedFields.storage.layout.startLine }
    }

    private var startBytes: [UInt8]? {
        get { own?.startBytes }
    }

    /// The body; empty if there is none.
    var body: [UInt8] {
        get { own?.body ?? [] }
        _modify { yield &uniqueParts().body }
        set {
            if newValue.isEmpty, own == nil { return }
            uniqueParts().body = newValue
        }
    }

    /// Whether there is a body. Unlike reading it, this counts no reference.
    var hasBody: Bool { own?.body.isEmpty == false }

    /// The parts outside the storage, to which no other value refers.
    private mutating func uniqueParts() -> OwnParts {
        if isKnownUniquelyReferenced(&own), let own { return own }
        let made = OwnParts(startLine, startBytes, body: body)
        own = made
        return made
    }

    /// Sets the start line to three parts, separated by spaces.
    mutating func setStartLine(_ first: RawSpan, _ second: RawSpan, _ third: RawSpan, _ line: StartLine) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(first.byteCount + second.byteCount + third.byteCount + 4)
        func append(_ part: RawSpan) -> StartLine.ByteRange {
            let start = bytes.count
            part.withUnsafeBytes { bytes.append(contentsOf: $0) }
            return .init(start, bytes.count)
        }
        let firstRange = append(first)
        bytes.append(HTTPGrammar.space)
        let secondRange = append(second)
        bytes.append(HTTPGrammar.space)
        let thirdRange = append(third)
        var startLine = line
        startLine.line = .init(0, bytes.count)
        startLine.first = line.status == nil ? firstRange : .init()
        startLine.second = line.status == nil ? secondRange : thirdRange
        bytes.append(HTTPGrammar.cr)
        bytes.append(HTTPGrammar.lf)
        setStart(startLine, bytes)
    }

    private mutating func setStart(_ startLine: StartLine, _ bytes: [UInt8]) {
        let parts = uniqueParts()
        parts.startLine = startLine
        parts.startBytes = bytes
    }

    /// Whether there are fields.
    var hasFields: Bool { storedFields.storage.layout.fieldCount > 0 }

    /// The fields. Any access but reading moves the start line to its own bytes.
    var fields: HTTPFields {
        get { storedFields }
        _modify {
            detachStartLine()
            yield &storedFields
        }
        set {
            detachStartLine()
            storedFields = newValue
        }
    }

    /// Returns the bytes of a part of the start line.
    func bytes(_ range: StartLine.ByteRange) -> [UInt8] {
        if let startBytes { return Array(startBytes[range.range]) }
        return Array(storedFields.storage.slice(range.range))
    }

    /// Returns a part of the start line as a string.
    func text(_ range: StartLine.ByteRange) -> String {
        if let startBytes { return HTTPGrammar.text(startBytes[range.range]) }
        return HTTPGrammar.text(storedFields.storage.slice(range.range))
    }

    /// Calls `body` with the bytes that contain the start line, at the positions of ``startLine``.
    @inline(__always)
    func withStartBytes<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if let startBytes { return try body(startBytes.span.bytes) }
        let storage = storedFields.storage
        // The span points into the storage.
        defer { withExtendedLifetime(storage) {} }
        return try body(UnsafeRawBufferPointer(storage.slice(0..<storage.layout.fieldsStart)).bytes)
    }

    /// Whether the first part of the start line, the method, is GET. Takes fewer instructions than ``hasMethod(_:)``.
    @inline(__always)
    var isGet: Bool {
        func isGet(_ line: StartLine, _ bytes: UnsafeRawPointer) -> Bool {
            // A space follows the three bytes.
            line.first.range.count == 3
                && bytes.loadUnaligned(fromByteOffset: line.first.start, as: UInt32.self)
                    == UInt32(littleEndian: 0x2054_4547)
        }
        if let own, let bytes = own.startBytes {
            return bytes.withUnsafeBytes { bytes in bytes.baseAddress.map { isGet(own.startLine, $0) } ?? false }
        }
        return isGet(storedFields.storage.layout.startLine, storedFields.storage.bytes)
    }

    /// Returns whether the first part of the start line, the method, is `method`.
    func hasMethod(_ method: StaticString) -> Bool {
        let expected = UnsafeBufferPointer(start: method.utf8Start, count: method.utf8CodeUnitCount)
        let range = startLine.first.range
        guard range.count == expected.count else { return false }
        func isEqual(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
            var index = 0
            while index < expected.count, bytes[range.lowerBound &+ index] == expected[index] { index &+= 1 }
            return index == expected.count
        }
        return startBytes?.withUnsafeBufferPointer(isEqual) ?? isEqual(storedFields.storage.slice(0..<range.upperBound))
    }

    /// The number of bytes that ``write(to:)`` appends.
    var byteCount: Int {
        let layout = storedFields.storage.layout
        return startBytes.map { $0.count + layout.byteCount - layout.fieldsStart } ?? layout.byteCount
    }

    /// Appends the head in strict syntax.
    ///
    /// This takes one or two memory copies, regardless of the number of fields, unless the received syntax must be corrected.
    func write(to output: inout [UInt8]) {
        let layout = storedFields.storage.layout
        if startBytes == nil, layout.isStrict {
            output.append(contentsOf: storedFields.storage.slice(0..<layout.byteCount))
        } else {
            writeOpen(to: &output)
            if !isHeaderless {
                output.append(HTTPGrammar.cr)
                output.append(HTTPGrammar.lf)
            }
        }
    }

    /// Appends the head in strict syntax, without the empty line that ends it.
    @inline(__always)
    func writeOpen(to output: inout [UInt8]) {
        let layout = storedFields.storage.layout
        if let startBytes {
            output.append(contentsOf: startBytes)
        } else if layout.isStrict {
            output.append(contentsOf: storedFields.storage.slice(0..<layout.fieldsEnd))
            return
        } else {
            output.append(contentsOf: strictStartLine())
        }
        storedFields.storage.writeLines(to: &output)
    }

    /// Writes the head in strict syntax to the front of `memory`, without the empty line that ends it. Returns nil if it does not fit.
    func writeOpen(to memory: UnsafeMutableRawBufferPointer) -> Int? {
        var count = 0
        func append(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
            guard bytes.count <= memory.count &- count else { return false }
            if let source = bytes.baseAddress {
                memory.baseAddress?.advanced(by: count).copyMemory(from: source, byteCount: bytes.count)
            }
            count &+= bytes.count
            return true
        }
        let layout = storedFields.storage.layout
        guard layout.isStrict, let own, own.startBytes != nil else {
            var lines: [UInt8] = []
            writeOpen(to: &lines)
            return lines.withUnsafeBufferPointer(append) ? count : nil
        }
        let hasStart = own.startBytes?.withUnsafeBufferPointer(append) ?? true
        if layout.fieldCount == 0 { return hasStart ? count : nil }
        let hasLines = append(storedFields.storage.slice(layout.fieldsStart..<layout.fieldsEnd))
        return hasStart && hasLines ? count : nil
    }

    /// Whether this is an HTTP/0.9 response, which has no head.
    private var isHeaderless: Bool { startLine.version == .http09 && startLine.line.range.isEmpty }

    /// Returns the start line in strict syntax, with its line ending.
    @inline(never)
    private func strictStartLine() -> [UInt8] {
        if isHeaderless { return [] }
        var strict = MessageHead(parsed: HTTPFields())
        strict.setStrictStartLine(of: self)
        return strict.startBytes ?? []
    }

    /// Sets the start line to that of another head, without tolerated whitespace and control characters.
    private mutating func setStrictStartLine(of other: MessageHead) {
        let line = other.startLine
        let version = line.version.bytes
        let second = HTTPGrammar.replacingControls(other.bytes(line.second))
        if let status = line.status {
            let reason = HTTPGrammar.trimmed(second)
            setStartLine(version.span.bytes, Array("\(status)".utf8).span.bytes, reason.span.bytes, line)
        } else {
            setStartLine(other.bytes(line.first).span.bytes, second.span.bytes, version.span.bytes, line)
        }
    }

    /// Copies the start line from the storage of the fields to its own bytes.
    private mutating func detachStartLine() {
        guard startBytes == nil else { return }
        let layout = storedFields.storage.layout
        if layout.isStrict || isHeaderless {
            setStart(layout.startLine, Array(storedFields.storage.slice(0..<layout.fieldsStart)))
        } else {
            setStrictStartLine(of: self)
        }
    }
}

extension MessageHead: Hashable {
    static func == (a: MessageHead, b: MessageHead) -> Bool {
        a.body == b.body && a.bytes(a.startLine.line) == b.bytes(b.startLine.line) && a.fields == b.fields
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(body)
        hasher.combine(bytes(startLine.line))
        hasher.combine(fields)
    }
}

extension MessageHead: Sendable {}

/// The URL of a message, shared by a request and its responses, and what else is known about a response beyond its bytes.
final class MessageURL: Sendable {
    let url: URL?
    /// Whether a file is complete, see ``HTTPResponse/isFileComplete``.
    let isFileComplete: Bool

    init(_ url: URL?, isFileComplete: Bool = false) {
        self.url = url
        self.isFileComplete = isFileComplete
    }
}

/// The parts of a start line and their positions.
///
/// Packed into four words so that messages can be copied in registers.
struct StartLine: BitwiseCopyable {
    /// The method of a request.
    var first = ByteRange()
    /// The target of a request, or the (possibly empty) reason phrase of a response.
    var second = ByteRange()
    /// The line without its line ending.
    var line = ByteRange()
    private var versionAndStatus: UInt64

    init(version: HTTPVersion = .http11, status: UInt16? = nil) {
        versionAndStatus = 0
        self.version = version
        self.status = status
    }

    var version: HTTPVersion {
        get {
            HTTPVersion(
                unchecked: UInt8(truncatingIfNeeded: versionAndStatus >> 40),
                UInt8(truncatingIfNeeded: versionAndStatus >> 32))
        }
        set {
            versionAndStatus =
                versionAndStatus & 0xFFFF | UInt64(newValue.major) << 40 | UInt64(newValue.minor) << 32
        }
    }

    /// The status code of a response. Nil for a request.
    var status: UInt16? {
        get {
            let status = UInt16(truncatingIfNeeded: versionAndStatus)
            return status == 0 ? nil : status
        }
        set { versionAndStatus = versionAndStatus & ~0xFFFF | UInt64(newValue ?? 0) }
    }

    /// A range of bytes, packed into one word.
    struct ByteRange: BitwiseCopyable {
        private var packed: UInt64 = 0

        init() {}

        init(_ start: Int, _ end: Int) {
            packed = UInt64(UInt32(truncatingIfNeeded: start)) | UInt64(truncatingIfNeeded: end) << 32
        }

        var start: Int {
            get { Int(packed & 0xFFFF_FFFF) }
        }

        var end: Int {
            get { Int(packed >> 32) }
        }

        var range: Range<Int> {
            get { Range(uncheckedBounds: (start, end)) }
        }

        /// Returns the range of the same bytes relative to `origin`.
        func relative(to origin: Int) -> ByteRange {
            ByteRange(start - origin, end - origin)
        }
    }
}
