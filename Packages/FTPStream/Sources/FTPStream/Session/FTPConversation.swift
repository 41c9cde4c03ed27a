internal import StreamKit

/// One job over a session: from connecting to the server's last word.
///
/// Theory of operation. Every member takes one or more steps and never waits; `Interest` says what to wait for, at ``place``.
/// ``FTPMachine`` decides; this carries bytes between it and the two connections. A failure of the data connection is told only
/// after the server was asked why: its reply is the better reason.
struct FTPConversation: Sendable {
    /// How far ``advance()`` came.
    enum Progress: Sendable {
        /// Wait for this at ``FTPConversation/place``.
        case blocked(Interest)
        /// The data connection is there, or on its way: move the data, then call ``FTPConversation/finishTransfer(_:)``.
        case transferring
        /// The job is done.
        case done
    }

    private enum Phase: Sendable {
        case idle
        case talking(FTPMachine.Action)
        case transferring
        /// The data connection failed with this, and the server's word is awaited.
        case failing(StreamError)
        case done
    }

    let location: FTPLocation
    let job: FTPJob
    let settings: FTPSettings
    let loop: EventLoop
    private let key: FTPSessionKey
    private var phase = Phase.idle
    private var mustBeNew = false

    /// Where to wait.
    private(set) var place: WaitPoint {
        didSet { alarm.place.withLock { $0 = place } }
    }
    private let alarm: FTPAlarm
    private(set) var control: FTPControl?
    private(set) var data: StreamPair?
    /// The data connection of an upload over TLS that has said its farewell.
    private var lingering: FTPFarewell?
    private var listener: Socket?
    /// When the server must have answered.
    private var deadline: (Moment, LoopTimer)?
    /// The job itself has begun: what came before was the log-in.
    private var hasBegunJob = false
    private(set) var report = ConnectionReport()
    private(set) var tlsInformation: TLSInformation?
    private(set) var dataTLSInformation: TLSInformation?
    private(set) var resourceSize: UInt64?
    private(set) var lastReply: FTPReply?

    init(
        _ location: FTPLocation, _ job: FTPJob, _ settings: FTPSettings, loop: EventLoop
    ) throws(StreamError) {
        self.location = location
        self.job = job
        self.settings = settings
        self.loop = loop
        place = WaitPoint(loop: loop)
        alarm = FTPAlarm(place)
        key = try Self.converting { () throws(FTPError) in try settings.key(for: location, loop: loop) }
    }

    var pool: FTPSessionPool { settings.pool ?? .shared }

    var isDone: Bool { if case .done = phase { true } else { false } }

    /// Goes on until data can be moved, the job is done, or something must be waited for.
    mutating func advance() throws(StreamError) -> Progress {
        while true {
            do throws(StreamError) {
                if isLate {
                    if case .failing(let error) = phase { throw error }
                    // A data connection that did not come about is why the server says nothing.
                    throw data?.input.error ?? StreamError(.timedOut(control?.machine.activity ?? "connecting"))
                }
                switch phase {
                case .idle: try beginSession()
                case .talking(let action):
                    guard let progress = try perform(action) else { continue }
                    // The alarm may have rung where we no longer wait.
                    if case .blocked = progress, isLate { continue }
                    return progress
                case .transferring: return .transferring
                case .failing(let error):
                    if let interest = try awaitReason(for: error), !isLate { return .blocked(interest) }
                case .done: return .done
                }
            } catch {
                noteFacts()
                if try !startAgain(after: error) { throw error }
            }
        }
    }

    /// All data has been moved, or the data connection has failed with `error`.
    mutating func finishTransfer(_ error: StreamError? = nil) throws(StreamError) {
        guard case .transferring = phase, let control else { return }
        dataTLSInformation = data?[.tlsInformation]
        if error == nil, case .store = job, dataTLSInformation != nil {
            lingering = data.map { FTPFarewell($0, loop: loop) }
        } else {
            data?.close()
        }
        data = nil
        let action = control.machine.didTransfer()
        phase = error.map { .failing($0) } ?? .talking(action)
        if error != nil, action == .ready { throw error ?? .closed }
        startClock()
    }

    /// Says good-bye: a session in the midst of a transfer is asked to abort it, by and by, and then kept.
    mutating func close() {
        stopClock()
        lingering.take()?.end()
        listener?.invalidate()
        let wasTransferring: Bool = if case .transferring = phase { true } else { false }
        data?.close()
        data = nil
        noteFacts()
        guard let control = control.take() else { return }
        phase = .done
        guard wasTransferring, settings.keepsConnection else { return control.close() }
        FTPAbortion.run(control, pool: pool, loop: loop)
    }

    // MARK: Sessions

    private mutating func beginSession() throws(StreamError) {
        if settings.keepsConnection, !mustBeNew, let control = pool.take(key) {
            self.control = control
            try beginJob(control)
        } else {
            var key = key
            let pair = try connect(&key)
            let control = FTPControl(pair.pair, key: self.key, machine: FTPMachine(key.login), group: pair.group)
            self.control = control
            phase = .talking(control.machine.begin())
        }
        startClock()
    }

    private func connect(_ key: inout FTPSessionKey) throws(StreamError) -> (pair: StreamPair, group: String) {
        var properties = settings.properties
        // A control connection rests during transfers, and who is on the way may forget it.
        if properties.value(named: StreamProperty<Bool>.keepsAlive.name) == nil { properties[.keepsAlive] = true }
        properties[.tls] = nil
        let group = FTPControl.group(key)
        if key.login.control == .implicit {
            var configuration = key.configuration
            configuration.sessionGroup = group
            properties[.tls] = configuration
        }
        let pair = StreamPair(
            host: key.proxy?.host ?? key.host, port: key.proxy?.port ?? key.port, properties: properties, loop: loop)
        try pair.open()
        return (pair, group)
    }

    private mutating func beginJob(_ control: FTPControl) throws(StreamError) {
        hasBegunJob = true
        phase = .talking(
            try Self.converting { () throws(FTPError) in try control.machine.begin(job) })
    }

    /// A session that was kept may be dead, which only its use tells: once more on a new one, in silence.
    private mutating func startAgain(after error: StreamError) throws(StreamError) -> Bool {
        let isLost =
            (error.underlying as? FTPError)?.code == .connectionLost || error.domain == .posix && error.code != 110
        if let control, control.isReused, control.machine.lastReply == nil, isLost, !mustBeNew {
            control.close()
            data?.close()
            data = nil
            self.control = nil
            mustBeNew = true
            phase = .idle
            return true
        }
        // A refusal leaves the session in order.
        release()
        return false
    }

    /// Gives the session back, or ends it.
    private mutating func release() {
        stopClock()
        lingering.take()?.end()
        listener?.invalidate()
        listener = nil
        data?.close()
        data = nil
        phase = .done
        guard let control = control.take() else { return }
        if settings.keepsConnection, control.isIdle { pool.put(control) } else { control.close() }
    }

    private mutating func noteFacts() {
        guard let control else { return }
        lastReply = control.machine.lastReply ?? lastReply
        resourceSize = control.machine.resourceSize ?? resourceSize
        tlsInformation = control.pair[.tlsInformation] ?? tlsInformation
        report = control.pair.report.steps.isEmpty ? (control.plain?.report ?? report) : control.pair.report
    }

    // MARK: Actions

    /// Does what the machine wants; nil to go on.
    private mutating func perform(_ action: FTPMachine.Action) throws(StreamError) -> Progress? {
        guard let control else { throw .closed }
        switch action {
        case .send(let command):
            control.outgoing = command.bytes
            control.sent = 0
            phase = .talking(.awaitReply)
        case .awaitReply:
            if let interest = try receiveReply(control) { return .blocked(interest) }
        case .startTLS:
            guard control.parser.isEmpty, control.received.isEmpty, !control.pair.input.hasBytesAvailable else {
                throw StreamError(.injected)
            }
            var configuration = control.key.configuration
            configuration.sessionGroup = control.sessionGroup
            let secured = try StreamPair(
                securing: control.pair, with: configuration, peerName: control.key.proxy?.host ?? control.key.host,
                port: control.key.port)
            try secured.open()
            control.plain = control.pair
            control.pair = secured
            try go { (machine) throws(FTPError) in try machine.didStartTLS() }
        case .endTLS:
            guard let plain = control.plain else { throw .closed }
            if try !control.pair.output.tryFinish() { return blocked(.writable, control.pair) }
            var rest = [UInt8](repeating: 0, count: 64)
            guard let count = try control.pair.input.tryRead(into: &rest) else {
                return blocked(.readable, control.pair)
            }
            guard count == 0 else { throw StreamError(.injected) }
            // The TLS layer stays as the owner of the connection; what it protected now goes through in clear.
            control.plain = control.pair
            control.pair = plain
            try go { (machine) throws(FTPError) in machine.didEndTLS() }
        case .connect(let port):
            let pair = try control.dataPair(to: port, settings.properties, loop: loop)
            data = pair
            try pair.open()
            try go { (machine) throws(FTPError) in try machine.didConnect() }
        case .listen:
            guard let own = control.pair[.localAddress] ?? control.plain?[.localAddress], let ip = own.ipAddress else {
                throw StreamError(.connectionLost("preparing the transfer"))
            }
            let socket = try Socket(listeningAt: .ip(ip, port: 0), backlog: 1, loop: loop)
            listener = socket
            guard let address = socket.localAddress else { throw .closed }
            try go { (machine) throws(FTPError) in try machine.didListen(at: address) }
        case .transfer:
            noteFacts()
            if data == nil, let interest = try accept(control) { return .blocked(interest) }
            stopClock()
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

    private mutating func go(
        _ event: (inout FTPMachine) throws(FTPError) -> FTPMachine.Action
    ) throws(StreamError) {
        guard let control else { throw .closed }
        phase = .talking(try Self.converting { () throws(FTPError) in try event(&control.machine) })
    }

    private mutating func blocked(_ interest: Interest, _ pair: StreamPair) -> Progress {
        place = pair.input.waitPoint
        return .blocked(interest)
    }

    /// Waits at the data connection.
    mutating func waitForData(_ half: WaitPoint.Half) {
        if let data { place = half == .reader ? data.input.waitPoint : data.output.waitPoint }
    }

    // MARK: Replies

    /// Sends what is to be sent and takes a reply; what to wait for, if there is none yet.
    private mutating func receiveReply(_ control: FTPControl) throws(StreamError) -> Interest? {
        let outgoing = control.outgoing
        while control.sent < outgoing.count {
            let rest = outgoing.span.bytes.extracting(droppingFirst: control.sent)
            guard let count = try control.pair.output.tryWrite(rest) else {
                place = control.pair.output.waitPoint
                return [.readable, .writable]
            }
            control.sent += count
        }
        if try !control.pair.output.tryFlush() {
            place = control.pair.output.waitPoint
            return [.readable, .writable]
        }
        while true {
            if !control.received.isEmpty {
                var used = 0
                let reply = try Self.converting { () throws(FTPError) in
                    try control.parser.parse(control.received, used: &used)
                }
                control.received = control.received.dropFirst(used)
                if let reply {
                    startClock()
                    lastReply = reply
                    try go { (machine) throws(FTPError) in try machine.receive(reply) }
                    return nil
                }
            }
            var buffer = [UInt8](repeating: 0, count: 4096)
            guard let count = try control.pair.input.tryRead(into: &buffer) else {
                place = control.pair.input.waitPoint
                return .readable
            }
            guard count > 0 else { throw StreamError(.connectionLost(control.machine.activity)) }
            control.received = buffer[..<count]
        }
    }

    /// The data connection failed: the server's reply says why, if it comes.
    private mutating func awaitReason(for error: StreamError) throws(StreamError) -> Interest? {
        guard let control else { throw error }
        do throws(StreamError) {
            if let interest = try receiveReply(control) { return interest }
        } catch let reason where (reason.underlying as? FTPError)?.code != .refused {
            throw error
        }
        guard case .talking(.ready) = phase else {
            phase = .failing(error)
            return nil
        }
        throw error  // the server was content, and we are not
    }

    // MARK: Data connections

    /// Takes the server's connection; whoever else connects is turned away.
    private mutating func accept(_ control: FTPControl) throws(StreamError) -> Interest? {
        guard let listener else { throw .closed }
        let peer = control.peer
        while true {
            guard let socket = try listener.tryAccept() else {
                place = listener.waitPoint
                return .readable
            }
            guard let other = socket.peerAddress?.ipAddress, other == peer else {
                socket.invalidate()
                continue
            }
            let pair = try socket.makeStreams()
            if let configuration = control.dataConfiguration { try pair.set(.tls, to: configuration) }
            try pair.open()
            data = pair
            listener.invalidate()
            self.listener = nil
            return nil
        }
    }

    // MARK: The clock

    private mutating func startClock() {
        stopClock()
        guard settings.replyLimit > .zero else { return }
        let time = Moment.now + settings.replyLimit
        deadline = (time, loop.schedule(at: time) { [alarm] in alarm.ring() })
    }

    private var isLate: Bool { deadline.map { Moment.now >= $0.0 } ?? false }

    private mutating func stopClock() {
        deadline.take()?.1.cancel()
    }
}
