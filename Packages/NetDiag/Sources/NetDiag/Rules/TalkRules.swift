internal import FoundationEssentials

/// TLS, HTTP, and who is let in.
enum TalkRules {
    static func findings(_ facts: LadderFacts, _ target: DiagnosisTarget) -> [Finding] {
        switch facts.talk?.1 {
        case nil, .secured: []
        case .insecure(let error): [security(error, target)]
        case .answered(let status, let location): answer(status, location, target)
        case .notHTTP: [Finding(.notHTTP, .failure, .notHTTP(target.place))]
        case .unanswered(let error):
            [Finding(.answerMissing, .failure, .answerMissing(target.place, "\(error)"), evidence: ["\(error)"])]
        }
    }

    private static func security(_ error: StreamError, _ target: DiagnosisTarget) -> Finding {
        let code: FindingCode =
            switch error.tlsFailure {
            case .certificateExpired?: .certificateExpired
            case .certificateNotYetValid?: .certificateNotYetValid
            case .unknownRoot?, .noRoot?, .invalidChain?: .certificateUntrusted
            case .hostNameMismatch?: .certificateWrongName
            case .protocolViolation?: .notTLS
            case .negotiation?, .protocolVersion?, .peerHandshakeFailure?, .badCipherSuite?, .peerInsufficientSecurity?:
                .nothingInCommon
            case .some, nil: .securityFailed
            }
        return Finding(code, .failure, .securityFailed(target.place, "\(error)"), evidence: [error.debugDescription])
    }

    private static func answer(_ status: Int, _ location: String?, _ target: DiagnosisTarget) -> [Finding] {
        let said: Sentence = .answeredStatus(target.place, "\(status)")
        switch status {
        case 401, 407, 511:
            return [Finding(status == 511 ? .ledElsewhere : .credentialsWanted, .failure, said)]
        case 300..<400:
            guard let location, let other = URL(string: location)?.host(percentEncoded: false),
                other.lowercased() != target.host?.lowercased()
            else { return [] }
            // A move to another host is every-day; whether it is a sign-in page, a person can tell.
            let isPortal = !target.isSecure && location.lowercased().hasPrefix("http:")
            return [Finding(.ledElsewhere, isPortal ? .warning : .note, .ledElsewhere(target.place, location))]
        case 400..<500: return [Finding(.requestRefused, .failure, said)]
        case 500...: return [Finding(.serverBroken, .failure, said)]
        default: return []
        }
    }
}
