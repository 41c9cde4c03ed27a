internal import EventLoops

/// The report and properties of an opening through proxies, and its transport once it is open.
extension ProxiedOpening {
    func end(_ step: Int, _ outcome: ConnectionReport.Outcome) {
        if state.withLock({ $0.recorder.end(step, outcome, now: .now) }) { logSteps([step]) }
    }

    func addProperties(_ properties: StreamProperties) {
        state.withLock { $0.conversationProperties.merge(properties) }
    }

    func property(named name: String) -> (any Sendable)? {
        let (phase, engine, conversationProperties) = state.withLock {
            ($0.phase, $0.engine, $0.conversationProperties)
        }
        switch name {
        case StreamProperty<ConnectionReport>.report.name:
            return state.withLock { state in
                var state = state  // the connection's steps change while it opens
                state.reportConnection()
                return state.recorder.report
            }
        case StreamProperty<ProxyRoute>.proxyRoute.name:
            if case .open(let route) = phase { return route } else { return nil }
        default:
            if let value = conversationProperties.value(named: name) { return value }
            guard case .open = phase else { return nil }
            return engine?.transport.property(named: name)
        }
    }

    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        try engine?.transport.setProperty(value, named: name) ?? false
    }

    // MARK: The open transport, for callers without the engine

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        guard let engine else { throw .closed }
        return try engine.tryRead(into: &buffer)
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        guard let engine else { throw .closed }
        return try engine.tryWrite(bytes)
    }

    func peek() throws(StreamError) -> Attempt {
        guard let engine else { throw .closed }
        return try engine.transport.peek()
    }

    func writability() throws(StreamError) -> Attempt {
        guard let engine else { throw .closed }
        return try engine.transport.writability()
    }
}

extension ProxiedOpening.State {
    /// Adds the steps of the current attempt's connection to the report, once.
    mutating func reportConnection() {
        guard let connection, let began = connectionBegan.take() else { return }
        recorder.join(connection.report.steps, begun: began)
    }

    /// Removes the current attempt's connection, and adds its steps to the report.
    mutating func takeConnection() -> Connection? {
        reportConnection()
        return connection.take()
    }
}
