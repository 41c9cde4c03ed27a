/// Client options of Digest.
public struct DigestOptions: Hashable, Sendable {
    /// Whether to sign the body (`auth-int`) if the server offers a choice and the body is known. If the server offers
    /// only `auth-int`, the body is always signed.
    public var prefersIntegrity = false

    /// Whether to reject a response without the server's proof (`rspauth`, RFC 7616 §3.5).
    ///
    /// A proof is always checked if it is present, except for `auth-int` when the body is unknown. With this option
    /// such a response is rejected too; pass the body to ``HTTPAuthentication/update(with:to:body:through:)-(_,_,AuthenticationBody,_)``.
    public var requiresServerProof = false

    /// Whether MD5 is allowed. Many servers support nothing else.
    public var allowsMD5 = true

    /// Creates the default options.
    public init() {}
}

extension AuthenticationMethod {
    /// Digest (RFC 7616).
    ///
    /// The algorithms are MD5, SHA-256 and SHA-512-256, each also in its `-sess` form. RFC 7616 defines no `SHA-512`, so a challenge
    /// that names it is skipped like any unknown algorithm.
    ///
    /// Replaces `kCFHTTPAuthenticationSchemeDigest`.
    public static let digest = digest(DigestOptions())

    /// Returns Digest with custom options. The limits are those of the policy.
    public static func digest(_ options: DigestOptions) -> AuthenticationMethod {
        AuthenticationMethod(
            name: "Digest",
            maker: { _, limits in DigestScheme(options: options, limits: limits) },
            rank: { DigestAlgorithm($0["algorithm"])?.strength ?? 0 },
            form: { challenge, _ in .digest(challenge, options) })
    }
}

extension AuthenticationForm {
    /// Returns the form of a Digest challenge: what this client would use of it if the body is known.
    fileprivate static func digest(_ challenge: Challenge, _ options: DigestOptions) -> AuthenticationForm {
        let offered = DigestProtection.offered(in: challenge) ?? []
        let signsBody =
            offered.contains(.integrity) && (options.prefersIntegrity || !offered.contains(.authentication))
        let isStrong = DigestAlgorithm(challenge["algorithm"]).map { $0.hash != .md5 } ?? false
        return AuthenticationForm(
            isStrong ? .digestSHA : .digestMD5, coverage: offered.isEmpty ? .nothing : signsBody ? .body : .request)
    }
}

/// Digest (RFC 7616, and its predecessors RFC 2617 and RFC 2069): hashes the password with nonces of both sides and
/// with the request.
///
/// One server nonce serves many requests, each with the next count. A challenge with `stale=true`, or `nextnonce` in
/// `Authentication-Info`, replaces the nonce. Neither means that the password was wrong.
struct DigestScheme: AuthenticationScheme {
    private let options: DigestOptions
    private let limits: AuthenticationLimits
    private var challenge: DigestChallenge?
    private var nonce: [UInt8] = []
    /// The number of requests signed with the nonce.
    private var count: UInt32 = 0
    /// The client nonce of the session, for the `-sess` algorithms.
    private var sessionNonce: [UInt8]?
    /// The key of the last request, to check the server's proof.
    private var key: Secret?
    /// The credential from which `key` was derived for this challenge.
    private var keyOwner: Credential?
    private var isAccepted = false
    private var givesNextNonce = false

    init(options: DigestOptions = DigestOptions(), limits: AuthenticationLimits = .default) {
        self.options = options
        self.limits = limits
    }

    var traits: SchemeTraits {
        // A server that counts requests, or replaces its nonce with each response, rejects requests that arrive out of
        // order.
        SchemeTraits(requiresOrderedRequests: givesNextNonce || challenge?.protections.isEmpty == false)
    }

    var realm: String? { challenge.map { AuthGrammar.text($0.realm) } }

    var domain: [String]? { challenge?.domain }

    mutating func receive(
        _ challenge: Challenge, answering sent: [UInt8]?
    ) throws(HTTPAuthError) -> ChallengeVerdict {
        let challenge = try DigestChallenge(challenge, limits: limits)
        guard options.allowsMD5 || challenge.algorithm.hash != .md5 else {
            throw failure(.unsupportedChallenge, "MD5 is not allowed")
        }
        // Some servers drop nonces without sending `stale`. A key that was accepted before gets one more attempt.
        let mayBeStale = challenge.isStale || isAccepted
        isAccepted = false
        self.challenge = challenge
        keyOwner = nil
        use(challenge.nonce)
        return sent == nil || mayBeStale ? .fresh : .refused
    }

    mutating func respond(
        to input: AuthenticationInput, with credential: Credential?
    ) throws(HTTPAuthError) -> AuthenticationStep {
        guard let challenge else { throw failure(.outOfOrder, "no challenge was received") }
        guard let credential else { throw failure(.missingUserName) }
        guard let password = credential.password else { throw failure(.missingPassword) }
        guard credential.user.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw failure(.invalidUserName, "it contains a control character")
        }
        // The count has eight digits. A request without the field makes the server send a new nonce.
        guard count < .max else { return .nothing }
        let (protection, body) = try protection(challenge, input.body)
        let key: Secret
        if let known = self.key, keyOwner == credential {
            key = known
        } else {
            key = try DigestComputation.key(
                challenge.algorithm, user: credential.user, realm: challenge.realm, password: password)
        }
        let clientNonce = sessionNonce ?? Hexadecimal.encode(input.random.prefix(16))
        if challenge.algorithm.isSession { sessionNonce = clientNonce }
        count += 1
        (self.key, keyOwner) = (key, credential)
        let computation = DigestComputation(
            algorithm: challenge.algorithm, key: key, nonce: nonce, clientNonce: clientNonce,
            count: Self.digits(count), protection: protection, uri: input.target.bytes)
        let response = try computation.response(method: input.method.name, body: body)
        return .send(try field(challenge, computation, user: credential.user, response: response))
    }

    mutating func finish(_ acceptance: Acceptance) throws(HTTPAuthError) {
        func info(_ name: String) -> [UInt8]? {
            acceptance.info.first { $0.name.lowercased() == name }?.rawValue
        }
        let isProven: Bool
        if let proof = info("rspauth") {
            isProven = try check(proof, acceptance, info)
        } else {
            isProven = false
        }
        guard isProven || !options.requiresServerProof else {
            let detail =
                info("rspauth") == nil ? "the response has no rspauth" : "rspauth covers a body that is not available"
            throw failure(.serverNotAuthentic, detail)
        }
        isAccepted = true
        // A next nonce without a proof can come from anyone on the network path.
        if isProven, let next = info("nextnonce"), 1...limits.repeatedLength ~= next.count {
            givesNextNonce = true
            use(next)
        }
    }

    private mutating func use(_ nonce: [UInt8]) {
        self.nonce = nonce
        count = 0
        sessionNonce = nil
    }

    /// Returns the protection to use among those offered, and the body that it covers.
    private func protection(
        _ challenge: DigestChallenge, _ body: AuthenticationBody
    ) throws(HTTPAuthError) -> (DigestProtection?, [UInt8]) {
        let offersBoth = challenge.protections.contains(.authentication) && challenge.protections.contains(.integrity)
        switch (challenge.protections.first, body) {
        case (nil, _): return (nil, [])
        case (.integrity, .bytes(let bytes)) where !offersBoth || options.prefersIntegrity:
            return (.integrity, bytes)
        case (.authentication, .bytes(let bytes)) where offersBoth && options.prefersIntegrity:
            return (.integrity, bytes)
        case (.integrity, .unknown) where !offersBoth: throw failure(.bodyUnknown)
        case (.integrity, _), (.authentication, _): return (.authentication, [])
        }
    }

    /// Returns the field value. RFC 7616 §3.4 specifies which parameters are quoted.
    private func field(
        _ challenge: DigestChallenge, _ computation: DigestComputation, user: String, response: [UInt8]
    ) throws(HTTPAuthError) -> [UInt8] {
        var value = Array("Digest ".utf8)
        if challenge.hashesUserNames {
            let hash = try challenge.algorithm.hash.hexadecimal(.text(user), ":", .bytes(challenge.realm))
            value += Array("username=".utf8) + AuthGrammar.quoted(hash)
        } else if challenge.isUTF8, !user.utf8.allSatisfy({ $0 < 0x80 }) {
            value += Array("username*=UTF-8''".utf8) + PercentEncoding.extendedValue(user)
        } else {
            value += Array("username=".utf8) + AuthGrammar.quoted(user.utf8)
        }
        func add(_ name: String, _ text: [UInt8]) { value += Array(", \(name)=".utf8) + text }
        add("realm", AuthGrammar.quoted(challenge.realm))
        add("nonce", AuthGrammar.quoted(computation.nonce))
        add("uri", AuthGrammar.quoted(computation.uri))
        if let name = challenge.algorithmName { add("algorithm", name) }
        if let protection = computation.protection {
            add("qop", Array(protection.rawValue.utf8))
            add("nc", computation.count)
            add("cnonce", AuthGrammar.quoted(computation.clientNonce))
        } else if challenge.algorithm.isSession {
            add("cnonce", AuthGrammar.quoted(computation.clientNonce))
        }
        add("response", AuthGrammar.quoted(response))
        if let opaque = challenge.opaque { add("opaque", AuthGrammar.quoted(opaque)) }
        if challenge.hashesUserNames { add("userhash", Array("true".utf8)) }
        return value
    }

    /// Checks the server's proof (RFC 7616 §3.5) against the field of the request. The request's `qop` decides: the
    /// server could name a `qop` that cannot be checked. Returns false if the proof covers a body that is unknown.
    private func check(
        _ proof: [UInt8], _ acceptance: Acceptance, _ info: (String) -> [UInt8]?
    ) throws(HTTPAuthError) -> Bool {
        let sent = ChallengeParser(leniency: .strict).parse(acceptance.sent).challenges.first
        func sentValue(_ name: String) -> [UInt8]? { sent?.parameter(name)?.rawValue }
        guard let challenge, let key, let nonce = sentValue("nonce"), let uri = sentValue("uri") else {
            throw failure(.outOfOrder, "the request carried no Digest credentials")
        }
        for name in ["nc", "cnonce"] where info(name) != nil && info(name) != sentValue(name) {
            throw failure(.serverNotAuthentic, "\(name) differs from the request")
        }
        let protection = sentValue("qop").flatMap {
            DigestProtection(rawValue: AuthGrammar.text($0).lowercased())
        }
        let computation = DigestComputation(
            algorithm: challenge.algorithm, key: key, nonce: nonce, clientNonce: sentValue("cnonce") ?? [],
            count: sentValue("nc") ?? [], protection: protection, uri: uri)
        let body: [UInt8]
        switch (protection, acceptance.body) {
        case (.integrity, .unknown): return false
        case (.integrity, .bytes(let bytes)): body = bytes
        case (.authentication, _), (nil, _): body = []
        }
        guard Secret(bytes: proof) == Secret(bytes: try computation.response(method: "", body: body)) else {
            throw failure(.serverNotAuthentic, "wrong rspauth")
        }
        return true
    }

    private static func digits(_ count: UInt32) -> [UInt8] {
        Hexadecimal.encode([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) })
    }

    private func failure(_ code: HTTPAuthError.Code, _ detail: String? = nil) -> HTTPAuthError {
        HTTPAuthError(code, scheme: "Digest", detail: detail)
    }
}

/// The validated parameters of a Digest challenge (RFC 7616 §3.3).
private struct DigestChallenge: Sendable {
    let realm: [UInt8]
    let opaque: [UInt8]?
    let algorithm: DigestAlgorithm
    /// The algorithm name exactly as the server wrote it, to be returned; nil if it was omitted.
    let algorithmName: [UInt8]?
    let isStale: Bool
    let isUTF8: Bool
    let hashesUserNames: Bool
    /// The offered protections; empty for an RFC 2069 server, which has no `qop`.
    let protections: [DigestProtection]
    let domain: [String]
    let nonce: [UInt8]

    init(_ challenge: Challenge, limits: AuthenticationLimits) throws(HTTPAuthError) {
        func failure(_ code: HTTPAuthError.Code, _ detail: String) -> HTTPAuthError {
            HTTPAuthError(code, scheme: "Digest", detail: detail)
        }
        guard let realm = challenge.parameter("realm"), let nonce = challenge.parameter("nonce") else {
            throw failure(.malformedChallenge, "missing realm or nonce")
        }
        let opaque = challenge.parameter("opaque")?.rawValue
        guard realm.rawValue.count + nonce.rawValue.count + (opaque?.count ?? 0) <= limits.repeatedLength else {
            throw failure(.unsupportedChallenge, "values of more than \(limits.repeatedLength) bytes")
        }
        guard let algorithm = DigestAlgorithm(challenge["algorithm"]) else {
            throw failure(.unsupportedChallenge, "algorithm \(challenge["algorithm"] ?? "")")
        }
        guard let protections = DigestProtection.offered(in: challenge) else {
            throw failure(.unsupportedChallenge, "qop \(challenge["qop"] ?? "")")
        }
        self.protections = protections
        self.realm = realm.rawValue
        self.nonce = nonce.rawValue
        self.algorithm = algorithm
        algorithmName = challenge.parameter("algorithm")?.rawValue
        self.opaque = opaque
        isStale = challenge["stale"]?.lowercased() == "true"
        isUTF8 = challenge["charset"]?.lowercased() == "utf-8"
        hashesUserNames = challenge["userhash"]?.lowercased() == "true"
        // A missing or empty list means the whole server (RFC 7616 §3.3).
        let listed = (challenge["domain"] ?? "").utf8.split(separator: UInt8(ascii: " ")).prefix(limits.domainCount)
            .map { String(Substring($0)) }
        domain = listed.isEmpty ? ["/"] : listed
    }
}

/// Percent-encoding.
private enum PercentEncoding {
    /// Encodes text as the value part of an ext-value (RFC 8187 §3.2.1): all characters but attr-char as `%XX`.
    static func extendedValue(_ text: String) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        var result: [UInt8] = []
        for byte in text.utf8 {
            // attr-char is tchar without `*`, `'` and `%`.
            if AuthGrammar.isToken(byte), !"*'%".utf8.contains(byte) {
                result.append(byte)
            } else {
                result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return result
    }
}
