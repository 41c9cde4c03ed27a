/// A parser for netrc files.
///
/// Words are separated by spaces and newlines. A word can be in double quotes, where a backslash escapes the next
/// character, as in curl. A line that starts with `#` is a comment, and `macdef` skips to the next empty line.
struct NetrcParser {
    /// A `machine` entry or the `default` entry.
    struct Entry: Hashable, Sendable {
        /// The server; nil for `default`.
        var machine: Machine?
        var login: String?
        var password: Secret?
        var account: String?
    }

    private let bytes: UnsafeRawBufferPointer
    private var offset = 0
    private var line = 1
    private var startsLine = true

    private init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Parses the entries, in order.
    ///
    /// - Throws: ``HTTPAuthError/Code/storeMalformed`` with the line number, but none of the text.
    static func parse(_ bytes: UnsafeRawBufferPointer) throws(HTTPAuthError) -> [Entry] {
        var parser = NetrcParser(bytes)
        return try parser.entries()
    }

    private mutating func entries() throws(HTTPAuthError) -> [Entry] {
        var entries: [Entry] = []
        while let keyword = try word() {
            switch AuthGrammar.text(keyword) {
            case "machine":
                entries.append(Entry(machine: Machine(AuthGrammar.text(try value()))))
            case "default":
                entries.append(Entry())
            case "login" where !entries.isEmpty:
                entries[entries.count - 1].login = AuthGrammar.text(try value())
            case "password" where !entries.isEmpty:
                var password = try value()
                entries[entries.count - 1].password = Secret(bytes: password)
                password.wipe()
            case "account" where !entries.isEmpty:
                entries[entries.count - 1].account = AuthGrammar.text(try value())
            case "macdef":
                _ = try value()
                skipMacro()
            default: throw malformed("unknown keyword, or keyword before the first machine")
            }
        }
        return entries
    }

    private mutating func value() throws(HTTPAuthError) -> [UInt8] {
        guard let value = try word() else { throw malformed("keyword without a value") }
        return value
    }

    /// Returns the next word; nil at the end.
    private mutating func word() throws(HTTPAuthError) -> [UInt8]? {
        skipSpace()
        guard let first = peek else { return nil }
        startsLine = false
        if first == AuthGrammar.quote { return try quotedWord() }
        var word: [UInt8] = []
        while let byte = peek, !Self.isSpace(byte) {
            word.append(byte)
            offset += 1
        }
        return word
    }

    private mutating func quotedWord() throws(HTTPAuthError) -> [UInt8] {
        var word: [UInt8] = []
        offset += 1
        while let byte = peek, byte != UInt8(ascii: "\n") {
            offset += 1
            switch byte {
            case AuthGrammar.quote: return word
            case AuthGrammar.backslash:
                guard let next = peek, next != UInt8(ascii: "\n") else { break }
                offset += 1
                switch next {
                case UInt8(ascii: "n"): word.append(UInt8(ascii: "\n"))
                case UInt8(ascii: "r"): word.append(UInt8(ascii: "\r"))
                case UInt8(ascii: "t"): word.append(UInt8(ascii: "\t"))
                default: word.append(next)
                }
            default: word.append(byte)
            }
        }
        word.wipe()
        throw malformed("missing closing quote")
    }

    private mutating func skipSpace() {
        while let byte = peek {
            if startsLine, byte == UInt8(ascii: "#") {
                while let byte = peek, byte != UInt8(ascii: "\n") { offset += 1 }
                continue
            }
            guard Self.isSpace(byte) else { return }
            offset += 1
            if byte == UInt8(ascii: "\n") {
                line += 1
                startsLine = true
            }
        }
    }

    private mutating func skipMacro() {
        var isEmpty = false
        while let byte = peek {
            offset += 1
            guard byte == UInt8(ascii: "\n") else {
                if !Self.isSpace(byte) { isEmpty = false }
                continue
            }
            line += 1
            startsLine = true
            if isEmpty { return }
            isEmpty = true
        }
    }

    private var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private static func isSpace(_ byte: UInt8) -> Bool {
        AuthGrammar.isSpace(byte) || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }

    private func malformed(_ detail: String) -> HTTPAuthError {
        HTTPAuthError(.storeMalformed, detail: "line \(line): \(detail)")
    }
}
