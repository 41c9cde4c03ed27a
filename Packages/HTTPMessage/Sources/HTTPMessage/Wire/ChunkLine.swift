/// The line before each chunk, byte by byte: `size [;name[=value]]… CR LF` (RFC 9112 §7.1).
///
/// Lines end in CR LF and nothing else, and all of an extension's grammar is checked, because a line that two parsers
/// read differently is how requests are smuggled.
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

    /// Takes one byte. True when it was the line's last.
    ///
    /// `extensionBytes` counts the bytes of extensions, over all lines of a body.
    mutating func take(
        _ byte: UInt8, allowsWhitespace: Bool, extensionBytes: inout Int
    ) throws(HTTPMessageError) -> Bool {
        switch state {
        case .sizeStart, .size:
            if let digit = Self.hexadecimal(byte) {
                // 16 digits at most, so that zeros cannot go on for ever; the top bit has to stay clear.
                digits += 1
                guard digits <= 16, size >> 59 == 0 else { throw HTTPMessageError(.invalidChunkSize) }
                size = size << 4 | digit
                state = .size
                return false
            }
            guard state == .size else { throw HTTPMessageError(.invalidChunkSize) }
            try endElement(byte, whitespace: allowsWhitespace ? .afterSize : nil, otherwise: .invalidChunkSize)
        case .afterSize:
            try endElement(byte, whitespace: .afterSize, otherwise: .invalidChunkSize)
        case .nameStart:
            if allowsWhitespace, HTTPGrammar.isSpaceOrTab(byte) { break }
            guard HTTPGrammar.isToken(byte) else { throw HTTPMessageError(.invalidChunkExtension) }
            state = .name
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
        case .lineFeed:
            guard byte == HTTPGrammar.lf else { throw HTTPMessageError(.invalidChunkDelimiter) }
            return true
        }
        if state.rawValue > State.afterSize.rawValue, state != .lineFeed { extensionBytes += 1 }
        return false
    }

    /// What may follow a complete element: another extension, the end of the line, or tolerated whitespace.
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

    @inline(__always)
    private static func hexadecimal(_ byte: UInt8) -> Int64? {
        if HTTPGrammar.isDigit(byte) { return Int64(byte &- UInt8(ascii: "0")) }
        let letter = (byte | 0x20) &- UInt8(ascii: "a")
        return letter < 6 ? Int64(letter) + 10 : nil
    }
}
