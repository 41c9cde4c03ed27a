public import HTTPMessage

/// A parser for the challenges in one field line or in all lines of a response (RFC 9110 §11.3, §11.6.1).
///
/// Commas separate challenges as well as parameters. A name followed by `=` is therefore a parameter; any other name
/// starts the next challenge. Malformed input is not repaired: a malformed challenge is dropped and reported in
/// ``Result/errors``. Earlier challenges and other lines are used, and later ones of the line with
/// ``ChallengeLeniency/malformedNeighbours``.
///
/// ```swift
/// let found = ChallengeParser().parse(response)
/// for challenge in found.challenges { print(challenge) }
/// ```
public struct ChallengeParser: Sendable {
    /// The accepted deviations from the grammar.
    public var leniency: ChallengeLeniency

    /// The limits; a longer line or list is rejected.
    public var limits: AuthenticationLimits

    /// Creates a parser.
    public init(leniency: ChallengeLeniency = .client, limits: AuthenticationLimits = .default) {
        self.leniency = leniency
        self.limits = limits
    }

    /// The result of parsing.
    public struct Result: Hashable, Sendable {
        /// The challenges, in order.
        public var challenges: [Challenge] = []

        /// The reasons for dropped input: at most one for each line and each challenge.
        public var errors: [HTTPAuthError] = []
    }

    /// Parses the challenges of a response: its `Proxy-Authenticate` fields if the status is 407, otherwise
    /// `WWW-Authenticate`.
    public func parse(_ response: HTTPResponse) -> Result {
        let name: HTTPFieldName =
            response.status == .proxyAuthenticationRequired ? .proxyAuthenticate : .wwwAuthenticate
        return parse(response.fields, name)
    }

    /// Parses the challenges in every field with this name.
    public func parse(_ fields: HTTPFields, _ name: HTTPFieldName) -> Result {
        var result = Result()
        for field in fields where field.name == name {
            parse(field.rawValue, into: &result)
        }
        return result
    }

    /// Parses one field value.
    public func parse(_ value: [UInt8]) -> Result {
        var result = Result()
        parse(value, into: &result)
        return result
    }

    /// Parses a list of parameters without a scheme, as in `Authentication-Info` (RFC 7615 §3).
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedChallenge``.
    public func parseParameters(_ value: [UInt8]) throws(HTTPAuthError) -> [Challenge.Parameter] {
        var scanner = ChallengeScanner(value, leniency: leniency, limits: limits)
        let parameters = try scanner.parameters()
        guard scanner.isAtEnd else { throw scanner.error("parameter without a value") }
        return parameters
    }

    private func parse(_ value: [UInt8], into result: inout Result) {
        guard value.count <= limits.challengeLength else {
            result.errors.append(
                HTTPAuthError(.malformedChallenge, detail: "longer than \(limits.challengeLength) bytes"))
            return
        }
        var scanner = ChallengeScanner(value, leniency: leniency, limits: limits)
        while true {
            do throws(HTTPAuthError) {
                guard var challenge = try scanner.nextChallenge() else { return }
                // A malformed challenge takes its place, too, so that their number is bounded.
                guard result.challenges.count + result.errors.count < limits.challengeCount else {
                    result.errors.append(
                        HTTPAuthError(.malformedChallenge, detail: "more than \(limits.challengeCount) challenges"))
                    return
                }
                if leniency.contains(.repeatedParameters) { challenge.removeEqualParameters() }
                if let name = challenge.repeatedParameter {
                    result.errors.append(
                        HTTPAuthError(
                            .malformedChallenge, scheme: challenge.scheme, detail: "duplicate parameter \(name)"))
                } else {
                    result.challenges.append(challenge)
                }
            } catch {
                result.errors.append(error)
                guard leniency.contains(.malformedNeighbours), result.errors.count < limits.challengeCount,
                    scanner.skipChallenge()
                else { return }
            }
        }
    }
}

extension Challenge {
    /// The name of the first parameter that occurs twice. RFC 9110 §11.2 allows each only once, and does not define
    /// which of two values counts.
    fileprivate var repeatedParameter: String? {
        var seen: Set<String> = []
        return parameters.first { !seen.insert($0.name.lowercased()).inserted }?.name
    }

    /// Removes parameters that repeat an earlier one with the same value.
    fileprivate mutating func removeEqualParameters() {
        var seen: Set<Parameter> = []
        parameters.removeAll { !seen.insert(Parameter($0.name.lowercased(), rawValue: $0.rawValue)).inserted }
    }
}

/// Deviations from the challenge grammar that ``ChallengeParser`` can accept.
public struct ChallengeLeniency: OptionSet, Hashable, Sendable {
    /// One bit for each deviation.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// A missing closing quote at the end of a line: `Basic realm="a`.
    public static let missingClosingQuote = ChallengeLeniency(rawValue: 1 << 0)

    /// An unquoted value with characters that need quotes: `Basic realm=me@example.org`. It still ends at a comma or
    /// space and cannot contain a quote. The list in Digest's `qop` may have several elements: `qop=auth,auth-int`.
    public static let unquotedText = ChallengeLeniency(rawValue: 1 << 1)

    /// Parameters that only spaces separate: `Digest realm="a" nonce="b"`. Another challenge still begins after a comma.
    public static let missingCommas = ChallengeLeniency(rawValue: 1 << 2)

    /// Well-formed challenges behind a malformed one of the same line: `Foo bar baz, Basic realm="a"`. They begin behind the next comma
    /// outside quotes that a scheme name follows.
    public static let malformedNeighbours = ChallengeLeniency(rawValue: 1 << 3)

    /// A semicolon between parameters: `Basic realm="a"; charset="UTF-8"`.
    public static let semicolons = ChallengeLeniency(rawValue: 1 << 4)

    /// An unquoted realm of Basic with spaces, or a quoted one without its name: `Basic realm=My Site`, `Basic "My Site"`. It is only shown to
    /// the user.
    public static let unquotedRealms = ChallengeLeniency(rawValue: 1 << 5)

    /// A missing value, read as an empty one: `Digest realm="a", nonce="b", opaque=`.
    public static let emptyValues = ChallengeLeniency(rawValue: 1 << 6)

    /// A parameter that occurs again with the same value.
    public static let repeatedParameters = ChallengeLeniency(rawValue: 1 << 7)

    /// No deviations: only what the grammar allows.
    public static let strict: ChallengeLeniency = []

    /// The deviations that browsers and curl accept from servers.
    public static let client: ChallengeLeniency = [
        .missingClosingQuote, .unquotedText, .missingCommas, .malformedNeighbours, .semicolons, .unquotedRealms,
        .emptyValues,
        .repeatedParameters,
    ]
}

/// A scanner for the grammar of a challenge field, at an offset into it (RFC 9110 §11.2, §11.3).
private struct ChallengeScanner {
    private let bytes: [UInt8]
    private let leniency: ChallengeLeniency
    private let limits: AuthenticationLimits
    private var offset = 0
    private var scheme: String?
    /// Where the present challenge begins.
    private var challengeStart = 0

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
        challengeStart = offset
        guard startsLine || comma else { throw error("missing comma before the next challenge") }
        let name = token()
        guard !name.isEmpty, isAtEnd || AuthGrammar.isSpace(bytes[offset]) || bytes[offset] == AuthGrammar.comma else {
            throw error("missing scheme name")
        }
        var challenge = Challenge(scheme: AuthGrammar.text(name))
        scheme = challenge.scheme
        if let token = token68(), !returnToEmptyValue(token, of: challenge) {
            challenge.token = token
        } else {
            challenge.parameters = try namelessRealm() + parameters()
        }
        return challenge
    }

    /// Parses a realm of Basic without its name, `Basic "My Site"`. Empty if there is none.
    private mutating func namelessRealm() throws(HTTPAuthError) -> [Challenge.Parameter] {
        guard isScheme("Basic"), leniency.contains(.unquotedRealms) else { return [] }
        skipSpaces()
        guard !isAtEnd, bytes[offset] == AuthGrammar.quote else { return [] }
        return [Challenge.Parameter("realm", rawValue: try quotedString())]
    }

    private func isScheme(_ name: StaticString) -> Bool {
        scheme.map { AuthGrammar.equalsIgnoringCase($0.utf8, "\(name)".utf8) } == true
    }

    /// Whether the values of a parameter of Digest are words, which contain no semicolon; others are any text.
    private static func isKeyword(_ name: ArraySlice<UInt8>) -> Bool {
        ["algorithm", "charset", "qop", "stale", "userhash"].contains {
            AuthGrammar.equalsIgnoringCase(name, $0.utf8)
        }
    }

    /// Whether a name without a value is a further element of Digest's parameter `qop`, which should be quoted: `qop=auth, auth-int`.
    private func isQuality(_ name: ArraySlice<UInt8>, after last: Challenge.Parameter?) -> Bool {
        guard isScheme("Digest"), leniency.contains(.unquotedText), let last else { return false }
        return AuthGrammar.equalsIgnoringCase(last.name.utf8, "qop".utf8)
            && ["auth", "auth-int"].contains { AuthGrammar.equalsIgnoringCase(name, $0.utf8) }
    }

    /// Moves to the next comma outside quotes that a scheme name follows. False if there is none in the line.
    mutating func skipChallenge() -> Bool {
        offset = challengeStart
        while offset < bytes.count {
            let start = offset
            let byte = bytes[start]
            offset += 1
            if byte == AuthGrammar.quote {
                skipQuoted()
            } else if byte == AuthGrammar.comma {
                let isScheme = beginsChallenge()
                offset = isScheme ? start : start + 1
                if isScheme { return true }
            }
        }
        return false
    }

    /// Whether a name without `=` follows.
    private mutating func beginsChallenge() -> Bool {
        _ = skipSeparators()
        guard !token().isEmpty else { return false }
        let hasSpace = !isAtEnd && AuthGrammar.isSpace(bytes[offset])
        guard isAtEnd || hasSpace || bytes[offset] == AuthGrammar.comma else { return false }
        skipSpaces()
        return isAtEnd || bytes[offset] != AuthGrammar.equals
    }

    /// Moves behind the closing quote, or to the end if there is none.
    private mutating func skipQuoted() {
        while offset < bytes.count {
            let byte = bytes[offset]
            offset += byte == AuthGrammar.backslash ? 2 : 1
            if byte == AuthGrammar.quote { return }
        }
        offset = bytes.count
    }

    /// Moves back in front of a token if it is the realm of Basic, or any parameter of Digest, with an empty value, and returns whether it
    /// is.
    private mutating func returnToEmptyValue(_ token: String, of challenge: Challenge) -> Bool {
        let isRealm = challenge.is("Basic") && AuthGrammar.equalsIgnoringCase(token.utf8, "realm=".utf8)
        let isParameter = challenge.is("Digest") && token.utf8.last == AuthGrammar.equals
        guard leniency.contains(.emptyValues), isRealm || isParameter else { return false }
        offset = challengeStart + challenge.scheme.utf8.count
        return true
    }

    /// Parses the parameters up to the next challenge.
    ///
    /// The first parameter may follow the scheme without a comma; each later one needs a comma, unless the leniency permits its
    /// absence.
    mutating func parameters() throws(HTTPAuthError) -> [Challenge.Parameter] {
        var found: [Challenge.Parameter] = []
        while true {
            let start = offset
            let comma = skipSeparators(.semicolons)
            let nameStart = offset
            let name = token()
            skipSpaces()
            guard !name.isEmpty, offset < bytes.count, bytes[offset] == AuthGrammar.equals else {
                if comma, isQuality(name, after: found.last) {
                    found[found.count - 1].rawValue += [AuthGrammar.comma] + name
                    continue
                }
                offset = nameStart
                if isAtEnd { return found }
                // A name without `=` begins the next challenge, which needs a comma before it.
                offset = start
                guard comma else { throw error("expected a token or a parameter") }
                return found
            }
            guard comma || found.isEmpty || leniency.contains(.missingCommas) else {
                throw error("missing comma between parameters")
            }
            guard found.count < limits.parameterCount else {
                throw error("more than \(limits.parameterCount) parameters")
            }
            offset += 1
            skipSpaces()
            found.append(Challenge.Parameter(AuthGrammar.text(name), rawValue: try value(of: name)))
        }
    }

    /// Skips commas and spaces, and semicolons if both `others` and the leniency permit them. Returns whether there was a comma or
    /// semicolon.
    private mutating func skipSeparators(_ others: ChallengeLeniency = []) -> Bool {
        var comma = false
        while offset < bytes.count {
            let isComma = bytes[offset] == AuthGrammar.comma || others.contains(.semicolons) && isSemicolon(at: offset)
            guard isComma || AuthGrammar.isSpace(bytes[offset]) else { break }
            comma = comma || isComma
            offset += 1
        }
        return comma
    }

    private func isSemicolon(at offset: Int) -> Bool {
        leniency.contains(.semicolons) && bytes[offset] == UInt8(ascii: ";")
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

    private mutating func value(of name: ArraySlice<UInt8>) throws(HTTPAuthError) -> [UInt8] {
        if offset < bytes.count, bytes[offset] == AuthGrammar.quote { return try quotedString() }
        let isBasic = isScheme("Basic")
        let start = offset
        skipUnquoted(endsAtSemicolon: isBasic || isScheme("Digest") && ChallengeScanner.isKeyword(name))
        if offset == start {
            // At the end, or at a comma; what else is here is not a value.
            guard leniency.contains(.emptyValues),
                isAtEnd || bytes[offset] == AuthGrammar.comma || isSemicolon(at: offset)
            else { throw error("parameter without a value") }
        }
        let isRealm = isBasic && AuthGrammar.equalsIgnoringCase(name, "realm".utf8)
        if isRealm, leniency.contains(.unquotedRealms) { while skipNextWord() {} }
        return Array(bytes[start..<offset])
    }

    private mutating func skipUnquoted(endsAtSemicolon: Bool) {
        while offset < bytes.count, isUnquotedValue(bytes[offset]), !(endsAtSemicolon && isSemicolon(at: offset)) {
            offset += 1
        }
    }

    /// Skips a further word of a realm of Basic. False, without moving, if there is none, or if the word is the name of a parameter.
    private mutating func skipNextWord() -> Bool {
        let start = offset
        skipSpaces()
        let wordStart = offset
        skipUnquoted(endsAtSemicolon: true)
        let end = offset
        skipSpaces()
        let isName =
            bytes[wordStart..<end].contains(AuthGrammar.equals)
            || offset < bytes.count && bytes[offset] == AuthGrammar.equals
        let isWord = wordStart > start && end > wordStart && !isName
        offset = isWord ? end : start
        return isWord
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
