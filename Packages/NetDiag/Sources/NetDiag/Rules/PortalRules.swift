/// Findings about captive portals: networks that answer in place of the server until the user has signed in.
enum PortalRules {
    /// The finding, if a captive portal answers.
    ///
    /// A redirect alone is ordinary. A portal is recognized by its status 511 (RFC 6585 §6), or because TLS with the server fails
    /// while plain HTTP redirects every page, even a nonexistent one, temporarily to another host.
    static func finding(_ facts: LadderFacts, _ target: DiagnosisTarget) -> Finding? {
        if !target.isSecure, case .answered(let answer)? = facts.exchange?.1 {
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
    static func leadsElsewhere(_ answer: ExchangeAnswer, from target: DiagnosisTarget) -> Bool {
        guard let other = answer.location?.urlHost, let host = target.host else { return false }
        return domain(other) != domain(host)
    }

    private static func isPortal(_ answer: ExchangeAnswer, _ target: DiagnosisTarget) -> Bool {
        answer.status == 511 || (answer.isTemporaryMove && leadsElsewhere(answer, from: target))
    }

    /// Whether the redirect leads to an unencrypted page or an address literal, as only the sign-in pages of networks do.
    private static func isSuspicious(_ answer: ExchangeAnswer) -> Bool {
        guard let location = answer.location, let host = location.urlHost else { return answer.status == 511 }
        return location.lowercased().hasPrefix("http:") || IPAddress(host) != nil
    }

    private static func portal(_ answer: ExchangeAnswer, _ target: DiagnosisTarget) -> Finding {
        let location = answer.location.map { PublicText.of($0) } ?? ""
        return Finding(
            .captivePortal, .failure, .captivePortal(target.displayName, location),
            evidence: ["plain HTTP: status \(answer.status)\(location.isEmpty ? "" : ", to \(location)")"])
    }

    /// The last two labels of a name; an address unchanged.
    private static func domain(_ host: String) -> String {
        if IPAddress(host) != nil { return host }
        return host.lowercased().split(separator: ".").suffix(2).joined(separator: ".")
    }
}

extension ExchangeAnswer {
    /// Whether the answer is a temporary redirect (RFC 9110 §15.4).
    var isTemporaryMove: Bool { [302, 303, 307].contains(status) }
}
