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
    /// The name of the first parameter that occurs twice. RFC 9110 §11.2 allows each once only; it is undefined which
    /// one counts.
    fileprivate var repeatedParameter: String? {
        var seen: Set<String> = []
        return parameters.first { !seen.insert($0.name.lowercased()).inserted }?.name
    }
}
