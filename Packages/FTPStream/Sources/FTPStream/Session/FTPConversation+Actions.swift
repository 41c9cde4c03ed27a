internal import StreamKit

/// Doing what the machine wants.
extension FTPConversation {
    /// Does what the machine wants; nil to go on.
    mutating func perform(_ action: FTPMachine.Action) throws(StreamError) -> Progress? {
        guard let control else { throw .closed }
        switch action {
        case .send(let command):
            control.outgoing = command.bytes
            control.sent = 0
            startClock()
            phase = .talking(.awaitReply)
        case .awaitReply:
            if let interest = try receiveReply(control) { return .blocked(interest) }
        case .startTLS:
            guard control.parser.isEmpty, control.received.isEmpty, !control.pair.input.hasBytesAvailable else {
                throw StreamError(.injected)
            }
            var configuration = control.key.configuration
            configuration.sessionGroup = control.sessionGroup
            configuration.returnsToPlain = control.key.login.clearsControl
            let secured = try StreamPair(
                securing: control.pair, with: configuration, peerName: control.key.proxy?.host ?? control.key.host,
                port: control.key.port)
            try secured.open()
            control.plain = control.pair
            control.pair = secured
            try go { (machine) throws(FTPError) in try machine.didStartTLS() }
        case .endTLS:
            // What the server said in TLS behind its answer is no reply to a command in plain.
            guard control.parser.isEmpty, control.received.isEmpty else { throw StreamError(.endlessTLS) }
            if try !control.pair.output.tryFinish() { return blocked(.writable, control.pair) }
            var rest = [UInt8](repeating: 0, count: 64)
            guard let count = try control.pair.input.tryRead(into: &rest) else {
                return blocked(.readable, control.pair)
            }
            guard count == 0 else { throw StreamError(.endlessTLS) }
            if control.plain == nil { control.plain = control.pair }
            control.clearedTLS = control.pair[.tlsInformation]
            control.pair = try StreamPair(afterTLSOf: control.pair)
            try go { (machine) throws(FTPError) in machine.didEndTLS() }
        case .connect(let port):
            let pair = try control.dataPair(to: port, settings.properties, loop: loop)
            data = pair
            try pair.open()
            try go { (machine) throws(FTPError) in try machine.didConnect() }
        case .listen:
            guard !control.isProxied else { throw StreamError(.activeThroughProxy) }
            guard let own = control.pair[.localAddress] ?? control.plain?[.localAddress], let ip = own.ipAddress else {
                throw StreamError(.connectionLost(before: "reply to the setup of the transfer"))
            }
            let socket = try Socket(listeningAt: .ip(ip, port: 0), backlog: 1, loop: loop)
            listener = socket
            guard let address = socket.localAddress else { throw .closed }
            try go { (machine) throws(FTPError) in try machine.didListen(at: address) }
        case .transfer:
            noteFacts()
            if data == nil, let interest = try accept(control) { return .blocked(interest) }
            stopClock()
            startSigns()
            phase = .transferring
        case .ready:
            noteFacts()
            if hasBegunJob {
                release()
            } else {
                control.machine.forgetReply()
                try beginJob(control)
            }
        }
        return nil
    }

    mutating func go(
        _ event: (inout FTPMachine) throws(FTPError) -> FTPMachine.Action
    ) throws(StreamError) {
        guard let control else { throw .closed }
        phase = .talking(try Self.converting { () throws(FTPError) in try event(&control.machine) })
    }

    mutating func blocked(_ interest: Interest, _ pair: StreamPair) -> Progress {
        place = pair.input.waitPoint
        return .blocked(interest)
    }

    /// Waits at the data connection.
    mutating func waitForData(_ half: WaitPoint.Half) {
        if let data { place = half == .reader ? data.input.waitPoint : data.output.waitPoint }
    }
}
