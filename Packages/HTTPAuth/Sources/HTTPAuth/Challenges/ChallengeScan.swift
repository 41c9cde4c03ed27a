/// A scanner for the grammar of a challenge field, at an offset into it (RFC 9110 §11.2, §11.3).
struct ChallengeScanner {
    private let bytes: [UInt8]
    private let leniency: ChallengeLeniency
    private let limits: AuthenticationLimits
    private var offset = 0
    private var scheme: String?

    init(_ bytes: [UInt8], leniency: ChallengeLeniency, limits: AuthenticationLimits) {
        self.bytes = bytes
        self.leniency = leniency
        self.limits = limits
    }

    var isAtEnd: Bool { offset == bytes.count }

    /// Returns the next challenge; nil at the end.
    mutating func nextChallenge() throws(HTTPAuthError) -> Challenge? {
        let startsLine = offset == 0
        let comma = skipSeparators()
        scheme = nil
        if isAtEnd { return nil }
        guard startsLine || comma else { throw error("missing comma before the next challenge") }
        let name = token()
        guard !name.isEmpty, isAtEnd || AuthGrammar.isSpace(bytes[offset]) || bytes[offset] == AuthGrammar.comma else {
            throw error("missing scheme name")
        }
        var challenge = Challenge(scheme: AuthGrammar.text(name))
        scheme = challenge.scheme
        if let token = token68() {
            challenge.token = token
        } else {
            challenge.parameters = try parameters()
        }
        return challenge
    }

    /// Parses the parameters up to the next challenge.
    ///
    /// The first parameter may follow the scheme without a comma; each later one needs a comma.
    mutating func parameters() throws(HTTPAuthError) -> [Challenge.Parameter] {
        var found: [Challenge.Parameter] = []
        while true {
            let start = offset
            let comma = skipSeparators()
            let nameStart = offset
            let name = token()
            skipSpaces()
            guard !name.isEmpty, offset < bytes.count, bytes[offset] == AuthGrammar.equals else {
                offset = nameStart
                if isAtEnd { return found }
                // A name without `=` begins the next challenge, which needs a comma before it.
                offset = start
                guard comma else { throw error("expected a token or a parameter") }
                return found
            }
            guard comma || found.isEmpty else { throw error("missing comma between parameters") }
            guard found.count < limits.parameterCount else {
                throw error("more than \(limits.parameterCount) parameters")
            }
            offset += 1
            skipSpaces()
            found.append(Challenge.Parameter(AuthGrammar.text(name), rawValue: try value()))
        }
    }

    /// Skips commas and spaces. Returns whether there was a comma.
    private mutating func skipSeparators() -> Bool {
        var comma = false
        while offset < bytes.count, AuthGrammar.isSpace(bytes[offset]) || bytes[offset] == AuthGrammar.comma {
            comma = comma || bytes[offset] == AuthGrammar.comma
            offset += 1
        }
        return comma
    }

    private mutating func skipSpaces() {
        while offset < bytes.count, AuthGrammar.isSpace(bytes[offset]) { offset += 1 }
    }

    private mutating func token() -> ArraySlice<UInt8> {
        let start = offset
        while offset < bytes.count, AuthGrammar.isToken(bytes[offset]) { offset += 1 }
        return bytes[start..<offset]
    }

    /// Parses a token68 that ends at a comma or at the end. If there is none, returns nil without advancing: `name=` is
    /// a token68, `name=value` is not.
    private mutating func token68() -> String? {
        let start = offset
        skipSpaces()
        let first = offset
        while offset < bytes.count, AuthGrammar.isToken68(bytes[offset]) { offset += 1 }
        let hasText = offset > first
        while hasText, offset < bytes.count, bytes[offset] == AuthGrammar.equals { offset += 1 }
        let end = offset
        skipSpaces()
        guard hasText, first > start, isAtEnd || bytes[offset] == AuthGrammar.comma else {
            offset = start
            return nil
        }
        return AuthGrammar.text(bytes[first..<end])
    }

    private mutating func value() throws(HTTPAuthError) -> [UInt8] {
        guard offset < bytes.count else { throw error("parameter without a value") }
        if bytes[offset] == AuthGrammar.quote { return try quotedString() }
        let start = offset
        while offset < bytes.count, isUnquotedValue(bytes[offset]) { offset += 1 }
        guard offset > start else { throw error("parameter without a value") }
        return Array(bytes[start..<offset])
    }

    private func isUnquotedValue(_ byte: UInt8) -> Bool {
        if AuthGrammar.isToken(byte) { return true }
        return leniency.contains(.unquotedText) && AuthGrammar.isText(byte) && !AuthGrammar.isSpace(byte)
            && byte != AuthGrammar.comma && byte != AuthGrammar.quote
    }

    /// Parses a quoted string; a backslash escapes the next byte (RFC 9110 §5.6.4).
    private mutating func quotedString() throws(HTTPAuthError) -> [UInt8] {
        var value: [UInt8] = []
        offset += 1
        while offset < bytes.count {
            var byte = bytes[offset]
            offset += 1
            if byte == AuthGrammar.quote { return value }
            if byte == AuthGrammar.backslash {
                guard offset < bytes.count else { break }
                byte = bytes[offset]
                offset += 1
            }
            guard AuthGrammar.isText(byte) else { throw error("control character in a quoted string") }
            value.append(byte)
        }
        guard leniency.contains(.missingClosingQuote) else { throw error("missing closing quote") }
        return value
    }

    func error(_ detail: String) -> HTTPAuthError {
        HTTPAuthError(.malformedChallenge, scheme: scheme, detail: "\(detail) at byte \(offset)")
    }
}
