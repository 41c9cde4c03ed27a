internal import HTTPMessage

/// Findings about TLS, HTTP, FTP and access.
enum ServiceRules {
    static func findings(_ facts: LadderFacts, _ target: DiagnosisTarget) -> [Finding] {
        if let portal = PortalRules.finding(facts, target) {
            if case .tlsFailed(let error)? = facts.service?.1 { return [portal, security(error, facts, target)] }
            return [portal]
        }
        switch facts.service?.1 {
        case nil, .connected: return []
        case .tlsFailed(let error): return [security(error, facts, target)]
        case .answered(let found): return answer(found, target)
        case .redirectLoop(let location, let wantsCookie):
            return [
                Finding(
                    .redirectLoop, wantsCookie ? .note : .failure,
                    .redirectLoop(target.displayName, PublicText.of(location)))
            ]
        case .greeted(let code): return greeting(code, target)
        case .wrongProtocol:
            if target.proxy != nil, !target.isSecure {
                return [ProxyRules.failure(.notHTTPProxy, target)]
            }
            return target.service == .ftp
                ? [Finding(.notFTP, .failure, .notFTP(target.displayName))]
                : [Finding(.notHTTP, .failure, .notHTTP(target.displayName))]
        // In TLS 1.3 the server sends this alert after the handshake (RFC 8446 §4.4.2.4).
        case .unanswered(let error) where error.tlsFailure == .certificateRequired:
            return [security(error, facts, target)]
        case .expectsTLS: return [Finding(.tlsExpected, .failure, .tlsExpected(target.displayName))]
        case .unanswered(let error):
            let reason = PublicText.of("\(error)")
            return [
                Finding(
                    .answerMissing, .failure, .answerMissing(target.displayName, reason),
                    evidence: [PublicText.of(error.debugDescription)])
            ]
        case .proxyRefused(let status): return [ProxyRules.refusal(status, target)]
        case .proxyFailed(let error): return [ProxyRules.failure(error, target)]
        }
    }

    // MARK: Security

    private static func security(_ error: StreamError, _ facts: LadderFacts, _ target: DiagnosisTarget) -> Finding {
        let name = target.displayName
        var evidence = [PublicText.of(error.debugDescription)]
        if let seen = facts.inspection {
            evidence.append("certificate issuer: \(PublicText.of(seen.issuer))")
            if error.isAboutDates, let clocks = wrongClock(seen) {
                return Finding(.clockWrong, .failure, .clockWrong(clocks.here, clocks.there), evidence: evidence)
            }
            if !error.isAboutDates, let vendor = Interceptors.name(in: seen.issuer) {
                return Finding(
                    .certificateIntercepted, .failure, .certificateIntercepted(name, vendor), evidence: evidence)
            }
        }
        let code: FindingCode =
            switch error.tlsFailure {
            case .certificateExpired?: .certificateExpired
            case .certificateNotYetValid?: .certificateNotYetValid
            case .certificateRevoked?: .certificateRevoked
            case .unknownRoot?, .noRoot?, .invalidChain?: .certificateUntrusted
            case .hostNameMismatch?: .certificateWrongName
            case .certificateRequired?: .clientCertificateWanted
            case .protocolViolation?: .notTLS
            case .negotiation?, .protocolVersion?, .peerHandshakeFailure?, .badCipherSuite?, .peerInsufficientSecurity?:
                .nothingInCommon
            case .some, nil: .securityFailed
            }
        let sentence: Sentence =
            code == .clientCertificateWanted
            ? .clientCertificateWanted(name) : .securityFailed(name, PublicText.of("\(error)"))
        return Finding(code, .failure, sentence, evidence: evidence)
    }

    /// Both clocks, if the certificate is valid by the server's clock but not by this machine's.
    private static func wrongClock(_ seen: Inspection) -> (here: String, there: String)? {
        guard let time = seen.serverTime, seen.validity.contains(time), !seen.validity.contains(seen.ownTime) else {
            return nil
        }
        return ("\(HTTPDate(secondsSinceEpoch: seen.ownTime))", "\(HTTPDate(secondsSinceEpoch: time))")
    }

    // MARK: Answers

    private static func answer(_ found: ServiceAnswer, _ target: DiagnosisTarget) -> [Finding] {
        let name = target.displayName
        let sentence: Sentence = .answeredStatus(name, "\(found.status)")
        if target.proxy != nil, !target.isSecure, [502, 503, 504].contains(found.status) {
            return [ProxyRules.refusal(found.status, target)]
        }
        switch found.status {
        case 401:
            let schemes = found.schemes.map { PublicText.of($0) }.joined(separator: ", ")
            return [Finding(.credentialsWanted, .failure, .credentialsWanted(name, schemes))]
        case 403: return [Finding(.accessForbidden, isWholeURL(target) ? .failure : .note, sentence)]
        case 407: return [ProxyRules.credentialsWanted(target)]
        case 511: return [Finding(.captivePortal, .failure, .captivePortal(name, ""))]
        case 300..<400:
            guard let location = found.location, let other = location.urlHost,
                other.lowercased() != target.host?.lowercased()
            else { return [] }
            // A redirect to another host is ordinary; the user can tell whether it is a sign-in page.
            let isOdd = !target.isSecure && found.isTemporaryMove && PortalRules.leadsElsewhere(found, from: target)
            return [Finding(.ledElsewhere, isOdd ? .warning : .note, .ledElsewhere(name, PublicText.of(location)))]
        case 429:
            let wait = found.retryAfter.map { Int64($0) == nil ? $0 : "\($0) s" }.map { PublicText.of($0) }
            return [Finding(.requestsLimited, .failure, .requestsLimited(name, until: wait))]
        case 400..<500: return [Finding(.requestRefused, isWholeURL(target) ? .failure : .note, sentence)]
        case 500...: return [Finding(.serverBroken, .failure, sentence)]
        default: return []
        }
    }

    /// The finding for an FTP greeting (RFC 959 §4.2).
    private static func greeting(_ code: Int, _ target: DiagnosisTarget) -> [Finding] {
        let sentence: Sentence = .answeredStatus(target.displayName, "\(code)")
        switch code {
        case 100..<400: return []
        case 400..<500: return [Finding(.serverBroken, .failure, sentence)]
        default: return [Finding(.accessForbidden, .failure, sentence)]
        }
    }

    /// Whether the whole URL was requested, so that the server's answer applies to it.
    private static func isWholeURL(_ target: DiagnosisTarget) -> Bool {
        if case .http(_, let isWhole) = target.service { isWhole } else { true }
    }

    // MARK: Checked rungs

    static func checked(_ facts: LadderFacts, _ target: DiagnosisTarget) -> Set<Rung> {
        var rungs: Set<Rung> = target.isSecure ? [.security] : []
        if target.proxy != nil { rungs.formUnion([.proxy, .connection]) }
        switch facts.service?.1 {
        case nil: return []
        case .connected, .tlsFailed: return rungs
        case .answered, .redirectLoop, .greeted: rungs.formUnion([.answer, .authentication])
        case .wrongProtocol, .expectsTLS, .unanswered: rungs.insert(.answer)
        case .proxyRefused, .proxyFailed: return [.proxy]
        }
        return rungs
    }

    /// What could not be checked because a diagnosis sends no secrets.
    static func uncheckable(_ facts: LadderFacts, _ target: DiagnosisTarget) -> [Sentence] {
        switch facts.service?.1 {
        case .redirectLoop(_, true): [.noCookiesSent]
        case .proxyRefused(407) where target.proxy?.user != nil: [.noCredentialsSent]
        case .proxyFailed(let error) where target.proxy?.user != nil && error.socksFailure?.subdomain == .method:
            [.noCredentialsSent]
        case .answered(let answer) where answer.status == 407 && target.proxy?.user != nil: [.noCredentialsSent]
        case .answered(let answer)
        where answer.status != 401 && (400..<500).contains(answer.status) && !isWholeURL(target):
            [.noQuerySent]
        default: []
        }
    }
}

extension StreamError {
    /// The service on the proxy's port does not speak HTTP.
    static let notHTTPProxy = StreamError(
        posix: 71, Sentence("diag.notHTTPProxy", "it does not speak HTTP."))  // EPROTO
}

/// Findings about captive portals: networks that answer in place of the server until the user has signed in.
enum PortalRules {
    /// The finding, if a captive portal answers.
    ///
    /// A redirect alone is ordinary. A portal is recognized by its status 511 (RFC 6585 §6), or because TLS with the server fails
    /// while plain HTTP redirects every page, even a nonexistent one, temporarily to another host.
    static func finding(_ facts: LadderFacts, _ target: DiagnosisTarget) -> Finding? {
        if !target.isSecure, case .answered(let answer)? = facts.service?.1 {
            if answer.status == 511 { return portal(answer, target) }
            guard case .answered(let other)? = facts.plainPage, isPortal(other, target) else { return nil }
            return answer.isTemporaryMove && isSuspicious(other) ? portal(answer, target) : nil
        }
        guard target.isSecure, case .answered(let answer)? = facts.plainPage, isPortal(answer, target) else {
            return nil
        }
        return portal(answer, target)
    }

    /// Whether the answer redirects to a host of another domain.
    static func leadsElsewhere(_ answer: ServiceAnswer, from target: DiagnosisTarget) -> Bool {
        guard let other = answer.location?.urlHost, let host = target.host else { return false }
        return domain(other) != domain(host)
    }

    private static func isPortal(_ answer: ServiceAnswer, _ target: DiagnosisTarget) -> Bool {
        answer.status == 511 || (answer.isTemporaryMove && leadsElsewhere(answer, from: target))
    }

    /// Whether the redirect leads to an unencrypted page or an address literal, as only the sign-in pages of networks do.
    private static func isSuspicious(_ answer: ServiceAnswer) -> Bool {
        guard let location = answer.location, let host = location.urlHost else { return answer.status == 511 }
        return location.lowercased().hasPrefix("http:") || IPAddress(host) != nil
    }

    private static func portal(_ answer: ServiceAnswer, _ target: DiagnosisTarget) -> Finding {
        let location = answer.location.map { PublicText.of($0) } ?? ""
        return Finding(
            .captivePortal, .failure, .captivePortal(target.displayName, location),
            evidence: ["plain HTTP: status \(answer.status)\(location.isEmpty ? "" : ", to \(location)")"])
    }

    /// The last two labels of a name; an address unchanged.
    private static func domain(_ host: String) -> String {
        if IPAddress(host) != nil { return host }
        let labels = host.lowercased().utf8.split(separator: UInt8(ascii: ".")).map { Substring($0) }
        return labels.suffix(2).joined(separator: ".")
    }
}

/// Programs and devices that intercept TLS, by the names in the certificates that they issue.
enum Interceptors {
    private static let names = [
        "Avast", "AVG", "Barracuda", "Bitdefender", "Blue Coat", "Burp", "Charles Proxy", "Check Point",
        "Cisco Umbrella",
        "DO_NOT_TRUST_FiddlerRoot", "ESET", "FortiGate", "Fortinet", "Forcepoint", "iboss", "Kaspersky",
        "McAfee Web Gateway",
        "mitmproxy", "Netskope", "Palo Alto Networks", "PortSwigger", "Skyhigh", "SonicWall", "Sophos", "Squid",
        "Symantec Web Gateway", "Untangle", "WatchGuard", "Zscaler",
    ]

    /// The interceptor named in an issuer's name; nil if there is none.
    static func name(in issuer: String) -> String? {
        let text = issuer.lowercased()
        return names.first { text.contains($0.lowercased()) }
    }
}

extension StreamError {
    /// Whether a certificate was rejected because of its dates.
    var isAboutDates: Bool {
        [.certificateExpired, .certificateNotYetValid].contains(tlsFailure)
    }

    /// Whether the server's certificate was rejected.
    var isAboutCertificate: Bool {
        isAboutDates
            || [.unknownRoot, .noRoot, .invalidChain, .badCertificate, .hostNameMismatch].contains(tlsFailure)
    }
}
