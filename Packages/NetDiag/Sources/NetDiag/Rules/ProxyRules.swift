/// Findings about proxies and proxy scripts.
enum ProxyRules {
    /// The finding for a failed proxy script. A script that this machine cannot run is not a failure: it may be correct.
    static func ofScript(_ error: StreamError, named script: String) -> Finding {
        let reason = PublicText.of("\(error)")
        let code = code(ofScript: error)
        return switch code {
        case .proxyScript: Finding(code, .note, .proxyScript(script, reason))
        case .proxyScriptUnreachable: Finding(code, .failure, .proxyScriptUnreachable(script, reason))
        default: Finding(code, .failure, .proxyScriptBroken(script, reason))
        }
    }

    /// The step that failed, by the error's reason: CFNetwork has one number for all of them.
    static func code(ofScript error: StreamError) -> FindingCode {
        switch error.reason {
        case .scriptNotRunnable: .proxyScript
        case .scriptUnreachable, .scriptMissing: .proxyScriptUnreachable
        case .scriptInvalid: .proxyScriptBroken
        // A POSIX error is about a local file, any other about the script itself.
        default: error.domain == .posix ? .proxyScriptUnreachable : .proxyScriptBroken
        }
    }

    /// The findings about a proxy script's server, as findings about the target.
    ///
    /// Faults on rungs below the connection, captive portals and wrong clocks also concern the target and remain as they are. An
    /// unknown name of the server, and all other failures, mean that the script cannot be loaded.
    static func ofScript(_ findings: [Finding], named script: String) -> [Finding] {
        findings.map { finding in
            let isItsOwn =
                [.nameUnknown, .nameWithoutAddress].contains(finding.code)
                || (finding.rung >= .connection && ![.captivePortal, .clockWrong].contains(finding.code))
            guard finding.severity == .failure, isItsOwn else { return finding }
            return Finding(
                .proxyScriptUnreachable, .failure, .proxyScriptUnreachable(script, "\(finding.sentence)"),
                evidence: finding.evidence)
        }
    }

    /// The findings about the proxy's name. If the name servers answer that it does not exist, the proxy settings are wrong.
    static func ofName(_ findings: [Finding], _ target: DiagnosisTarget) -> [Finding] {
        findings.map { finding in
            guard [.nameUnknown, .nameWithoutAddress].contains(finding.code) else { return finding }
            return Finding(
                .proxyUnknown, finding.severity, .proxyUnknown(target.proxyHostAndPort, "\(finding.sentence)"),
                evidence: finding.evidence)
        }
    }

    /// The findings about the connection to the proxy.
    static func ofConnection(_ findings: [Finding], _ target: DiagnosisTarget) -> [Finding] {
        findings.map { finding in
            guard finding.severity == .failure else { return finding }
            return Finding(
                .proxyUnreachable, .failure, .proxyUnreachable(target.proxyHostAndPort, "\(finding.sentence)"),
                evidence: finding.evidence)
        }
    }

    /// The finding for an error status sent by the proxy.
    static func refusal(_ status: Int, _ target: DiagnosisTarget) -> Finding {
        let proxy = target.proxyHostAndPort
        let reason = "\(Sentence.proxyStatus("\(status)"))"
        switch status {
        case 407: return credentialsWanted(target)
        case 403, 451: return Finding(.proxyForbids, .failure, .proxyForbids(proxy, target.displayName, reason))
        case 400, 404, 405, 501: return Finding(.proxyWrong, .failure, .proxyWrong(proxy, kind(target), reason))
        default: return Finding(.proxyFails, .failure, .proxyFails(proxy, target.displayName, reason))
        }
    }

    /// The finding for a proxy whose connection failed or whose answer was invalid.
    static func failure(_ error: StreamError, _ target: DiagnosisTarget) -> Finding {
        let proxy = target.proxyHostAndPort
        let reason = PublicText.of("\(error)")
        let evidence = [PublicText.of(error.debugDescription)]
        guard let failure = error.socksFailure else {
            let isSilent = error.isPOSIX(110)  // ETIMEDOUT
            return isSilent
                ? Finding(.proxyFails, .failure, .proxyFails(proxy, target.displayName, reason), evidence: evidence)
                : Finding(.proxyWrong, .failure, .proxyWrong(proxy, kind(target), reason), evidence: evidence)
        }
        switch failure.subdomain {
        case .authentication?, .method?: return credentialsWanted(target, evidence: evidence)
        case .reply4? where failure != .identdFailed && failure != .identityConflict, .reply5?:
            let code: FindingCode = failure == .notAllowed ? .proxyForbids : .proxyFails
            let sentence: Sentence =
                failure == .notAllowed
                ? .proxyForbids(proxy, target.displayName, reason) : .proxyFails(proxy, target.displayName, reason)
            return Finding(code, .failure, sentence, evidence: evidence)
        case .reply4?: return credentialsWanted(target, evidence: evidence)
        case .none?, .version?, nil:
            return Finding(.proxyWrong, .failure, .proxyWrong(proxy, kind(target), reason), evidence: evidence)
        }
    }

    /// The finding for a proxy that requires credentials. It is only a note if the settings contain credentials, because a
    /// diagnosis does not send them.
    static func credentialsWanted(_ target: DiagnosisTarget, evidence: [String] = []) -> Finding {
        Finding(
            .proxyCredentialsWanted, target.proxy?.user == nil ? .failure : .note,
            .proxyCredentialsWanted(target.proxyHostAndPort), evidence: evidence)
    }

    private static func kind(_ target: DiagnosisTarget) -> String { target.proxy?.kind.rawValue ?? "" }
}
