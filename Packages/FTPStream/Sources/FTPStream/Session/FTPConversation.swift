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

    enum Phase: Sendable {
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
    let key: FTPSessionKey
    var phase = Phase.idle
    var mustBeNew = false

    /// Where to wait.
    var place: WaitPoint {
        didSet { alarm.place.withLock { $0 = place } }
    }
    let alarm: FTPAlarm
    var control: FTPControl?
    var data: StreamPair?
    /// The data connection of an upload over TLS that has said its farewell.
    var lingering: FTPFarewell?
    var listener: Socket?
    /// When the server must have answered.
    var deadline: (Moment, LoopTimer)?
    /// When the next sign of life is due.
    var nextSign: LoopTimer?
    /// The job itself has begun: what came before was the log-in.
    var hasBegunJob = false
    var report = ConnectionReport()
    var tlsInformation: TLSInformation?
    var dataTLSInformation: TLSInformation?
    var resourceSize: UInt64?
    var lastReply: FTPReply?
    /// Performed once the lock of the ``FTPExchange`` has been released.
    var deferred = Deferred<FTPDeferredAction>()
    /// The log of the connections, suspended under that lock; nil without a logger.
    let log: DeferredLog?

    init(
        _ location: FTPLocation, _ job: FTPJob, _ settings: FTPSettings, loop: EventLoop,
        signal: @escaping @Sendable () -> Void
    ) throws(StreamError) {
        self.location = location
        self.job = job
        log = DeferredLog(settings.properties)
        var settings = settings
        log?.install(in: &settings.properties)
        self.settings = settings
        self.loop = loop
        place = WaitPoint(loop: loop)
        alarm = FTPAlarm(place, signal: signal)
        key = try Self.converting { () throws(FTPError) in try settings.key(for: location, loop: loop) }
    }

    var pool: FTPSessionPool { settings.pool ?? .shared }

    var isDone: Bool { if case .done = phase { true } else { false } }

    /// The reply that is due, for messages; nil before the control connection is open.
    private var awaitedReply: String? {
        guard let control, control.pair.input.status != .opening else { return nil }
        return control.machine.awaitedReply
    }

    /// Goes on until data can be moved, the job is done, or something must be waited for.
    mutating func advance() throws(StreamError) -> Progress {
        while true {
            do throws(StreamError) {
                if isLate {
                    if case .failing(let error) = phase { throw error }
                    // A data connection that did not come about is why the server says nothing.
                    throw data?.input.error
                        ?? StreamError(.timedOut(awaiting: awaitedReply, after: settings.replyLimit))
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
            data = nil
        } else {
            closeData()
        }
        stopSigns()
        let action = control.machine.didTransfer()
        phase = error.map { .failing($0) } ?? .talking(action)
        if error != nil, action == .ready { throw error ?? .closed }
        startClock()
    }

    /// Says good-bye: a session in the midst of a transfer is asked to abort it, by and by, and then kept.
    mutating func close() {
        stopClock()
        stopSigns()
        let wasTransferring: Bool = if case .transferring = phase { true } else { false }
        closeData()
        noteFacts()
        detachWaiters()
        guard let control = control.take() else { return }
        phase = .done
        guard wasTransferring, settings.keepsConnection else { return deferred.add(.end(control)) }
        deferred.add(.recover(control, isAborting: true, pool, loop))
    }

    /// Closes the data connection and the socket that waits for one.
    mutating func closeData() {
        if let lingering = lingering.take() { deferred.add(.stopLingering(lingering)) }
        if let listener = listener.take() { deferred.add(.invalidate(listener)) }
        if let data = data.take() { deferred.add(.close(data)) }
    }
}

/// What a conversation has to close, to give back and to signal: performed without the lock of the ``FTPExchange``, since each of these
/// may run code that takes the lock.
enum FTPDeferredAction: Sendable {
    /// Signals these points: their waiters have to look again.
    case signal([WaitPoint])
    /// Closes a data connection.
    case close(StreamPair)
    /// Closes a socket that waits for the data connection, or a data connection from another host.
    case invalidate(Socket)
    /// Ends the wait for the rest of what the server sends on a data connection.
    case stopLingering(FTPFarewell)
    /// Ends a session.
    case end(FTPControl)
    /// Gives a session to a pool.
    case keep(FTPControl, FTPSessionPool)
    /// Waits for the replies that a session still owes, then gives it to a pool.
    case recover(FTPControl, isAborting: Bool, FTPSessionPool, EventLoop)

    func perform() {
        switch self {
        case .signal(let points): for point in points { point.signal([.readable, .writable]) }
        case .close(let pair): pair.close()
        case .invalidate(let socket): socket.invalidate()
        case .stopLingering(let farewell): farewell.end()
        case .end(let control): control.close()
        case .keep(let control, let pool): pool.put(control)
        case .recover(let control, let isAborting, let pool, let loop):
            FTPRecovery.run(control, isAborting: isAborting, pool: pool, loop: loop)
        }
    }
}
