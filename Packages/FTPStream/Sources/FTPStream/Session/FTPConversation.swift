@_spi(Packages) internal import StreamKit

/// One job over a session, from connecting to the final reply.
///
/// Theory of operation. Every member takes one or more steps and never waits; a returned `Interest` means that ``block`` says where to
/// wait, until one of these is ready or the conversation calls `wake`. ``FTPMachine`` decides; the conversation performs its actions on
/// the control and data connections. A failure of the data connection is reported only after the server had the time to state the
/// cause.
///
/// Every wait ends with the first fact that decides it:
///
/// | the wait for | is ended by |
/// |---|---|
/// | the control connection | its opening, its failure, ``FTPOptions/replyTimeout``; on `ftps`, silence begins TLS |
/// | a reply | the reply, the end of the control connection, ``FTPOptions/replyTimeout`` |
/// | the reply to the command of a transfer | the same, and a failed TLS handshake of the data connection |
/// | a data connection to the server | its opening, its failure, a reply or the end of the control connection, ``FTPOptions/replyTimeout``; earlier if PASV is left to try |
/// | a data connection from the server | the connection, a refusal or the end of the control connection, ``FTPOptions/replyTimeout`` |
/// | data that the server has confirmed already | its first byte or end, ``FTPTimeLimits/confirmedData`` |
/// | data, or room for data | the bytes, the end or failure of the data connection, a refusal or the end of the control connection |
/// | the cause of a failed data connection | a reply, the end of the control connection, ``FTPTimeLimits/cause`` |
/// | an aborted session to be in step (``FTPRecovery``) | the reply to PWD, the end of the control connection, ``FTPTimeLimits/recovery`` |
/// | the end of an idle session (``FTPQuit``) | a reply, the end of the control connection, ``FTPTimeLimits/quit`` |
struct FTPConversation: Sendable {
    /// The result of ``advance()``.
    enum Progress: Sendable {
        /// Wait at ``FTPConversation/block``.
        case blocked(Interest)
        /// The data connection is open or opening: transfer the data, then call ``FTPConversation/finishTransfer(_:)``.
        case transferring
        /// The job is complete.
        case done
    }

    private enum Phase: Sendable {
        case idle
        /// The action of the machine to perform next.
        case performing(FTPMachine.Action)
        /// The data connection to the server is being opened.
        case connecting(StreamPair)
        case transferring
        /// The data connection failed with this error, and the server's reply is awaited.
        case failing(StreamError)
        /// The server has refused the transfer while data was awaited, or has ended the session.
        case refused(StreamError)
        case done
    }

    private let job: FTPJob
    private let options: FTPOptions
    private let loop: EventLoop
    private let key: FTPSessionKey
    private var phase = Phase.idle
    private var choice: FTPSessionChoice

    /// Where to wait, if the last step was blocked. None of these points is waited at when the conversation gives up a connection: see
    /// ``FTPTransport``.
    private(set) var block: [WaitPoint.Readiness] = []
    private(set) var timers: FTPTimers
    private(set) var control: FTPControl?
    private(set) var dataConnection = FTPDataConnection()
    /// The bytes of a download that a check for bytes has received.
    var ahead = ReadAhead()
    /// The number of bytes that a download has received.
    var receivedCount: UInt64 = 0
    /// Why the first way to a data connection failed, while the second is tried.
    private var firstFailure: StreamError?

    private(set) var report = ConnectionReport()
    private(set) var tlsInformation: TLSInformation?
    private(set) var dataTLSInformation: TLSInformation?
    private(set) var resourceSize: UInt64?
    private(set) var lastReply: FTPReply?

    /// Performed after the lock of the ``FTPTransport`` has been released.
    var deferred = Deferred<FTPDeferredAction>()
    /// The log of the connections, suspended under that lock; nil without a logger.
    let log: DeferredLog?

    /// - Parameters:
    ///   - wake: called when a time limit has passed, without a lock.
    ///   - onKeepAlive: called when ``sendKeepAlive()`` is due; released by ``close()``.
    init(
        _ location: FTPLocation, _ job: FTPJob, _ options: FTPOptions, loop: EventLoop,
        wake: @escaping @Sendable () -> Void = {},
        onKeepAlive: @escaping @Sendable () -> Void
    ) throws(StreamError) {
        self.job = job
        log = DeferredLog(options.connection)
        var options = options
        log?.install(in: &options.connection)
        self.options = options
        self.loop = loop
        timers = FTPTimers(options, loop: loop, wake: wake, onKeepAlive: onKeepAlive)
        key = try StreamError.converting { () throws(FTPError) in try FTPSessionKey(options, at: location, loop: loop) }
        choice = FTPSessionChoice(options, at: location, key.login.control)
    }

    private var pool: FTPSessionPool { options.pool }

    var data: StreamPair? { dataConnection.pair }

    /// The data connection while bytes are transferred and nothing else is due: ``advance()`` would do nothing, and a read or
    /// write would defer nothing.
    var undisturbedData: StreamPair? {
        guard case .transferring = phase, timers.areStopped, log == nil, ahead.isEmpty else { return nil }
        return data
    }

    var isDone: Bool { if case .done = phase { true } else { false } }

    /// The outstanding reply, for messages; nil before the control connection is open.
    private var awaitedReply: String? {
        guard let control, control.pair.input.status != .opening else { return nil }
        return control.machine.awaitedReply
    }

    /// Proceeds until data can be transferred, the job is complete, or it must wait.
    mutating func advance() throws(StreamError) -> Progress {
        while true {
            do throws(StreamError) {
                try endSilence()
                switch phase {
                case .idle: try beginSession()
                case .performing(let action):
                    if timers.haveEnded { throw timeout }
                    guard let progress = try perform(action) else { continue }
                    // A timer may have called `wake` before there was anything to wait for.
                    if case .blocked = progress, timers.haveEnded { continue }
                    return progress
                case .connecting(let pair):
                    if let interest = try connect(pair), !timers.haveEnded { return .blocked(interest) }
                case .transferring:
                    if receivedCount > 0 { timers.stop() }
                    return .transferring
                case .failing(let error):
                    if timers.haveEnded { throw error }
                    if let interest = try awaitCause(of: error), !timers.haveEnded { return .blocked(interest) }
                case .refused(let error): throw error
                case .done: return .done
                }
            } catch {
                updateInformation()
                // A server without the second way refuses it, or is silent: the first failure is the reason.
                let isWithoutSecondWay = [.refused, .timedOut].contains((error.underlying as? FTPError)?.code)
                if !retryOnNewSession(after: error) { throw isWithoutSecondWay ? firstFailure ?? error : error }
            }
        }
    }

    /// Ends the transfer: all data was transferred, or the data connection failed with `error`.
    mutating func finishTransfer(_ error: StreamError? = nil) throws(StreamError) {
        guard case .transferring = phase, control != nil else { return }
        dataTLSInformation = data?[.tlsInformation]
        if error == nil, case .store = job, dataTLSInformation != nil {
            dataConnection.linger(loop: loop)
        } else {
            closeData()
        }
        timers.stopKeepAlive()
        let count = isDownload ? receivedCount : nil
        try advanceMachine { (machine) throws(FTPError) in try machine.didTransfer(error == nil ? count : nil) }
        guard let error else { return timers.startCommand() }
        // The server has confirmed the transfer before: no further reply gives the reason.
        if case .performing(.ready) = phase { throw error }
        beginFailing(error)
    }

    private var isDownload: Bool { if case .retrieve = job { true } else { false } }

    /// Begins to wait for the reason why the data connection failed.
    private mutating func beginFailing(_ error: StreamError) {
        phase = .failing(error)
        timers.startCommand(within: FTPTimeLimits.cause)
    }

    /// Handles what the server says while data is awaited, but nothing can be transferred now.
    ///
    /// - Returns: Whether that decides: ``advance()`` then throws the server's refusal, or an error if the control connection has ended
    ///   before the server confirmed the transfer; or the job is over without data.
    mutating func heedControl() -> Bool {
        guard let control else { return false }
        do throws(StreamError) {
            while !control.machine.hasConfirmed, !control.isSilent, let reply = try control.tryReceive() {
                lastReply = reply
                let action = try StreamError.converting { () throws(FTPError) in
                    try control.machine.receiveDuringTransfer(reply)
                }
                if let action {
                    phase = .performing(action)
                    return true
                }
                limitConfirmedData()
            }
            guard control.machine.hasConfirmed, timers.haveEnded else { return false }
            throw timeout
        } catch {
            phase = .refused(error)
            return true
        }
    }

    /// Limits the wait for a data connection that carries nothing although the server has confirmed the transfer: it may never have
    /// looked at the connection. An upload needs nothing of the server.
    private mutating func limitConfirmedData() {
        let isUpload = if case .store = job { data != nil } else { false }
        guard control?.machine.hasConfirmed == true, receivedCount == 0, !isUpload else { return }
        timers.startCommand(within: options.confirmedDataTimeout)
    }

    /// The error of a time limit that has passed.
    private var timeout: StreamError {
        control?.machine.hasConfirmed == true
            ? StreamError(.unserved(for: options.confirmedDataTimeout))
            : StreamError(.timedOut(awaiting: awaitedReply, after: options.replyTimeout))
    }

    /// Whether the server has said nothing that ``heedControl()`` must handle.
    var hasNoReplyToRead: Bool { control.map { $0.machine.hasConfirmed || $0.isSilent } ?? true }

    /// Ends the conversation. A transfer that is running is aborted in the background, and its session is kept.
    mutating func close() {
        timers.end()
        let wasTransferring: Bool = if case .transferring = phase { true } else { false }
        closeData()
        updateInformation()
        block = []
        guard let control = control.take() else { return }
        phase = .done
        guard wasTransferring, options.keepsConnection else { return deferred.add(.end(control)) }
        deferred.add(.recover(control, isAborting: true, pool, loop))
    }

    /// Closes the data connection and the socket that listens for one.
    private mutating func closeData() { dataConnection.close(&deferred) }

    /// Notes that the conversation is blocked at the data connection, and by what the server says meanwhile.
    mutating func waitForData(_ half: WaitPoint.Half) {
        guard let data, let control else { return }
        switch half {
        case .reader: block = [.init(data.input.waitPoint, .reader, for: .readable)]
        case .writer: block = [.init(data.output.waitPoint, .reader, for: .writable)]
        }
        if !control.machine.hasConfirmed { block.append(control.replyReadiness) }
    }

    // MARK: Sessions

    private mutating func beginSession() throws(StreamError) {
        if options.keepsConnection, choice.mayReuse,
            let control = pool.take(key, dispose: { deferred.add(.end($0)) })
        {
            self.control = control
            try beginJob(control)
        } else {
            let control = try FTPControl(connectingFor: key, options.connection, loop: loop)
            self.control = control
            phase = .performing(control.machine.begin())
        }
        timers.startCommand()
        // After the limit of the command, which stops all others.
        if choice.silenceMayMeanTLS, control?.machine.awaitsPlainGreeting == true { timers.startSilence() }
    }

    /// Begins TLS on a connection whose server has not sent its greeting in time: it expects TLS from the first byte, as on
    /// port 990, and waits.
    private mutating func endSilence() throws(StreamError) {
        guard timers.endSilence(), let control, control.machine.awaitsPlainGreeting, !timers.haveEnded else { return }
        // The connection may not be open yet.
        guard control.pair.input.status == .open else { return timers.startSilence() }
        guard control.isSilent else { return }
        control.machine.beginsWithTLS()
        try control.startTLS()
    }

    private mutating func beginJob(_ control: FTPControl) throws(StreamError) {
        phase = .performing(
            try StreamError.converting { () throws(FTPError) in
                try control.machine.begin(job, isIPv6: control.isIPv6)
            })
    }

    /// Repeats the job on a new session, or releases the session. Returns whether the job is repeated.
    private mutating func retryOnNewSession(after error: StreamError) -> Bool {
        guard let control, choice.beginsAgain(after: error, of: control.machine, isReused: control.isReused) else {
            release()  // it remains usable after a refusal
            return false
        }
        deferred.add(.end(control))
        closeData()
        self.control = nil
        phase = .idle
        return true
    }

    /// Returns the session to the pool, or ends it.
    private mutating func release() {
        timers.stop()
        timers.stopKeepAlive()
        closeData()
        phase = .done
        block = []
        guard let control = control.take() else { return }
        if options.keepsConnection, control.isIdle {
            deferred.add(.keep(control, pool))
        } else if options.keepsConnection, control.machine.isUsable, control.machine.unansweredKeepAlives > 0 {
            deferred.add(.recover(control, isAborting: false, pool, loop))
        } else {
            deferred.add(.end(control))
        }
    }

    private mutating func updateInformation() {
        guard let control else { return }
        lastReply = control.machine.lastReply ?? lastReply
        resourceSize = control.machine.resourceSize ?? resourceSize
        tlsInformation = control.pair[.tlsInformation] ?? control.clearedTLS ?? tlsInformation
        report = control.pair.report.steps.isEmpty ? (control.lower?.report ?? report) : control.pair.report
    }

    // MARK: Actions of the machine

    /// Performs an action.
    ///
    /// - Returns: Why it must wait; nil to continue.
    private mutating func perform(_ action: FTPMachine.Action) throws(StreamError) -> Progress? {
        guard let control else { throw .closed }
        switch action {
        case .send(let command):
            control.setOutgoing(command)
            timers.startCommand()
            phase = .performing(.awaitReply)
        case .awaitReply:
            if let interest = try receiveReply(control) { return .blocked(interest) }
        case .startTLS:
            try control.startTLS()
            try advanceMachine { (machine) throws(FTPError) in try machine.didStartTLS() }
        case .endTLS:
            if let interest = try control.tryEndTLS() {
                block = [.init(control.pair.input.waitPoint, .reader, for: interest)]
                return .blocked(interest)
            }
            try advanceMachine { (machine) throws(FTPError) in machine.didEndTLS() }
        case .connect(let port):
            closeData()  // that of a command which was refused
            let pair = try control.dataPair(to: port, options.connection, loop: loop)
            dataConnection.use(pair)
            phase = .connecting(pair)
            timers.startCommand(within: control.machine.hasSecondWay ? options.extendedPassiveTimeout : nil)
            do throws(StreamError) { try pair.open() } catch { try failToConnect(error) }
        case .listen:
            guard !control.isProxied else { throw StreamError(.activeThroughProxy) }
            guard let ip = control.localAddress else {
                throw StreamError(.connectionLost(before: "reply to the setup of the transfer"))
            }
            closeData()
            let address = try dataConnection.listen(at: ip, loop: loop)
            try advanceMachine { (machine) throws(FTPError) in try machine.didListen(at: address) }
        case .transfer:
            updateInformation()
            if data == nil, let readiness = try dataConnection.accept(of: control, &deferred) {
                if heedControl() { return nil }
                block = [readiness]
                if !control.machine.hasConfirmed { block.append(control.replyReadiness) }
                return .blocked(readiness.interest)
            }
            if !control.machine.hasConfirmed { timers.stop() }
            timers.startKeepAlive()
            phase = .transferring
        case .ready:
            updateInformation()
            if control.machine.isInLogin {
                control.machine.forgetLoginReply()
                try beginJob(control)
            } else {
                release()
            }
        }
        return nil
    }

    /// Continues when the data connection to the server is open.
    ///
    /// - Returns: What to wait for; nil to continue.
    private mutating func connect(_ pair: StreamPair) throws(StreamError) -> Interest? {
        guard let control else { throw .closed }
        switch pair.input.status {
        case .opening, .notOpen:
            if timers.haveEnded {
                let limit = control.machine.hasSecondWay ? options.extendedPassiveTimeout : options.replyTimeout
                try failToConnect(StreamError(.dataTimedOut(after: limit)))
            } else if let reply = try control.tryReceive() {
                lastReply = reply
                try advanceMachine { (machine) throws(FTPError) in try machine.receive(reply) }
                // The reply to a NOOP of the transfer before.
                if case .performing(.awaitReply) = phase { phase = .connecting(pair) }
            } else {
                block = [.init(pair.input.waitPoint, .reader, for: [.readable, .writable]), control.replyReadiness]
                return [.readable, .writable]
            }
        case .error, .closed: try failToConnect(pair.input.error ?? .closed)
        case .open, .reading, .writing, .atEnd:
            firstFailure = nil
            dataConnection.use(try control.secured(pair))
            try advanceMachine { (machine) throws(FTPError) in try machine.didConnect() }
        }
        return nil
    }

    /// Takes the second way to a data connection.
    ///
    /// - Throws: `error` if there is none.
    private mutating func failToConnect(_ error: StreamError) throws(StreamError) {
        guard let control else { throw error }
        closeData()
        timers.stop()
        let action = try StreamError.converting { () throws(FTPError) in try control.machine.didFailToConnect() }
        guard let action else { throw error }
        firstFailure = error
        phase = .performing(action)
    }

    /// Reports an event to the machine; its action is performed next.
    private mutating func advanceMachine(
        _ event: (inout FTPMachine) throws(FTPError) -> FTPMachine.Action
    ) throws(StreamError) {
        guard let control else { throw .closed }
        phase = .performing(try StreamError.converting { () throws(FTPError) in try event(&control.machine) })
    }

    /// Sends the outgoing command and receives a reply.
    ///
    /// - Returns: What to wait for; nil if a reply was received.
    private mutating func receiveReply(_ control: FTPControl) throws(StreamError) -> Interest? {
        guard try control.trySend() else {
            block = [.init(control.pair.output.waitPoint, .reader, for: [.readable, .writable])]
            return [.readable, .writable]
        }
        guard let reply = try control.tryReceive() else {
            block = [control.replyReadiness]
            guard let data, data.input.status == .opening || data.input.status == .error else { return .readable }
            // The handshake of the data connection.
            if let error = data.input.error {
                closeData()
                beginFailing(error)
                return nil
            }
            block.append(.init(data.input.waitPoint, .reader, for: [.readable, .writable]))
            return [.readable, .writable]
        }
        lastReply = reply
        try advanceMachine { (machine) throws(FTPError) in try machine.receive(reply) }
        if case .performing(.transfer) = phase {
            if control.machine.hasConfirmed { timers.stop() }
            limitConfirmedData()
        }
        return nil
    }

    /// Waits for the server's reply after the data connection failed with `error`.
    ///
    /// - Returns: What to wait for; nil to continue.
    /// - Throws: The server's refusal; `error` if the server does not refuse the transfer.
    private mutating func awaitCause(of error: StreamError) throws(StreamError) -> Interest? {
        guard let control else { throw error }
        do throws(StreamError) {
            if let interest = try receiveReply(control) { return interest }
        } catch let cause where (cause.underlying as? FTPError)?.code != .refused {
            throw error
        }
        guard case .performing(.ready) = phase else {
            phase = .failing(error)
            return nil
        }
        throw error  // the server confirmed the transfer, although it failed on this side
    }

    /// Sends a NOOP if a transfer is running. Errors are ignored, because they appear at the end of the transfer.
    mutating func sendKeepAlive() {
        guard case .transferring = phase, let control, control.isFullySent else { return }
        timers.stopKeepAlive()
        timers.startKeepAlive()
        guard let command = try? control.machine.keepAlive() else { return }
        control.sendAvailable(command)
    }
}
