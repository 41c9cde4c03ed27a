public import HTTPMessage

/// A parser for the challenges in one field line or in all lines of a response (RFC 9110 §11.3, §11.6.1).
///
/// Commas separate challenges as well as parameters. A name followed by `=` is therefore a parameter; any other name
/// starts the next challenge. Malformed input is not repaired: the malformed challenge and the rest of its line are
/// dropped and reported in ``Result/errors``. Earlier challenges and other lines are used.
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
        do throws(HTTPAuthError) {
            while let challenge = try scanner.nextChallenge() {
                guard result.challenges.count < limits.challengeCount else {
                    throw HTTPAuthError(.malformedChallenge, detail: "more than \(limits.challengeCount) challenges")
                }
                if let name = challenge.repeatedParameter {
                    result.errors.append(
                        HTTPAuthError(
                            .malformedChallenge, scheme: challenge.scheme, detail: "duplicate parameter \(name)"))
                } else {
                    result.challenges.append(challenge)
                }
            }
        } catch {
            result.errors.append(error)
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
    /// space and cannot contain a quote.
    public static let unquotedText = ChallengeLeniency(rawValue: 1 << 1)

    /// Parameters that only spaces separate: `Digest realm="a" nonce="b"`. Another challenge still begins after a comma.
    public static let missingCommas = ChallengeLeniency(rawValue: 1 << 2)

    /// No deviations: only what the grammar allows.
    public static let strict: ChallengeLeniency = []

    /// The deviations that browsers and curl accept from servers.
    public static let client: ChallengeLeniency = [.missingClosingQuote, .unquotedText, .missingCommas]
}

/// A scanner for the grammar of a challenge field, at an offset into it (RFC 9110 §11.2, §11.3).
private struct ChallengeScanner {
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
    /// The first parameter may follow the scheme without a comma; each later one needs a comma, unless the leniency permits its
    /// absence.
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
            guard comma || found.isEmpty || leniency.contains(.missingCommas) else {
                throw error("missing comma between parameters")
            }
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
