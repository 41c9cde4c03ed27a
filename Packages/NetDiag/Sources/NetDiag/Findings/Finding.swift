/// One result of a diagnosis: a fault or an oddity, the evidence for it, and advice.
public struct Finding: Sendable, Hashable {
    /// How much a finding matters to the target.
    public enum Severity: Int, Sendable, Hashable, Comparable {
        /// Informational: nothing fails because of it.
        case note
        /// Something is broken, but the target does not need it or has an alternative.
        case warning
        /// The target cannot be used because of it.
        case failure

        /// Orders the lesser severity first.
        public static func < (left: Severity, right: Severity) -> Bool { left.rawValue < right.rawValue }
    }

    /// The kind of finding, for programs.
    public var code: FindingCode
    /// How much the finding matters to this target.
    public var severity: Severity
    /// A localizable sentence that says what was found, and where.
    public var sentence: Sentence
    /// The observations behind the finding, one per line: addresses, errors, times.
    ///
    /// Contains no secrets and no control characters.
    public var evidence: [String]
    /// The code of the finding that causes this one or must be repaired before this one can be judged; nil for an
    /// independent finding.
    public var dependsOn: FindingCode?

    /// Creates a finding. Secrets and control characters are removed from `evidence`.
    package init(_ code: FindingCode, _ severity: Severity, _ sentence: Sentence, evidence: [String] = []) {
        self.code = code
        self.severity = severity
        self.sentence = sentence
        self.evidence = evidence.map(PublicText.of)
    }

    /// The rung of the ladder that the finding concerns.
    public var rung: Rung { code.rung }

    /// A localizable sentence that says what the user can do.
    public var advice: Sentence { code.advice }
}

/// One layer between this machine and an answer of the server. Each rung depends on those below it.
public enum Rung: Int, Sendable, Hashable, CaseIterable, Comparable, CustomStringConvertible {
    /// An interface that is up and has a carrier.
    case link
    /// An address that is valid beyond the link.
    case address
    /// A route to the target, or a default route.
    case route
    /// The next router on that route, or the target itself if it is on the link.
    case gateway
    /// The addresses of the target's name.
    case name
    /// The proxy, if one is configured for the target.
    case proxy
    /// A TCP connection to the port.
    case connection
    /// Delivery of full-size packets over the whole path (path MTU).
    case path
    /// The TLS handshake, including the server's certificate.
    case security
    /// An answer to the request.
    case answer
    /// Permission by the server or the proxy.
    case authentication

    /// Orders the lower rung first.
    public static func < (left: Rung, right: Rung) -> Bool { left.rawValue < right.rawValue }

    /// The name, stable for scripts: `link`.
    public var description: String {
        switch self {
        case .link: "link"
        case .address: "address"
        case .route: "route"
        case .gateway: "gateway"
        case .name: "name"
        case .proxy: "proxy"
        case .connection: "connection"
        case .path: "path"
        case .security: "security"
        case .answer: "answer"
        case .authentication: "authentication"
        }
    }
}

extension Finding: Encodable {
    private enum Key: String, CodingKey {
        case code, rung, severity, sentence, key, advice, evidence, dependsOn
    }

    /// Encodes the form that <doc:DiagnosisJSON> describes.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(code.rawValue, forKey: .code)
        try container.encode("\(rung)", forKey: .rung)
        try container.encode("\(severity)", forKey: .severity)
        try container.encode("\(sentence)", forKey: .sentence)
        try container.encode(sentence.key, forKey: .key)
        try container.encode("\(advice)", forKey: .advice)
        try container.encode(evidence, forKey: .evidence)
        try container.encodeIfPresent(dependsOn?.rawValue, forKey: .dependsOn)
    }
}
