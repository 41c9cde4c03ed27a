public import HTTPMessage

/// Reads challenges: every scheme of one field line, or of all lines of a response (RFC 9110 §11.3, §11.6.1).
///
/// Commas separate challenges as well as the parameters of one, so a name that `=` follows is a parameter and any other
/// begins the next challenge. What is malformed is not repaired: the challenge in which it stands and what follows in
/// that line are dropped, and ``Result/errors`` says so. Challenges before it, and other lines, are used.
///
/// ```swift
/// let found = ChallengeParser().parse(response)
/// for challenge in found.challenges { print(challenge) }
/// ```
public struct ChallengeParser: Sendable {
    /// The departures from the grammar that are accepted.
    public var leniency: ChallengeLeniency

    /// The limits beyond which a line is refused.
    public var limits: AuthenticationLimits

    /// Makes a parser.
    public init(leniency: ChallengeLeniency = .client, limits: AuthenticationLimits = .default) {
        self.leniency = leniency
        self.limits = limits
    }

    /// What was read.
    public struct Result: Hashable, Sendable {
        /// The challenges, in order.
        public var challenges: [Challenge] = []

        /// What was dropped, and why: at most one for each line and each challenge.
        public var errors: [HTTPAuthError] = []
    }

    /// Reads the challenges of a response: those of `WWW-Authenticate`, or with 407 of `Proxy-Authenticate`.
    public func parse(_ response: HTTPResponse) -> Result {
        let name: HTTPFieldName =
            response.status == .proxyAuthenticationRequired ? .proxyAuthenticate : .wwwAuthenticate
        return parse(response.fields, name)
    }

    /// Reads the challenges of every field with this name.
    public func parse(_ fields: HTTPFields, _ name: HTTPFieldName) -> Result {
        var result = Result()
        for field in fields where field.name == name {
            parse(field.rawValue, into: &result)
        }
        return result
    }

    /// Reads one field value.
    public func parse(_ value: [UInt8]) -> Result {
        var result = Result()
        parse(value, into: &result)
        return result
    }

    /// Reads a list of parameters without a scheme, which is what `Authentication-Info` holds (RFC 7615 §3).
    ///
    /// Throws ``HTTPAuthError/Code/malformedChallenge``.
    public func parseParameters(_ value: [UInt8]) throws(HTTPAuthError) -> [Challenge.Parameter] {
        var scan = ChallengeScan(value, leniency: leniency, limits: limits)
        let parameters = try scan.parameters()
        guard scan.isAtEnd else { throw scan.error("parameter without a value") }
        return parameters
    }

    private func parse(_ value: [UInt8], into result: inout Result) {
        guard value.count <= limits.challengeLength else {
            result.errors.append(
                HTTPAuthError(.malformedChallenge, detail: "longer than \(limits.challengeLength) bytes"))
            return
        }
        var scan = ChallengeScan(value, leniency: leniency, limits: limits)
        do throws(HTTPAuthError) {
            while let challenge = try scan.nextChallenge() {
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
    /// A parameter may occur once only (RFC 9110 §11.2): which one counts, nobody could say.
    fileprivate var repeatedParameter: String? {
        var seen: Set<String> = []
        return parameters.first { !seen.insert($0.name.lowercased()).inserted }?.name
    }
}
