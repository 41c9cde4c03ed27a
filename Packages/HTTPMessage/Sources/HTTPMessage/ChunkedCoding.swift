/// Functions that encode a body of unknown length with chunked transfer coding (RFC 9112 §7.1).
///
/// ```swift
/// var output: [UInt8] = []
/// ChunkedEncoder.write(Array("hello".utf8).span.bytes, into: &output)  // 5 CR LF hello CR LF
/// try ChunkedEncoder.writeEnd(into: &output)                           // 0 CR LF CR LF
/// ```
///
/// A driver that uses gathering writes (`writev`) can avoid copying the payload: it sends the output of
/// ``writeHead(of:into:)``, the payload and ``chunkEnd``.
@_spi(Packages) public enum ChunkedEncoder {
    /// The bytes that follow the payload of a chunk: CR LF.
    public static let chunkEnd: [UInt8] = [HTTPGrammar.cr, HTTPGrammar.lf]

    /// Appends one chunk. Appends nothing if the payload is empty, because an empty chunk would end the body.
    public static func write(_ payload: RawSpan, into output: inout [UInt8]) {
        guard payload.byteCount > 0 else { return }
        output.reserveCapacity(output.count + payload.byteCount + 20)
        writeHead(of: payload.byteCount, into: &output)
        payload.withUnsafeBytes { output.append(contentsOf: $0) }
        output += chunkEnd
    }

    /// Appends the size line of a chunk of `count` bytes.
    ///
    /// - Precondition: `count` is positive.
    public static func writeHead(of count: Int, into output: inout [UInt8]) {
        precondition(count > 0, "the byte count of a chunk must be positive")
        var shift = (Int.bitWidth - count.leadingZeroBitCount - 1) & ~3
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: count >> shift) & 0xF
            output.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
            shift -= 4
        }
        output += chunkEnd
    }

    /// Appends the last chunk and the trailer section.
    ///
    /// Throws ``HTTPMessageError/Code/invalidFieldName`` and appends nothing if a trailer field frames, routes or
    /// authenticates the message or describes its content (RFC 9110 §6.5.1).
    public static func writeEnd(trailers: HTTPFields = HTTPFields(), into output: inout [UInt8])
        throws(HTTPMessageError)
    {
        if trailers.contains(where: { HTTPFieldName.neverSentInTrailers.contains($0.name) }) {
            throw HTTPMessageError(.invalidFieldName, fault: .caller)
        }
        output.append(UInt8(ascii: "0"))
        output += chunkEnd
        trailers.storage.writeLines(to: &output)
        output += chunkEnd
    }
}

/// A parser for the size line of a chunk, `size [;name[=value]]… CR LF` (RFC 9112 §7.1), one byte at a time.
///
/// A line must end in CR LF, and the whole grammar of extensions is checked: a line that two parsers interpret differently can
/// be used to smuggle requests.
struct ChunkLine {
    enum State: UInt8 {
        case sizeStart, size, afterSize
        case nameStart, name, afterName
        case valueStart, value, quoted, escape, afterValue
        case lineFeed
    }

    private(set) var size: Int64 = 0
    private var state = State.sizeStart
    private var digits = 0

    /// Parses one byte. Returns true if it was the last of the line.
    ///
    /// `extensionBytes` accumulates the length of blanks and extensions over all lines of a body.
    mutating func parse(
        _ byte: UInt8, _ leniency: HTTPLeniency, extensionBytes: inout Int
    ) throws(HTTPMessageError) -> Bool {
        switch state {
        case .sizeStart, .size:
            if let digit = Self.hexadecimal(byte) {
                // At most 16 digits, so that leading zeros are bounded; the sign bit must stay clear.
                digits += 1
                guard digits <= 16, size >> 59 == 0 else { throw HTTPMessageError(.invalidChunkSize) }
                size = size << 4 | digit
                state = .size
                return false
            }
            guard state == .size else { throw HTTPMessageError(.invalidChunkSize) }
            let allowsPadding = !leniency.isDisjoint(with: [.paddedChunkSizes, .whitespaceInChunkLines])
            try endElement(byte, whitespace: allowsPadding ? .afterSize : nil, otherwise: .invalidChunkSize)
        case .afterSize:
            try endElement(byte, whitespace: .afterSize, otherwise: .invalidChunkSize)
        case .nameStart, .name, .afterName, .valueStart, .value, .quoted, .escape, .afterValue:
            try parseExtension(byte, leniency)
        case .lineFeed:
            guard byte == HTTPGrammar.lf else { throw HTTPMessageError(.invalidChunkDelimiter) }
            return true
        }
        if state.rawValue >= State.afterSize.rawValue, state != .lineFeed { extensionBytes += 1 }
        return false
    }

    /// Parses one byte of an extension: a name, possibly with a token or a quoted string.
    private mutating func parseExtension(_ byte: UInt8, _ leniency: HTTPLeniency) throws(HTTPMessageError) {
        let allowsWhitespace = leniency.contains(.whitespaceInChunkLines)
        switch state {
        case .sizeStart, .size, .afterSize, .lineFeed: break
        case .nameStart:
            if allowsWhitespace, HTTPGrammar.isSpaceOrTab(byte) { break }
            if HTTPGrammar.isToken(byte) {
                state = .name
            } else {
                guard leniency.contains(.emptyChunkExtensions) else { throw HTTPMessageError(.invalidChunkExtension) }
                try endElement(byte, whitespace: nil)
            }
        case .name:
            if HTTPGrammar.isToken(byte) { break }
            if byte == UInt8(ascii: "=") {
                state = .valueStart
            } else {
                try endElement(byte, whitespace: allowsWhitespace ? .afterName : nil)
            }
        case .afterName:
            if byte == UInt8(ascii: "=") {
                state = .valueStart
            } else {
                try endElement(byte, whitespace: .afterName)
            }
        case .valueStart:
            if allowsWhitespace, HTTPGrammar.isSpaceOrTab(byte) { break }
            if byte == UInt8(ascii: "\"") {
                state = .quoted
            } else {
                guard HTTPGrammar.isToken(byte) else { throw HTTPMessageError(.invalidChunkExtension) }
                state = .value
            }
        case .value:
            if !HTTPGrammar.isToken(byte) { try endElement(byte, whitespace: allowsWhitespace ? .afterValue : nil) }
        case .quoted:
            if byte == UInt8(ascii: "\"") {
                state = .afterValue
            } else {
                guard HTTPGrammar.isFieldByte(byte) else { throw HTTPMessageError(.invalidChunkExtension) }
                if byte == UInt8(ascii: "\\") { state = .escape }
            }
        case .escape:
            guard HTTPGrammar.isFieldByte(byte) else { throw HTTPMessageError(.invalidChunkExtension) }
            state = .quoted
        case .afterValue:
            try endElement(byte, whitespace: allowsWhitespace ? .afterValue : nil)
        }
    }

    /// Parses the byte after a complete element: the start of an extension, the end of the line, or tolerated whitespace.
    private mutating func endElement(
        _ byte: UInt8, whitespace: State?, otherwise code: HTTPMessageError.Code = .invalidChunkExtension
    ) throws(HTTPMessageError) {
        switch byte {
        case UInt8(ascii: ";"): state = .nameStart
        case HTTPGrammar.cr: state = .lineFeed
        case HTTPGrammar.space, HTTPGrammar.tab:
            guard let whitespace else { throw HTTPMessageError(code) }
            state = whitespace
        case HTTPGrammar.lf: throw HTTPMessageError(.invalidChunkDelimiter)
        default: throw HTTPMessageError(code)
        }
    }

    private static func hexadecimal(_ byte: UInt8) -> Int64? {
        if HTTPGrammar.isDigit(byte) { return Int64(byte &- UInt8(ascii: "0")) }
        let letter = (byte | 0x20) &- UInt8(ascii: "a")
        return letter < 6 ? Int64(letter) + 10 : nil
    }
}
