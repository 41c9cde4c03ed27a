internal import EventLoops
internal import Glibc
internal import HostResolver
internal import Synchronization

/// The state shared by the two halves of a stream: transport, life cycle, properties, clients.
///
/// Theory of operation. The wait point is the guard. A call enters its half for its duration, so there is one reader
/// and one writer, and the descriptor stays open under them. The status of each half is an atomic that is read once per
/// call. It becomes `open` only after the engine is in its slot, and the engine never changes while an open half is
/// inside. Everything else is behind one lock, and no system call is made under that lock.
final class Connection: Sendable {
    /// How a stream gets its engine: at once or step by step.
    enum Start: Sendable {
        case opened(Engine)
        /// ``Connection/transport`` is open, and is the engine.
        case openedTransport
        case continues(any OpeningWork)
    }

    /// The beginning of opening.
    enum Opener: Sendable {
        case work(@Sendable (Connection) throws(StreamError) -> Start)
        /// ``Connection/transport`` opens itself. Meanwhile its wait point is waited at with this half.
        case transport(waitingAt: StreamHalf)
    }

    // Not copyable, because the compiler copies a copyable value where it is made.
    struct Details: ~Copyable {
        /// The error that ended both halves.
        var error: StreamError?
        /// The error that ended only the writer.
        var writeError: StreamError?
        var properties: StreamProperties
        /// The TLS that opening has put over ``Connection/transport``; it then answers for its properties.
        var securedTransport: (any StreamTransport)?
        /// Exists during opening: the point where callers wait, since the wait point itself then belongs to the
        /// opening.
        var opening: Opening?
        /// The point where callers wait while another thread begins to open the stream, before ``opening`` exists. Made by the first
        /// of them.
        var beginning: WaitPoint?
        private(set) var clients: StreamClients?
        var recorder = ReportRecorder()
        // In the padding after the recorder: size matters for tens of thousands of streams.
        /// True if ``LocalAddressMonitor`` watches this connection.
        var isAddressWatched = false
        var isReaderClosed: Bool
        var isWriterClosed: Bool
        /// True once a layer has taken the connection over: releasing its streams no longer closes it.
        var isTakenOver = false
        /// Released, with everything it holds, when opening begins.
        var opener: Opener?

        init(_ opener: Opener, _ properties: StreamProperties, only half: StreamHalf?) {
            self.opener = opener
            self.properties = properties
            isReaderClosed = half == .writer
            isWriterClosed = half == .reader
        }

        /// The failure that looks like the end of the data to a read.
        var readFailure: StreamError? {
            if let error { return error }
            guard let writeError, writeError.isPOSIX(ECONNRESET) else { return nil }
            return writeError
        }

        /// The steps of opening so far, with those of a connection below that is being opened.
        var report: ConnectionReport {
            guard let attempt = opening?.attempt else { return recorder.report }
            var recorder = recorder
            recorder.join(attempt.connection.report.steps, begun: attempt.start)
            return recorder.report
        }

        /// Ends the wait for the end of opening. Returns the points to signal, outside the lock.
        mutating func takePointsOfOpening() -> (opening: Opening?, beginning: WaitPoint?) {
            (opening.take(), beginning.take())
        }

        /// The clients, which are made if there are none yet.
        mutating func ensureClients() -> StreamClients {
            let clients = clients ?? StreamClients()
            self.clients = clients
            return clients
        }
    }

    let point: WaitPoint
    /// The target, if the connection was made with one.
    let endpoint: Endpoint?
    private let lock = Lock()
    /// Accessed only by ``withDetails(_:)``. Not in a ``Locked``, which would need memory of its own.
    @exclusivity(unchecked) private nonisolated(unsafe) var details: Details
    // Unchecked: written before a half's status becomes `open` (a releasing store) or with both halves entered; read only
    // after that status was seen (an acquiring load) or under the lock. So reads and writes never overlap, and checking
    // for it would be wasted.
    @exclusivity(unchecked) private nonisolated(unsafe) var slot: Engine?
    let reader = HalfState()
    let writer = HalfState()
    /// Set at opening: a short read shows that the source is empty. True only for TCP: a read from a Unix socket may
    /// stop short.
    private let drains = Atomic<Bool>(false)
    /// Set with ``slot``: a value of ``EngineKind``.
    private let engineKind = Atomic<UInt8>(EngineKind.other.rawValue)
    /// The transport that the connection was made over; nil if it makes its own. It answers for its properties from the start.
    let transport: (any StreamTransport)?
    /// Whether calls wait at ``point`` whatever the engine is.
    private let waitsAtPoint: Bool
    private let connectionKind: ConnectionKind
    /// True for a connection that carries another stream's bytes to a proxy.
    private let leadsToProxy: Bool
    private let readerLimit = HalfLimit()
    private let writerLimit = HalfLimit()

    /// - Parameter properties: properties that the kind does not honour make opening fail.
    init(
        _ kind: ConnectionKind, point: WaitPoint, only half: StreamHalf? = nil, to endpoint: Endpoint? = nil,
        _ properties: StreamProperties = StreamProperties(), toProxy leadsToProxy: Bool = false,
        over transport: (any StreamTransport)? = nil, waitsAtPoint: Bool = false, opener: consuming Opener
    ) {
        connectionKind = kind
        self.transport = transport
        self.leadsToProxy = leadsToProxy
        self.waitsAtPoint = waitsAtPoint
        self.point = point
        self.endpoint = endpoint
        if !properties.isEmpty, let refusal = kind.kind(over: nil).refusal(of: properties) {
            opener = .work { (_) throws(StreamError) in throw refusal }
        }
        details = Details(opener, properties, only: half)
        if let half, case let other = half == .reader ? StreamHalf.writer : .reader {
            setStatus(.closed, other)
            if !point.isClosed(other) { point.close(other) }
        }
    }

    /// Runs `body` with the state behind the lock.
    @inline(__always)
    func withDetails<Result: ~Copyable, Failure: Error>(
        _ body: (inout Details) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try lock.withLock { () throws(Failure) in try body(&details) }
    }

    /// The kind of the stream.
    var streamKind: StreamKind { connectionKind.kind(over: withDetails { $0.securedTransport } ?? transport) }

    /// The engine; nil until open. Read it only when the half's status is open, or under the lock.
    @inline(__always)
    var engine: Engine? { hasBareTransport ? transport.map { .layer($0) } : slot }

    /// Whether there is an ``engine``. Comparing it with nil would copy it.
    private var hasEngine: Bool {
        if hasBareTransport { true } else if case nil = slot { false } else { true }
    }

    /// Whether the engine is the socket of ``point``. Calls then use the socket directly, without a reference to the
    /// engine. Read it only when the half's status is open.
    @inline(__always)
    var hasSocket: Bool { engineKind.load(ordering: .relaxed) == EngineKind.socket.rawValue }

    /// Whether the engine is ``transport``, with nothing on top. Calls then use it directly. Read it only when the half's status is
    /// open.
    @inline(__always)
    var hasBareTransport: Bool { engineKind.load(ordering: .relaxed) == EngineKind.bareTransport.rawValue }

    /// The kinds of engines. Calls use the first two without a reference to ``engine``: these are constants of the connection.
    private enum EngineKind: UInt8 {
        case socket, bareTransport, other
    }

    @inline(__always)
    func isOpen(_ half: StreamHalf) -> Bool {
        half == .reader ? reader.isOpen : writer.isOpen
    }

    /// Whether closing a half has begun: it sets the status before it closes the transport, and the point afterwards.
    func isClosing(_ half: StreamHalf) -> Bool {
        has(.closed, half) || point.isClosed(half)
    }

    /// Whether a half is open, and no other connection has closed it: after `StreamPair(afterTLSOf:)`, two share the point.
    func isUsable(_ half: StreamHalf) -> Bool {
        isOpen(half) && !point.isClosed(half)
    }

    /// The status, disregarding transfers in progress.
    func settledStatus(_ half: StreamHalf) -> StreamStatus {
        half == .reader ? reader.status : writer.status
    }

    @inline(__always)
    private func has(_ status: StreamStatus, _ half: StreamHalf) -> Bool {
        half == .reader ? reader.has(status) : writer.has(status)
    }

    private func setStatus(_ status: StreamStatus, _ half: StreamHalf) {
        if half == .reader { reader.status = status } else { writer.status = status }
    }

    /// True if the half's transfers have a time limit.
    @inline(__always)
    func hasLimit(_ half: StreamHalf) -> Bool {
        half == .reader ? readerLimit.hasLimit : writerLimit.hasLimit
    }

    func setLimit(_ limit: Duration?, _ half: StreamHalf) {
        if half == .reader { readerLimit.limit = limit } else { writerLimit.limit = limit }
    }

    func status(_ half: StreamHalf) -> StreamStatus {
        let status = settledStatus(half)
        switch status {
        // After `StreamPair(afterTLSOf:)`, two connections share the point, and the other one may have closed it.
        case .open, .atEnd: if point.isClosed(half) { return .closed }
        case .notOpen, .opening, .reading, .writing, .closed, .error: break
        }
        guard status == .open, point.isInside(half) else { return status }
        return half == .reader ? .reading : .writing
    }
}

// MARK: - Opening and closing

extension Connection {
    /// Begins to open a half. The first half to open starts the work for both.
    func open(_ half: StreamHalf) throws(StreamError) {
        let pending = try withDetails { (details) throws(StreamError) -> PendingOpen? in
            switch status(half) {
            case .notOpen: break
            case .closed: throw .closed
            default: throw .alreadyOpened
            }
            if hasEngine {
                setStatus(details.error == nil ? .open : .error, half)
                return nil
            }
            if details.error != nil {
                // The other half has begun and failed meanwhile; report it as if it had failed a moment later.
                setStatus(.error, half)
                return nil
            }
            setStatus(.opening, half)
            // Nil if the other half has begun the work, even if it was closed since.
            guard let opener = details.opener.take() else { return nil }
            return PendingOpen(opener: opener, hasProperties: !details.properties.isEmpty)
        }
        if let pending { try start(pending) } else { client(half)?.arm() }
    }

    /// The work that the first half to open starts.
    private struct PendingOpen: ~Copyable {
        let opener: Opener
        let hasProperties: Bool
    }

    private func start(_ pending: consuming PendingOpen) throws(StreamError) {
        do throws(StreamError) {
            switch try begin(pending) {
            case .opened(let engine): finishOpening(.success(engine))
            case .openedTransport: open(nil, as: .bareTransport)
            case .continues(let work):
                let opening = Opening(work, of: self)
                let (hasClients, beginning) = withDetails { details in
                    details.opening = opening
                    return (details.clients?.areScheduled ?? false, details.beginning.take())
                }
                // The calls that waited go on at the opening.
                beginning?.signal([.readable, .writable])
                // A client waits for an event of the opening stream; only the loop can go on for it.
                if hasClients { opening.continueOnLoop() } else { opening.begin() }
            }
        } catch {
            finishOpening(.failure(error))
            throw error
        }
    }

    private func begin(_ pending: borrowing PendingOpen) throws(StreamError) -> Start {
        switch pending.opener {
        case .work(let begin): return try begin(self)
        case .transport(let half):
            guard let transport else { throw .closed }
            if pending.hasProperties, let configuration = withDetails({ $0.properties[.tls] }) {
                return .continues(TransportOpening(of: transport, half: half, securedBy: configuration))
            }
            if case .opened = try TransportOpening.tryOpen(transport) { return .openedTransport }
            return .continues(TransportOpening(of: transport, half: half, securedBy: nil))
        }
    }

    /// Ends opening with its result.
    func finishOpening(_ result: Result<Engine, StreamError>) {
        switch result {
        case .success(.layer(let layer)) where layer === transport: open(nil, as: .bareTransport)
        case .success(let engine):
            if case .socket = engine { open(engine, as: .socket) } else { open(engine, as: .other) }
        case .failure(let error):
            let points = withDetails { details in
                if details.error == nil { details.error = error }
                endOpening(with: .error)
                return details.takePointsOfOpening()
            }
            announceOpened(points.opening, points.beginning)
        }
    }

    /// Ends opening with an engine, which is closed instead if both halves have been closed meanwhile.
    ///
    /// - Parameter engine: nil for the bare transport.
    private func open(_ engine: consuming Engine?, as kind: EngineKind) {
        let (points, isUnwanted, isWatched) = withDetails { details in
            let isUnwanted = details.isReaderClosed && details.isWriterClosed
            if !isUnwanted {
                slot = engine
                engineKind.store(kind.rawValue, ordering: .relaxed)
                endOpening(with: .open)
                details.isAddressWatched =
                    !details.properties.isEmpty && details.properties[.failsWhenAddressIsRemoved] == true
            }
            return (details.takePointsOfOpening(), isUnwanted, details.isAddressWatched)
        }
        if isUnwanted { kind == .bareTransport ? transport?.close() : engine?.close() }
        if isWatched { LocalAddressMonitor.shared.add(self) }
        announceOpened(points.opening, points.beginning)
    }

    /// Signals the calls and clients that wait for the end of opening, so that they look again.
    private func announceOpened(_ opening: Opening?, _ beginning: WaitPoint?) {
        beginning?.signal([.readable, .writable])
        if let opening {
            opening.signal([.readable, .writable])
            // A layer above may have read the wait point just before this, or just after.
            engine?.waitPoint.signal([.readable, .writable])
        }
        client(.reader)?.arm()
        client(.writer)?.arm()
    }

    private func endOpening(with status: StreamStatus) {
        if reader.has(.opening) { reader.status = status }
        if writer.has(.opening) { writer.status = status }
    }

    /// Closes a half; closing the second one closes the transport. Idempotent; never waits.
    func close(_ half: StreamHalf) {
        end(half, isRelease: false)
    }

    /// Closes a half whose stream was released, unless a layer has taken the connection over.
    func release(_ half: StreamHalf) {
        end(half, isRelease: true)
    }

    private func end(_ half: StreamHalf, isRelease: Bool) {
        let work = withDetails { details -> CloseWork in
            if isRelease, details.isTakenOver { return CloseWork() }
            let isNew = half == .reader ? !details.isReaderClosed : !details.isWriterClosed
            if half == .reader { details.isReaderClosed = true } else { details.isWriterClosed = true }
            if isNew, !has(.error, half) { setStatus(.closed, half) }
            var work = CloseWork(
                closesHalf: true, isLast: isNew && details.isReaderClosed && details.isWriterClosed,
                hasBegun: details.opener == nil, isAddressWatched: details.isAddressWatched)
            let hasLayers = !hasSocket && !hasBareTransport
            if hasLayers || details.opening != nil || details.beginning != nil || details.clients != nil {
                work.hasClients = details.clients != nil
                work.objects = CloseWork.Objects(
                    layer: hasLayers ? slot : nil, opening: details.opening, beginning: details.beginning,
                    client: details.clients?[half].client.take())
            }
            return work
        }
        guard work.closesHalf else { return }
        work.objects?.client?.invalidate()
        if work.hasClients { withdrawWatcher(half) }
        if work.isLast, work.isAddressWatched { LocalAddressMonitor.shared.remove(self) }
        let layer = work.objects?.layer
        if work.isLast {
            // Sends close_notify while the descriptor is certainly open.
            if hasBareTransport {
                if point.descriptor < 0 { transport?.close() } else { _ = point.whileOpen { transport?.close() } }
            } else if layer != nil {
                _ = point.whileOpen { layer?.close() }
            }
            // A transport that was never opened may still hold layers below it.
            if !work.hasBegun { transport?.close() }
        }
        point.close(half)
        // No call is in progress on a half that is released, since it would hold a reference to the stream.
        if !isRelease {
            let waitPoint = hasBareTransport ? transport?.waitPoint : layer?.waitPoint
            waitPoint?.signal([.readable, .writable])
        }
        work.objects?.beginning?.signal([.readable, .writable])
        guard let opening = work.objects?.opening else { return }
        opening.signal([.readable, .writable])
        if work.isLast { opening.cancel() }
    }

    /// The work that remains, outside the lock, after a half has been closed.
    private struct CloseWork {
        var closesHalf = false
        var isLast = false
        /// Whether opening has begun.
        var hasBegun = false
        var isAddressWatched = false
        var hasClients = false
        /// Nil if there are none, as for most streams.
        var objects: Objects?

        struct Objects {
            /// The engine, unless it is the socket or the bare transport. An engine that is set later needs no work here: it is
            /// refused once both halves are closed, and no call on a closed half waits at it.
            let layer: Engine?
            let opening: Opening?
            let beginning: WaitPoint?
            let client: StreamClient?
        }
    }
}

// MARK: - Failing, ending, waiting

extension Connection {
    /// The failure of a half.
    func error(_ half: StreamHalf) -> StreamError? {
        withDetails { half == .writer ? $0.writeError ?? $0.error : $0.error }
    }

    /// Records a failure of the transport. Both halves have failed then, except after a write to a peer that no longer
    /// reads. Returns the error to throw.
    func fail(_ error: StreamError, _ half: StreamHalf) -> StreamError {
        // The call failed because of our own close.
        if isClosing(half) { return .closed }
        if error == .busy || error == .cancelled { return error }
        if half == .writer, error.isPOSIX(EPIPE) || error.isPOSIX(ECONNRESET) { return failWriter(error) }
        return failBoth(error)
    }

    /// Fails the writer only: the peer no longer reads. Bytes that it sent before can still be read, such as a server's
    /// refusal of a request body (RFC 9112 §9.5).
    private func failWriter(_ error: StreamError) -> StreamError {
        let (kept, change) = withDetails { details -> (StreamError, StatusChange?) in
            if let first = details.error ?? details.writeError { return (first, nil) }
            details.writeError = error
            return (error, enterError([.writer], &details))
        }
        if let change { announce(change) }
        return kept
    }

    /// Fails every half in use and ends the calls that wait on either. Returns the error to throw: the first one that
    /// failed both halves.
    @discardableResult
    func failBoth(_ error: StreamError) -> StreamError {
        let (kept, change) = withDetails { details -> (StreamError, StatusChange?) in
            let kept = details.error ?? error
            details.error = kept
            return (kept, enterError([.reader, .writer], &details))
        }
        guard let change else { return kept }
        // Only a shutdown wakes a thread that waits in a system call.
        if case .socket = change.engine, point.ownership == .owned {
            _ = point.withDescriptor { shutdown($0, CInt(SHUT_RDWR)) }
        }
        announce(change)
        return kept
    }

    /// A change of status to `error`, with the points where calls may be waiting.
    private struct StatusChange {
        let engine: Engine?
        let opening: WaitPoint?
    }

    /// Sets the status of the given halves that are in use to `error`; nil if there are none. The caller must pass the
    /// result to ``announce(_:)`` outside the lock. No other function sets `error` for a half in use.
    private func enterError(_ halves: [StreamHalf], _ details: inout Details) -> StatusChange? {
        var hasChanged = false
        for half in halves where [.open, .opening, .atEnd].contains(settledStatus(half)) {
            setStatus(.error, half)
            hasChanged = true
        }
        return hasChanged ? StatusChange(engine: engine, opening: details.opening ?? details.beginning) : nil
    }

    /// Makes all waiting calls and both clients check the status.
    ///
    /// Invariant: no call waits on a half in error. A wait that begins later finds the latched signal.
    private func announce(_ change: StatusChange) {
        point.signal([.readable, .writable])
        if let waitPoint = change.engine?.waitPoint, waitPoint !== point { waitPoint.signal([.readable, .writable]) }
        change.opening?.signal([.readable, .writable])
        client(.reader)?.arm()
        client(.writer)?.arm()
    }

    var canDrain: Bool { drains.load(ordering: .relaxed) }

    /// Records that the engine is a plain TCP socket.
    func allowDraining() {
        drains.store(true, ordering: .relaxed)
    }

    /// The half to wait on for the connection as a whole.
    var unclosedHalf: StreamHalf { point.isClosed(.reader) ? .writer : .reader }

    /// Records that the transport has reached its end.
    func noteEnd(_ half: StreamHalf) {
        withDetails { _ in
            if settledStatus(half) == .open { setStatus(.atEnd, half) }
        }
    }

    /// The result of a try on a half that is not open.
    func attemptWhileNotOpen(_ half: StreamHalf) throws(StreamError) -> Attempt {
        switch settledStatus(half) {
        case .notOpen: throw .notOpen
        case .opening: return .wouldBlock([.readable, .writable])
        case .atEnd: return .ended
        case .closed: throw .closed
        case .open, .reading, .writing: return .wouldBlock([.readable, .writable])
        case .error: throw error(half) ?? .closed
        }
    }

    /// The point to wait at now; nil if the state has just changed and the caller should try again.
    @inline(__always)
    func pointToWait(_ half: StreamHalf) -> WaitPoint? {
        if isOpen(half) { return hasSocket || waitsAtPoint ? point : engine?.waitPoint }
        return pointOfOpening(half)
    }

    /// The point to wait at for the end of opening; nil if the half is not opening any more.
    func pointOfOpening(_ half: StreamHalf) -> WaitPoint? {
        withDetails { details in
            // Under the lock: the status of a half that is opening changes only here, together with the points.
            guard settledStatus(half) == .opening else { return nil }
            if let opening = details.opening { return opening }
            let beginning = details.beginning ?? WaitPoint(loop: point.loop)
            details.beginning = beginning
            return beginning
        }
    }

    /// The point where a transport on top of this stream waits. Never a point that can no longer be signalled.
    func pointForLayers(_ half: StreamHalf) -> WaitPoint {
        if let waitPoint = pointToWait(half) { return waitPoint }
        point.signal([.readable, .writable])  // the state has just changed: the wait ends at once
        return point
    }

    /// Converts the end of a wait into the next step: returns if the caller should try again.
    func resume(_ wake: Wake, _ half: StreamHalf) throws(StreamError) {
        switch wake {
        case .ready: return
        case .cancelled: throw .cancelled
        case .timedOut: throw .timedOut
        // Otherwise a lower stream was closed, as the next try will report.
        case .closed: if point.isClosed(half) { throw .closed }
        case .busy: throw .busy
        case .failed(let number): throw isClosing(half) ? .closed : StreamError(posix: number)
        }
    }

    /// Begins a call on a half.
    @inline(__always)
    func enter(_ half: StreamHalf) throws(StreamError) {
        switch point.enter(half) {
        case .entered: return
        case .busy: throw .busy
        case .closed: throw settledStatus(half) == .error ? error(half) ?? .closed : .closed
        }
    }

    /// Ends a call on a half and notifies its client.
    @inline(__always)
    func leave(_ half: StreamHalf) {
        point.leave(half)
        if half == .reader ? reader.hasClient : writer.hasClient { didTransfer(half) }
    }

    /// Ends a call that transferred nothing.
    func leaveUntouched(_ half: StreamHalf) {
        point.leave(half)
        client(half)?.arm()
    }

    /// The deadline of a wait that begins now.
    func deadline(_ half: StreamHalf) -> Moment? {
        (half == .reader ? readerLimit.limit : writerLimit.limit).map { .now + $0 }
    }
}

// MARK: - Making connections

extension Connection {
    /// A connection made by `open`.
    convenience init(
        _ kind: ConnectionKind, point: WaitPoint, only half: StreamHalf? = nil, to endpoint: Endpoint? = nil,
        _ properties: StreamProperties = StreamProperties(), toProxy leadsToProxy: Bool = false,
        open: @escaping @Sendable (Connection) throws(StreamError) -> Start
    ) {
        self.init(
            kind, point: point, only: half, to: endpoint, properties, toProxy: leadsToProxy, opener: .work(open))
        if properties.isEmpty { return }
        setLimit(properties[.readTimeout], .reader)
        setLimit(properties[.writeTimeout], .writer)
        if let closes = properties[.closesDescriptor] { point.setOwnership(closes) }
    }

    /// A connection to an endpoint, established when it opens.
    ///
    /// - Parameter leadsToProxy: whether it carries another stream's bytes to a proxy.
    convenience init(
        to endpoint: Endpoint, _ properties: StreamProperties, toProxy leadsToProxy: Bool = false, loop: EventLoop
    ) {
        self.init(endpoint.kind, point: WaitPoint(loop: loop), to: endpoint, properties, toProxy: leadsToProxy) {
            (connection) throws(StreamError) in
            let properties = connection.withDetails { $0.properties }
            if let routes = properties.proxyRoutes {
                return .continues(try ProxiedOpening(to: endpoint, through: routes, properties))
            }
            return .continues(StreamConnector(ConnectPlan(to: endpoint, properties)))
        }
    }

    /// A connection on a descriptor that is already open.
    convenience init(
        adopting descriptor: CInt, as kind: ConnectionKind, ownership: DescriptorOwnership,
        _ properties: StreamProperties = StreamProperties(), loop: EventLoop
    ) {
        let point = WaitPoint(descriptor: descriptor, ownership: ownership, loop: loop)
        self.init(kind, point: point, properties) { (connection) throws(StreamError) in
            guard let kind = Syscalls.socketType(descriptor) else {
                guard fcntl(descriptor, F_GETFD) >= 0 else { throw StreamError(posix: errno) }
                return .opened(.layer(DescriptorTransport(point)))
            }
            guard kind == CInt(SOCK_STREAM.rawValue) else { throw StreamError(posix: EPROTOTYPE, .notAStreamSocket) }
            let properties = connection.withDetails { $0.properties }
            if properties[.tls] != nil {
                return .continues(StreamConnector(securing: ConnectPlan(to: .addresses([], name: nil), properties)))
            }
            if Syscalls.localAddress(descriptor)?.ipAddress != nil { connection.allowDraining() }
            return .opened(.socket(point))
        }
    }

    /// A connection over a user's own transport.
    convenience init(transport: any StreamTransport, only half: StreamHalf?) {
        let kind: ConnectionKind =
            switch half {
            case nil: .transport
            case .reader?: .readTransport
            case .writer?: .writtenTransport
            }
        let point: WaitPoint
        if transport.ownsWaitPoint {
            point = transport.waitPoint
        } else if let half {
            point = WaitPoint(loop: transport.loop, only: half)
        } else {
            point = WaitPoint(loop: transport.loop)
        }
        self.init(
            kind, point: point, only: half, over: transport, waitsAtPoint: transport.ownsWaitPoint,
            opener: .transport(waitingAt: half ?? .reader))
    }
}

// MARK: - As the transport of a layer

/// An open connection is the transport of the layer above it: TLS, or the conversation with a proxy.
///
/// Every call enters and leaves the connection, so that its descriptor cannot be closed or reused during a call.
extension Connection: StreamTransport {
    var waitPoint: WaitPoint { pointForLayers(.reader) }

    var loop: EventLoop { point.loop }

    func peek() throws(StreamError) -> Attempt { try poll(.reader) }

    func writability() throws(StreamError) -> Attempt { try poll(.writer) }

    func close() {
        close(.writer)
        close(.reader)
    }

    /// The kind of the streams of a layer.
    var kind: StreamKind { .layer }

    /// The value of a property. A connection to a proxy returns only the properties of its descriptor: the others
    /// describe the proxy, not the target.
    func property(named name: String) -> (any Sendable)? {
        if leadsToProxy, !Connection.descriptorProperties.contains(name) { return nil }
        return value(named: name)
    }

    /// The descriptor belongs to the connection, so ``StreamProperty/closesDescriptor`` is set here.
    func setProperty(byReference value: borrowing StreamPropertyValue, named name: String) throws(StreamError) -> Bool {
        guard name == StreamProperty<Bool>.closesDescriptor.name else { return false }
        try setValue(value, for: StreamProperty<Bool>.closesDescriptor.key)
        return true
    }

    private static let descriptorProperties: Set<String> = [
        StreamProperty<Int32>.nativeDescriptor.name, StreamProperty<Bool>.closesDescriptor.name,
        StreamProperty<SocketAddress>.localAddress.name, StreamProperty<SocketAddress>.remoteAddress.name,
    ]

    /// Records that a layer uses the connection from now on, so that releasing its streams does not close it.
    func takeOver() {
        withDetails { $0.isTakenOver = true }
    }
}

// MARK: - Clients of events

extension Connection {
    func setClient<Stream: AnyObject & Sendable>(
        _ half: StreamHalf, wanted: StreamEvents, stream: Stream,
        _ client: (@Sendable (Stream, StreamEvent) -> Void)?
    ) {
        let targets = targets(half)
        guard let client, !wanted.isEmpty else { return setClient(nil, half) }
        let new = StreamClient(self, half: half, wanted: wanted) { [weak stream] event in
            if let stream { client(stream, event) }
        }
        setClient(new, half)
        new.schedule(on: targets)
        if status(half) != .notOpen { new.keepAlive(stream) }
    }

    func schedule<Stream: AnyObject & Sendable>(_ half: StreamHalf, on target: any DeliveryTarget, stream: Stream) {
        if point.isClosed(half) { return }
        let isNew = withDetails { details -> Bool in
            let clients = details.ensureClients()
            if clients[half].targets.contains(where: { $0.isSame(as: target) }) { return false }
            clients[half].targets.append(target)
            return true
        }
        guard isNew, let client = client(half) else { return }
        client.schedule(on: [target])
        if status(half) != .notOpen { client.keepAlive(stream) }
    }

    func unschedule(_ half: StreamHalf, from target: any DeliveryTarget) {
        withDetails { $0.clients?[half].targets.removeAll { $0.isSame(as: target) } }
        guard let client = client(half) else { return }
        client.unschedule(from: target)
        withdrawWatcher(half)
    }

    /// Continues an opening in progress on the loop, for a client that waits for its events.
    func continueOpening() {
        opening?.continueOnLoop()
    }

    /// The opening in progress.
    var opening: Opening? { withDetails { $0.opening } }

    @inline(__always)
    func client(_ half: StreamHalf) -> StreamClient? {
        guard half == .reader ? reader.hasClient : writer.hasClient else { return nil }
        return withDetails { $0.clients?[half].client }
    }

    /// Replaces a half's client; nil removes it.
    func setClient(_ client: StreamClient?, _ half: StreamHalf) {
        let unwanted = withDetails { details -> StreamClient? in
            // Closing removes the client under this lock, once; a client set later would never be removed.
            let isClosed = half == .reader ? details.isReaderClosed : details.isWriterClosed
            if isClosed, client != nil { return client }
            let clients = details.ensureClients()
            if half == .reader { reader.hasClient = client != nil } else { writer.hasClient = client != nil }
            return exchange(&clients[half].client, with: client)
        }
        unwanted?.invalidate()
        if client == nil { withdrawWatcher(half) }
    }

    /// Removes the client of a half, unless another one has replaced it.
    func removeClient(_ client: StreamClient, _ half: StreamHalf) {
        let isCurrent = withDetails { details in
            guard let clients = details.clients, clients[half].client === client else { return false }
            clients[half].client = nil
            if half == .reader { reader.hasClient = false } else { writer.hasClient = false }
            return true
        }
        client.invalidate()
        if isCurrent { withdrawWatcher(half) }
    }

    /// The targets where the events of a half are delivered.
    func targets(_ half: StreamHalf) -> [any DeliveryTarget] { withDetails { $0.clients?[half].targets ?? [] } }

    /// Notifies the client that bytes were transferred, so that it may report the next event.
    func didTransfer(_ half: StreamHalf) {
        client(half)?.didTransfer()
    }

    /// The observable state of a half, without waiting.
    func facts(of half: StreamHalf) -> EventMachine.Facts {
        switch settledStatus(half) {
        case .notOpen, .opening, .closed:
            return .init(hasOpened: false, hasFailed: false, readiness: .notYet)
        case .error:
            return .init(hasOpened: engine != nil, hasFailed: true, readiness: .notYet)
        case .atEnd:
            return .init(hasOpened: true, hasFailed: false, readiness: .ended)
        case .open, .reading, .writing:
            break
        }
        do throws(StreamError) {
            switch try look(half) {
            case .moved: return .init(hasOpened: true, hasFailed: false, readiness: .ready)
            case .wouldBlock: return .init(hasOpened: true, hasFailed: false, readiness: .notYet)
            case .ended:
                noteEnd(half)
                return .init(hasOpened: true, hasFailed: false, readiness: .ended)
            }
        } catch {
            // The status decides, not the error: a look fails also because the stream is being closed, or is in use.
            return .init(hasOpened: true, hasFailed: settledStatus(half) == .error, readiness: .notYet)
        }
    }

    /// The result that a try would have now, without transferring anything. For calls and polling.
    ///
    /// Looking may move bytes from the descriptor into a layer such as TLS, so that the loop never sees their edge. A
    /// client that waits for that edge is therefore armed again.
    func poll(_ half: StreamHalf) throws(StreamError) -> Attempt {
        // A call that is inside arms the client when it ends.
        defer { if !point.isInside(half) { client(half)?.arm() } }
        return try look(half)
    }

    /// The result that a try would have now, without transferring anything. For the client.
    private func look(_ half: StreamHalf) throws(StreamError) -> Attempt {
        guard isOpen(half) else { return try attemptWhileNotOpen(half) }
        if hasSocket {
            do throws(StreamError) {
                return try look(half, .socket(point))
            } catch {
                throw fail(error, half)
            }
        }
        guard let engine else { return try attemptWhileNotOpen(half) }
        do throws(StreamError) {
            let attempt = try look(half, engine)
            if case .wouldBlock = attempt { return attempt }
            wakeCall(on: half, engine)
            return attempt
        } catch {
            defer { wakeCall(on: half, engine) }
            throw fail(error, half)
        }
    }

    @inline(__always)
    private func look(_ half: StreamHalf, _ engine: Engine) throws(StreamError) -> Attempt {
        let attempt: Attempt? = try point.whileOpen { () throws(StreamError) -> Attempt in
            half == .reader ? try engine.peek() : try engine.writability()
        }
        guard let attempt else { throw .closed }
        if case .ended = attempt, half == .reader { try verifyReadEnd() }
        return attempt
    }

    /// Wakes a call on this half. Looking moves bytes (or a failure) from the descriptor into a layer such as TLS,
    /// perhaps before the loop has seen them; a call that found nothing just before would then wait forever.
    private func wakeCall(on half: StreamHalf, _ engine: Engine) {
        if point.isInside(half) { engine.waitPoint.signal(half == .reader ? .readable : .writable) }
    }

    /// Arranges a call of ``edgeArrived(_:)`` at the next edge. Nil if that succeeded; `.ready` to look again first;
    /// `.busy` if it was arranged before.
    ///
    /// - Parameter poller: the poller of the thread where the events are delivered.
    func watch(_ half: StreamHalf, by poller: DescriptorPoller?) -> Wake? {
        guard let waitPoint = pointToWait(half) else { return .ready }
        let watcher = withDetails { details -> ClientWatcher in
            let clients = details.ensureClients()
            let watcher = clients[half].watcher ?? ClientWatcher(self, half)
            clients[half].watcher = watcher
            return watcher
        }
        return watcher.park(at: waitPoint, by: poller)
    }

    /// Withdraws the half's watcher from its wait point.
    ///
    /// This also arms the client that is set by then: it may have found the watcher parked just before,
    /// and have relied on it.
    func withdrawWatcher(_ half: StreamHalf) {
        withDetails { $0.clients?[half].watcher }?.remove()
        client(half)?.arm()
    }

    /// Called at an edge. A call inside the half handles it, and arms the client when it ends.
    func edgeArrived(_ half: StreamHalf) {
        if !point.isInside(half) { client(half)?.signalTargets() }
    }
}

// MARK: - Properties, shared by both halves

extension Connection {
    /// The value of a property: the transport's, otherwise the kernel's, otherwise the one that was set. Not generic,
    /// so that it is compiled once.
    func value(named name: String) -> (any Sendable)? {
        // A bare transport remains one, so the lock is not needed.
        let isBare = hasBareTransport
        if isBare, let value = transport?.property(named: name) { return value }
        // The engine is copied only if it is used.
        let (secured, layers) = withDetails {
            ($0.securedTransport, transport == nil && $0.opening == nil ? self.engine : nil)
        }
        if let secured {
            if let value = secured.property(named: name) { return value }
        } else if let transport {
            if !isBare, let value = transport.property(named: name) { return value }
        } else if let value = layers?.property(named: name) {
            return value
        }
        if name == StreamProperty<ConnectionReport>.report.name { return withDetails { $0.report } }
        if point.descriptor >= 0, let value = point.whileOpen({ socketProperty(named: name) }) ?? nil { return value }
        return withDetails { $0.properties.value(named: name) } ?? endpointProperty(named: name)
    }

    /// The descriptor, or that of the connection to a proxy below; nil if there is none.
    var nativeDescriptor: Int32? {
        if point.descriptor >= 0 { return point.descriptor }
        return value(named: StreamProperty<Int32>.nativeDescriptor.name) as? Int32
    }

    var report: ConnectionReport {
        value(named: StreamProperty<ConnectionReport>.report.name) as? ConnectionReport ?? ConnectionReport()
    }

    /// Sets a property. Only properties with access `always` can be set once the stream has been opened.
    ///
    /// - Throws: if neither the kind nor the transport honours the property. The value is kept if the key is the
    ///   caller's own.
    func setValue(_ value: borrowing StreamPropertyValue, for key: StreamPropertyKey) throws(StreamError) {
        if key.isReadOnly { throw .readOnly(key.name) }
        let isTransports: Bool
        // Before opening, no descriptor of this connection is in use. Not `let transport`, which would count a reference.
        if isUnopened, let isSet = try transport?.setProperty(byReference: value, named: key.name) {
            isTransports = isSet
        } else {
            isTransports = try setWhileOpen(value, for: key)
        }
        if !isTransports {
            guard isKept(key) else { throw .notHonoured(key.name, by: streamKind) }
            let value = value.any
            withDetails { $0.properties.set(value, for: key) }
        }
        guard key.isAlways else { return }
        switch key.name {
        case StreamProperty<Duration>.readTimeout.name: setLimit(value.as(Duration.self), .reader)
        case StreamProperty<Duration>.writeTimeout.name: setLimit(value.as(Duration.self), .writer)
        case StreamProperty<Bool>.closesDescriptor.name: point.setOwnership(value.as(Bool.self))
        default: break
        }
    }

    /// Sets a property of the open transport. Returns false if it has none by that name.
    private func setWhileOpen(
        _ value: borrowing StreamPropertyValue, for key: StreamPropertyKey
    ) throws(StreamError) -> Bool {
        let (secured, layers, isClosed) = withDetails { details in
            (
                details.securedTransport, transport == nil ? self.engine : nil,
                details.isReaderClosed && details.isWriterClosed
            )
        }
        if isClosed { throw .closed }
        guard key.isAlways || isUnopened else {
            throw isKept(key)
                ? .refused(key.name, "the stream has already been opened; set it before open().")
                : .notHonoured(key.name, by: streamKind)
        }
        return try point.whileOpen { () throws(StreamError) -> Bool in
            if let secured { return try secured.setProperty(byReference: value, named: key.name) }
            if let transport { return try transport.setProperty(byReference: value, named: key.name) }
            return try layers?.setProperty(byReference: value, named: key.name) ?? false
        } ?? false
    }

    /// Whether the stream honours the property itself, or keeps the value for the caller.
    private func isKept(_ key: StreamPropertyKey) -> Bool {
        key.isNote || streamKind.properties.honours(key.name)
    }

    /// Whether no half has been opened, and at least one can be.
    private var isUnopened: Bool {
        reader.has(.notOpen) ? writer.has(.notOpen) || writer.has(.closed) : writer.has(.notOpen) && reader.has(.closed)
    }

    /// A property of the endpoint that the connection was made with.
    private func endpointProperty(named name: String) -> (any Sendable)? {
        switch name {
        case StreamProperty<String>.remoteHostName.name: endpoint?.name
        case StreamProperty<UInt16>.remotePort.name: endpoint?.port
        default: nil
        }
    }

    /// A property that the kernel knows, read from the connection's descriptor.
    private func socketProperty(named name: String) -> (any Sendable)? {
        guard point.descriptor >= 0 else { return nil }
        switch name {
        case StreamProperty<Int32>.nativeDescriptor.name: return point.descriptor
        case StreamProperty<Bool>.closesDescriptor.name: return point.ownership == .owned
        case StreamProperty<SocketAddress>.remoteAddress.name: return Syscalls.peerAddress(point.descriptor)
        case StreamProperty<SocketAddress>.localAddress.name: return Syscalls.localAddress(point.descriptor)
        case StreamProperty<UInt16>.remotePort.name: return Syscalls.peerAddress(point.descriptor)?.port
        default: return nil
        }
    }
}

extension Sentence {
    fileprivate static let notAStreamSocket = Sentence(
        "adopt.notAStream",
        "The descriptor is not a stream socket (it may be a datagram socket); use Socket instead.")
}

// MARK: - One half

/// The state of one half of a stream, in atomics: read on every call, from any thread.
struct HalfState: ~Copyable, Sendable {
    private let rawStatus = Atomic<UInt8>(UInt8(StreamStatus.notOpen.rawValue))
    private let clientFlag = Atomic<Bool>(false)

    /// The status, disregarding transfers in progress.
    var status: StreamStatus {
        get { StreamStatus(rawValue: Int(rawStatus.load(ordering: .acquiring))) ?? .error }
        nonmutating set { rawStatus.store(UInt8(newValue.rawValue), ordering: .releasing) }
    }

    @inline(__always)
    var isOpen: Bool { has(.open) }

    /// Whether this is the status, disregarding transfers in progress. Costs less than reading ``status``.
    @inline(__always)
    func has(_ status: StreamStatus) -> Bool {
        rawStatus.load(ordering: .acquiring) == UInt8(status.rawValue)
    }

    /// True if a client must be notified after each transfer.
    var hasClient: Bool {
        @inline(__always) get { clientFlag.load(ordering: .relaxed) }
        nonmutating set { clientFlag.store(newValue, ordering: .relaxed) }
    }
}

/// The time limit for transfers of one half, in an atomic. Separate from ``HalfState``: side by side, the small fields
/// of both halves take one word, which matters for tens of thousands of streams.
struct HalfLimit: ~Copyable, Sendable {
    private let limitNanoseconds = Atomic<Int64>(0)

    /// The longest time that one transfer may wait; nil for no limit.
    var limit: Duration? {
        get {
            let nanoseconds = limitNanoseconds.load(ordering: .relaxed)
            return nanoseconds == 0 ? nil : .nanoseconds(nanoseconds)
        }
        nonmutating set {
            limitNanoseconds.store(newValue.map(HalfLimit.nanoseconds) ?? 0, ordering: .relaxed)
        }
    }

    @inline(__always)
    var hasLimit: Bool { limitNanoseconds.load(ordering: .relaxed) != 0 }

    private static func nanoseconds(_ limit: Duration) -> Int64 {
        guard limit > .zero else { return 0 }
        let (seconds, attoseconds) = limit.components
        return max(1, min(seconds, 1 << 33) * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
