extension LadderFacts {
    /// What a stream already knows, so that nobody asks a second time.
    init(_ report: ConnectionReport, error: StreamError?) {
        var isAboutOpening = false
        for step in report.steps {
            switch (step.kind, step.outcome) {
            case (.lookup, .failed(let error)):
                guard let reason = error.underlying as? ResolverError else { continue }
                lookup = .failure(reason)
                isAboutOpening = true
            case (.connect(let address), .succeeded): receive(.connect(address, nil))
            case (.connect(let address), .failed(let error)):
                receive(.connect(address, error))
                isAboutOpening = true
            case (.tls, .failed(let error)):
                if let address = connected.first { talk = (address, .insecure(error)) }
                isAboutOpening = true
            case (.tls, .succeeded): if let address = connected.first { talk = (address, .secured) }
            case (.request, .failed(let error)):
                if let address = connected.first { talk = (address, .unanswered(error)) }
                isAboutOpening = true
            case (.lookup, _), (.connect, _), (.tls, _), (.request, _), (.proxy, _): continue
            }
        }
        if lookup == nil, report.steps.contains(where: { if case .lookup = $0.kind { true } else { false } }) {
            let found = connections.keys.compactMap { if case .ip(let address, _) = $0 { address } else { nil } }
            if !found.isEmpty { lookup = .success(found.sorted { "\($0)" < "\($1)" }) }
        }
        if !isAboutOpening { breakage = error }
    }
}

extension DiagnosisTarget {
    /// Where a stream was to go.
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
}
