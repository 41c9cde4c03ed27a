/// Whether a network answers in the server's place until a person has signed in.
enum PortalRules {
    /// The finding, if what answers in plain HTTP is a sign-in page.
    ///
    /// A server that redirects is every-day. A portal is known by its status (RFC 6585 §6); or because the server proper cannot
    /// be had by TLS while any page, also one that does not exist, leads to another host for the time being.
    static func finding(_ facts: LadderFacts, _ target: DiagnosisTarget) -> Finding? {
        if !target.isSecure, case .answered(let answer)? = facts.talk?.1 {
            if answer.status == 511 { return portal(answer, target) }
            guard case .answered(let other)? = facts.plainPage, isPortal(other, target) else { return nil }
            return answer.isTemporaryMove && isSuspicious(other) ? portal(answer, target) : nil
        }
        guard target.isSecure, case .answered(let answer)? = facts.plainPage, isPortal(answer, target) else {
            return nil
        }
        return portal(answer, target)
    }

    /// True if the answer leads to a host of another domain.
    static func leadsElsewhere(_ answer: TalkAnswer, from target: DiagnosisTarget) -> Bool {
        guard let other = answer.location?.urlHost, let host = target.host else { return false }
        return domain(other) != domain(host)
    }

    private static func isPortal(_ answer: TalkAnswer, _ target: DiagnosisTarget) -> Bool {
        answer.status == 511 || (answer.isTemporaryMove && leadsElsewhere(answer, from: target))
    }

    /// Without encryption or without a name: nobody signs in like that but to a network.
    private static func isSuspicious(_ answer: TalkAnswer) -> Bool {
        guard let location = answer.location, let host = location.urlHost else { return answer.status == 511 }
        return location.lowercased().hasPrefix("http:") || IPAddress(host) != nil
    }

    private static func portal(_ answer: TalkAnswer, _ target: DiagnosisTarget) -> Finding {
        let place = answer.location.map { PublicText.of($0) } ?? ""
        return Finding(
            .captivePortal, .failure, .captivePortal(target.shownPlace, place),
            evidence: ["plain HTTP: status \(answer.status)\(place.isEmpty ? "" : ", to \(place)")"])
    }

    /// The last two labels; an address as it is.
    private static func domain(_ host: String) -> String {
        if IPAddress(host) != nil { return host }
        return host.lowercased().split(separator: ".").suffix(2).joined(separator: ".")
    }
}

extension TalkAnswer {
    /// Elsewhere, for now (RFC 9110 §15.4).
    var isTemporaryMove: Bool { [302, 303, 307].contains(status) }
}
