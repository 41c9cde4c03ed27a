internal import Glibc
internal import HTTPMessage

extension LadderFacts {
    /// The facts in a stream's report and error, so that their steps are not repeated.
    init(_ report: ConnectionReport, error: StreamError?, of target: DiagnosisTarget) {
        var isAboutOpening = false
        // After redirects, the report begins with steps to other hosts.
        let begin = report.steps.lastIndex { step in
            if case .lookup(let name) = step.kind { name == target.firstHost } else { false }
        }
        for step in report.steps[(begin ?? 0)...] {
            switch (step.kind, step.outcome) {
            case (.lookup(let name), .failed(let error)):
                guard let reason = error.underlying as? ResolverError, name == target.firstHost else { continue }
                lookup = .failure(reason)
                isAboutOpening = true
            case (.connect(let address), .succeeded): receive(.connect(nil), of: .connect(address))
            case (.connect(let address), .failed(let error)):
                receive(.connect(error), of: .connect(address))
                isAboutOpening = true
            case (.proxy, .failed(let error)):
                if let address = connected.first { exchange = (address, .proxyFailed(error)) }
                isAboutOpening = true
            case (.tls, .failed(let error)):
                if let address = connected.first { exchange = (address, .tlsFailed(error)) }
                isAboutOpening = true
            case (.tls, .succeeded): if let address = connected.first { exchange = (address, .connected) }
            case (.request, .failed(let error)):
                if let address = connected.first { exchange = (address, .unanswered(error)) }
                isAboutOpening = true
            case (.lookup, _), (.connect, _), (.tls, _), (.request, _), (.proxy, _): continue
            }
        }
        if lookup == nil, report.steps.contains(where: { if case .lookup = $0.kind { true } else { false } }) {
            let found = connections.keys.compactMap(\.ipAddress)
            if !found.isEmpty { lookup = .success(found.sorted { "\($0)" < "\($1)" }) }
        }
        if !isAboutOpening { connectionLoss = error }
    }

    /// Derives facts from the number of a protocol error, which says more than a probe could find out.
    mutating func learn(_ error: StreamError?, of target: DiagnosisTarget) {
        guard let error else { return }
        let reason = PublicText.of("\(error)")
        let name = target.displayName
        func conclude(_ code: FindingCode, _ sentence: Sentence) {
            verdict = Finding(code, .failure, sentence, evidence: [error.debugDescription])
            (connectionLoss, exchange) = (nil, nil)
        }
        switch error.domain {
        case .http:
            switch HTTPErrorNumber(rawValue: error.code) {
            case .parseFailure?: conclude(.notHTTP, .notHTTP(name))
            case .redirectionLoop?: conclude(.redirectLoop, .loadFailed(reason))
            case .badUserName?, .badPassword?: conclude(.credentialsRefused, .credentialsRefused(name, reason))
            case .authenticationTypeUnsupported?: conclude(.credentialsWanted, .loadFailed(reason))
            case .connectionLost?: conclude(.answerMissing, .answerMissing(name, reason))
            case .badURL?, nil: learnProxyError(error, of: target)
            }
        case .ftp: conclude(LadderFacts.code(ofReply: error.code), .loadFailed(reason))
        default: break
        }
    }

    /// Derives facts from an error of an HTTP proxy, by CFNetwork's numbers.
    private mutating func learnProxyError(_ error: StreamError, of target: DiagnosisTarget) {
        guard let number = HTTPErrorNumber.ProxyError(rawValue: error.code) else { return }
        let reason = PublicText.of("\(error)")
        let code: FindingCode =
            switch number {
            case .connectionFailure: .proxyUnreachable
            case .badCredentials: .proxyCredentialsWanted
            case .tunnelConnectionFailure: .proxyFails
            case .unexpectedResponseToConnect: .proxyWrong
            case .automaticConfigurationFile, .automaticConfigurationFileAuthentication:
                ProxyRules.code(ofScript: error)
            }
        verdict = Finding(code, .failure, .loadFailed(reason), evidence: [error.debugDescription])
        (connectionLoss, exchange) = (nil, nil)
    }

    /// The finding for an FTP server's negative reply (RFC 959 §4.2.2, RFC 4217 §14).
    private static func code(ofReply code: Int) -> FindingCode {
        switch code {
        case 530, 532, 331, 332: .credentialsRefused
        case 533, 534, 536, 537: .nothingInCommon
        case 200: .notFTP  // kCFFTPErrorUnexpectedStatusCode: no valid reply, or one that no command expects
        case 550, 552, 553, 450, 452: .requestRefused
        case 400..<500: .serverBroken
        default: .requestRefused
        }
    }

    /// Derives facts from a response that was already received.
    mutating func learn(_ response: HTTPResponse, isFromProxy: Bool, of target: DiagnosisTarget) {
        let endpoint = connected.first ?? .ip(target.firstLiteral ?? .v4(.any), port: target.firstPort)
        let answer = ExchangeAnswer(response)
        if isFromProxy, !(200..<300).contains(answer.status) {
            (exchange, verdict, connectionLoss) = ((endpoint, .proxyRefused(status: answer.status)), nil, nil)
        } else if !isFromProxy, verdict == nil, connectionLoss == nil {
            exchange = (endpoint, .answered(answer))
        }
        if connections.isEmpty { connections[endpoint] = .some(nil) }
        if lookup == nil, target.firstLiteral == nil { lookup = .success(connected.compactMap(\.ipAddress)) }
    }
}

extension DiagnosisTarget {
    /// The target of a stream.
    init(name: String?, port: UInt16?, address: SocketAddress?, report: ConnectionReport) {
        var host = name
        var number = port
        var isSecure = false
        for step in report.steps {
            switch step.kind {
            case .lookup(let name): host = host ?? name
            case .connect(.ip(let address, let port)):
                host = host ?? "\(address)"
                number = number ?? port
            case .tls: isSecure = true
            case .connect, .proxy, .request: break
            }
        }
        if case .ip(let address, let port)? = address {
            host = host ?? "\(address)"
            number = number ?? port
        }
        self.init(host: host, port: number ?? 0, isSecure: isSecure, service: .bytes)
    }

    /// A copy of the target, with the first proxy in a report. A report does not contain a proxy that was never reached; then the
    /// first proxy of `routes` is used.
    func through(_ report: ConnectionReport, or routes: [ProxyRoute]) -> DiagnosisTarget {
        for case .proxy(let kind, let hostAndPort) in report.steps.map(\.kind) {
            guard let colon = hostAndPort.lastIndex(of: ":"),
                let port = UInt16(hostAndPort[hostAndPort.index(after: colon)...])
            else {
                continue
            }
            let host = hostAndPort[..<colon]
            return through(
                kind, host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : String(host), port)
        }
        guard let hop = routes.first?.hops.first else { return self }
        return through(hop.kind, hop.host, hop.port)
    }

    private func through(_ kind: String, _ host: String, _ port: UInt16) -> DiagnosisTarget {
        let kinds: [String: ProxyServer.Kind] = [
            "HTTP": .http, "HTTPS": .https, "SOCKS4": .socks4, "SOCKS4a": .socks4a, "SOCKS5": .socks5h,
        ]
        var target = self
        target.proxy = ProxyServer(kinds[kind] ?? .http, host: host, port: port)
        return target
    }
}
