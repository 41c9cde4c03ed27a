@_spi(Packages) internal import EventLoops
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
    let point: WaitPoint
    /// The target, if the connection was made with one.
    let endpoint: Endpoint?
    private let lock = Lock()
    /// Accessed only by ``withDetails(_:)``. Not in a ``Locked``, which would need memory of its own.
    @exclusivity(unchecked) private nonisolated(unsafe) var details: Details
    // Unchecked: written before a half's status becomes `open` (a releasing store) or with both halves entered; read only
    // after that status was seen (an acquiring load) or under the lock. So reads and writes never overlap, and checking
    // for it would be wasted.
    @exclusivity(unchecked) private nonisolated(unsafe) var slot: (any StreamTransport)?
    let halves = ConnectionHalves()
    /// Set at opening: a short read has drained the source. True only for TCP: a read from a Unix socket may stop short.
    private let shortReadDrains = Atomic<Bool>(false)
    /// Set with ``slot``: a value of ``EngineKind``.
    private let engineKind = Atomic<UInt8>(EngineKind.layer.rawValue)
    /// The transport that the connection was made over; nil if it makes its own. It answers for its properties from the start.
    let transport: (any StreamTransport)?
    /// Whether calls wait at ``point`` whatever the engine is.
    private let waitsAtPoint: Bool
    private let connectionKind: ConnectionKind
    /// True for a connection that carries another stream's bytes to a proxy.
    let leadsToProxy: Bool

    /// - Parameter properties: properties that the kind does not honour make opening fail.
    init(
        _ kind: ConnectionKind, point: WaitPoint, only half: WaitPoint.Half? = nil, to endpoint: Endpoint? = nil,
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
        details = Details(opener, properties)
        if let other = half?.other {
            halves.with(other) {
                $0.status = .closed
                $0.isClosed = true
            }
            if !point.isClosed(other) { point.close(other) }
        }
    }

    /// Runs `body` with the state behind the lock.
    func withDetails<Result: ~Copyable, Failure: Error>(
        _ body: (inout Details) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try lock.withLock { () throws(Failure) in try body(&details) }
    }

    /// The kind of the stream.
    var streamKind: StreamKind { connectionKind.kind(over: withDetails { $0.securedTransport } ?? transport) }

    /// The engine; nil until open. Read it only when the half's status is open, or under the lock.
    ///
    /// The transport of a socket is made for each use, so that an idle connection does not hold another object.
    var engine: (any StreamTransport)? {
        if hasSocket { SocketTransport(point) } else if hasBareTransport { transport } else { slot }
    }

    /// Whether there is an ``engine``. Comparing it with nil would copy it.
    var hasEngine: Bool {
        if hasSocket || hasBareTransport { true } else if case nil = slot { false } else { true }
    }

    /// Whether the engine is the socket of ``point``. Calls then use the socket directly, without a reference to the
    /// engine. Read it only when the half's status is open.
    var hasSocket: Bool { engineKind.load(ordering: .relaxed) == EngineKind.socket.rawValue }

    /// Whether the engine is ``transport``, with nothing on top. Calls then use it directly. Read it only when the half's status is
    /// open.
    var hasBareTransport: Bool { engineKind.load(ordering: .relaxed) == EngineKind.bareTransport.rawValue }

    /// The kinds of engines. Calls use the first two without a reference to ``engine``: these are constants of the connection.
    private enum EngineKind: UInt8 {
        case socket, bareTransport
        /// Another transport on top of these, or no engine yet.
        case layer
    }

    func isOpen(_ half: WaitPoint.Half) -> Bool { halves.with(half) { $0.has(.open) } }

    /// Whether both halves have been closed. Stable only under the lock.
    var isClosed: Bool { halves.reader.isClosed && halves.writer.isClosed }

    /// Whether closing a half has begun: it sets the status before it closes the transport, and the point afterwards.
    func isClosing(_ half: WaitPoint.Half) -> Bool { halves.with(half) { $0.has(.closed) } || point.isClosed(half) }

    /// Whether a half is open, and no other connection has closed it: after `StreamPair(afterTLSOf:)`, two share the point.
    func isUsable(_ half: WaitPoint.Half) -> Bool { isOpen(half) && !point.isClosed(half) }

    /// Whether no half has been opened, and at least one can be.
    var isUnopened: Bool {
        halves.reader.has(.notOpen)
            ? halves.writer.has(.notOpen) || halves.writer.has(.closed)
            : halves.writer.has(.notOpen) && halves.reader.has(.closed)
    }

    func setLimit(_ limit: Duration?, _ half: WaitPoint.Half) { halves[half].limit = limit }

    func status(_ half: WaitPoint.Half) -> StreamStatus {
        let status = halves.with(half) { $0.status }
        switch status {
        // After `StreamPair(afterTLSOf:)`, two connections share the point, and the other one may have closed it.
        case .open, .atEnd: if point.isClosed(half) { return .closed }
        case .notOpen, .opening, .reading, .writing, .closed, .error: break
        }
        guard status == .open, point.isInside(half) else { return status }
        return switch half {
        case .reader: .reading
        case .writer: .writing
        }
    }
}

// MARK: - Opening and closing

extension Connection {
    /// Begins to open a half. The first half to open starts the work for both.
    func open(_ half: WaitPoint.Half) throws(StreamError) {
        let pending = try withDetails { (details) throws(StreamError) -> PendingOpen? in
            switch status(half) {
            case .notOpen: break
            case .closed: throw .closed
            default: throw .alreadyOpened
            }
            if hasEngine {
                halves[half].status = details.error == nil ? .open : .error
                return nil
            }
            if details.error != nil {
                // The other half has begun and failed meanwhile; report it as if it had failed a moment later.
                halves[half].status = .error
                return nil
            }
            halves.with(half) { $0.status = .opening }
            // Nil if the other half has begun the work, even if it was closed since.
            guard let opener = details.opener.take() else { return nil }
            return PendingOpen(opener: opener, hasProperties: !details.properties.isEmpty)
        }
        if let pending { try start(pending) } else { StreamSide(self, half).client?.arm() }
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
            case .openedTransport: install(nil, as: .bareTransport)
            case .continues(let work):
                let opening = Opening(work, of: self)
                let (hasClients, earlier) = withDetails { details in
                    let earlier = details.openingPoint
                    details.openingPoint = .opening(opening)
                    return (details.clients?.areScheduled ?? false, earlier)
                }
                // The calls that waited go on at the opening.
                earlier?.point.signal([.readable, .writable])
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
            return try beginTransport(waitingAt: half, hasProperties: pending.hasProperties)
        }
    }

    /// Ends opening with its result.
    func finishOpening(_ result: Result<any StreamTransport, StreamError>) {
        switch result {
        case .success(let engine) where engine === transport: install(nil, as: .bareTransport)
        case .success(let engine) where engine is SocketTransport: install(nil, as: .socket)
        case .success(let engine): install(engine, as: .layer)
        case .failure(let error):
            let openingPoint = withDetails { details in
                if details.error == nil { details.error = error }
                endOpening(with: .error)
                return details.openingPoint.take()
            }
            announceOpened(openingPoint)
        }
    }

    /// Ends opening with an engine, which is closed instead if both halves have been closed meanwhile.
    ///
    /// - Parameter layer: nil for the socket and the bare transport.
    private func install(_ layer: consuming (any StreamTransport)?, as kind: EngineKind) {
        let (openingPoint, isUnwanted, isWatched) = withDetails { details in
            let isUnwanted = isClosed
            if !isUnwanted {
                slot = layer
                engineKind.store(kind.rawValue, ordering: .relaxed)
                endOpening(with: .open)
                details.isAddressWatched =
                    !details.properties.isEmpty && details.properties[.failsWhenAddressIsRemoved] == true
            }
            return (details.openingPoint.take(), isUnwanted, details.isAddressWatched)
        }
        if isUnwanted { kind == .bareTransport ? transport?.close() : layer?.close() }
        if isWatched { watchLocalAddress() }
        announceOpened(openingPoint)
    }

    /// Has the local address watched: ``StreamProperty/failsWhenAddressIsRemoved``.
    func watchLocalAddress() {
        LocalAddressMonitor.shared.add(point) { [weak self] error in self?.failBoth(error) }
        // It may have been closed before, and have found nothing to remove. Closing sets these flags first.
        if withDetails({ _ in isClosed }) { LocalAddressMonitor.shared.remove(point) }
    }

    /// Signals the calls and clients that wait for the end of opening, so that they look again.
    private func announceOpened(_ openingPoint: OpeningPoint?) {
        openingPoint?.point.signal([.readable, .writable])
        // A layer above may have read the wait point just before this, or just after.
        if case .opening? = openingPoint { engine?.waitPoint.signal([.readable, .writable]) }
        armClients()
    }

    private func endOpening(with status: StreamStatus) {
        if halves.reader.has(.opening) { halves.reader.status = status }
        if halves.writer.has(.opening) { halves.writer.status = status }
    }

    /// Closes a half; closing the second one closes the transport. Idempotent; never waits.
    func close(_ half: WaitPoint.Half) {
        end(half, isRelease: false)
    }

    /// Closes a half whose stream was released, unless a layer has taken the connection over.
    func release(_ half: WaitPoint.Half) {
        end(half, isRelease: true)
    }

    private func end(_ half: WaitPoint.Half, isRelease: Bool) {
        let work = withDetails { details -> CloseWork in
            if isRelease, details.isTakenOver { return CloseWork() }
            let isNew = halves.with(half) { half in
                if half.isClosed { return false }
                half.isClosed = true
                if !half.has(.error) { half.status = .closed }
                return true
            }
            var work = CloseWork(
                closesHalf: true, isLast: isNew && isClosed,
                hasBegun: details.opener == nil, isAddressWatched: details.isAddressWatched)
            let hasLayers = !hasSocket && !hasBareTransport
            if hasLayers || details.openingPoint != nil || details.clients != nil {
                work.hasClients = details.clients != nil
                work.objects = CloseWork.Objects(
                    layer: hasLayers ? slot : nil, openingPoint: details.openingPoint,
                    client: details.clients?[half].client.take())
            }
            return work
        }
        guard work.closesHalf else { return }
        work.objects?.client?.invalidate()
        if work.hasClients { StreamSide(self, half).withdrawWatcher() }
        if work.isLast, work.isAddressWatched { LocalAddressMonitor.shared.remove(point) }
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
        let openingPoint = work.objects?.openingPoint
        openingPoint?.point.signal([.readable, .writable])
        if work.isLast { openingPoint?.opening?.cancel() }
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
            let layer: (any StreamTransport)?
            let openingPoint: OpeningPoint?
            let client: StreamClient?
        }
    }
}

// MARK: - Failing, ending, waiting

extension Connection {
    /// The failure of a half.
    func error(_ half: WaitPoint.Half) -> StreamError? {
        withDetails { details in
            switch half {
            case .reader: details.error
            case .writer: details.writeError ?? details.error
            }
        }
    }

    /// Records a failure of the transport. Both halves have failed then, except after a write to a peer that no longer
    /// reads. Returns the error to throw.
    func fail(_ error: StreamError, _ half: WaitPoint.Half) -> StreamError {
        // The call failed because of our own close.
        if isClosing(half) { return .closed }
        if error == .busy || error == .cancelled { return error }
        switch half {
        case .writer where error.isPOSIX(EPIPE) || error.isPOSIX(ECONNRESET): return failWriter(error)
        case .reader, .writer: return failBoth(error)
        }
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
            return (kept, enterError(WaitPoint.Half.allCases, &details))
        }
        guard let change else { return kept }
        // Only a shutdown wakes a thread that waits in a system call.
        if change.engine is SocketTransport, point.ownership == .owned {
            _ = point.withDescriptor { shutdown($0, CInt(SHUT_RDWR)) }
        }
        announce(change)
        return kept
    }

    /// A change of status to `error`, with the points where calls may be waiting.
    private struct StatusChange {
        let engine: (any StreamTransport)?
        let openingPoint: OpeningPoint?
    }

    /// Sets the status of the given halves that are in use to `error`; nil if there are none. The caller must pass the
    /// result to ``announce(_:)`` outside the lock. No other function sets `error` for a half in use.
    private func enterError(_ failing: [WaitPoint.Half], _ details: inout Details) -> StatusChange? {
        var hasChanged = false
        for half in failing where [.open, .opening, .atEnd].contains(halves[half].status) {
            halves[half].status = .error
            hasChanged = true
        }
        return hasChanged ? StatusChange(engine: engine, openingPoint: details.openingPoint) : nil
    }

    /// Makes all waiting calls and both clients check the status.
    ///
    /// Invariant: no call waits on a half in error. A wait that begins later finds the latched signal.
    private func announce(_ change: StatusChange) {
        point.signal([.readable, .writable])
        if let waitPoint = change.engine?.waitPoint, waitPoint !== point { waitPoint.signal([.readable, .writable]) }
        change.openingPoint?.point.signal([.readable, .writable])
        armClients()
    }

    /// Whether a read that returned fewer bytes than it could has drained the source.
    var isDrainedByShortRead: Bool { shortReadDrains.load(ordering: .relaxed) }

    /// Records that the engine is a plain TCP socket: a short read drains it.
    func noteShortReadDrains() {
        shortReadDrains.store(true, ordering: .relaxed)
    }

    /// The opening in progress.
    var opening: Opening? { withDetails { $0.openingPoint?.opening } }

    /// The half to wait on for the connection as a whole.
    var unclosedHalf: WaitPoint.Half { point.isClosed(.reader) ? .writer : .reader }

    /// Records that the transport has reached its end.
    func noteEnd(_ half: WaitPoint.Half) {
        withDetails { _ in
            halves.with(half) { if $0.has(.open) { $0.status = .atEnd } }
        }
    }

    /// The result of a try on a half that is not open.
    func attemptWhileNotOpen(_ half: WaitPoint.Half) throws(StreamError) -> Attempt {
        switch halves[half].status {
        case .notOpen: throw .notOpen
        case .opening: return .wouldBlock([.readable, .writable])
        case .atEnd: return .ended
        case .closed: throw .closed
        case .open, .reading, .writing: return .wouldBlock([.readable, .writable])
        case .error: throw error(half) ?? .closed
        }
    }

    /// Makes the clients of both halves check the status.
    private func armClients() {
        if halves.reader.hasClient { StreamSide(self, .reader).client?.arm() }
        if halves.writer.hasClient { StreamSide(self, .writer).client?.arm() }
    }

    /// The point to wait at now; nil if the state has just changed and the caller should try again.
    @inline(__always)
    func pointToWait(_ half: WaitPoint.Half) -> WaitPoint? {
        if isOpen(half) { return hasSocket || waitsAtPoint ? point : engine?.waitPoint }
        return pointOfOpening(half)
    }

    /// The point to wait at for the end of opening, which the first wait makes; nil if the half is not opening any more.
    func pointOfOpening(_ half: WaitPoint.Half) -> WaitPoint? {
        withDetails { details in
            // Under the lock: the status of a half that is opening changes only here, together with the point.
            guard halves[half].status == .opening else { return nil }
            let openingPoint = details.openingPoint ?? .beginning(WaitPoint(loop: point.loop))
            details.openingPoint = openingPoint
            return openingPoint.point
        }
    }

    /// The point to wait at now. If the state has just changed, it is signalled, so that the caller tries again.
    func pointToWaitOrRetry(_ half: WaitPoint.Half) -> WaitPoint {
        if let waitPoint = pointToWait(half) { return waitPoint }
        return signalledPoint()
    }

    /// Signals the point, and returns it for a wait that ends at once, because the state has just changed.
    func signalledPoint() -> WaitPoint {
        point.signal([.readable, .writable])
        return point
    }

    /// Converts the end of a wait into the next step: returns if the caller should try again.
    func resume(_ wake: Wake, _ half: WaitPoint.Half) throws(StreamError) {
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
    func enter(_ half: WaitPoint.Half) throws(StreamError) {
        switch point.enter(half) {
        case .entered: return
        case .busy: throw .busy
        case .closed: throw halves[half].has(.error) ? error(half) ?? .closed : .closed
        }
    }

    /// Ends a call on a half and notifies its client.
    @inline(__always)
    func leave(_ half: WaitPoint.Half) {
        point.leave(half)
        if halves.haveClient(half) { StreamSide(self, half).client?.didTransfer() }
    }

    /// Ends a call that transferred nothing.
    func leaveUntouched(_ half: WaitPoint.Half) {
        point.leave(half)
        StreamSide(self, half).client?.arm()
    }

    /// True if a blocked call may wait in the kernel: on an open owned socket, which close can shut down, without a
    /// time limit.
    func mayWaitInKernel(_ half: WaitPoint.Half) -> Bool {
        guard isOpen(half), hasSocket else { return false }
        return point.ownership == .owned && !halves[half].hasLimit
    }

    /// Records that a read has reached the end, or throws the other cause of an apparent end.
    func noteReadEnd() throws(StreamError) {
        try verifyReadEnd()
        noteEnd(.reader)
    }

    /// Throws if an apparent end has another cause: a close or failure of this stream ended the read, or an earlier
    /// write consumed the kernel's report of a reset.
    func verifyReadEnd() throws(StreamError) {
        if isClosing(.reader) { throw .closed }
        if let failure = withDetails({ $0.readFailure }) { throw failure }
    }
}

// MARK: - Making connections

// Other initializers: for a target in StreamConnector.swift and AddressFinder.swift, for a transport in TransportOpening.swift and
// TLSTakeover.swift, for a descriptor, such as an accepted socket, in FileTransport.swift.

extension Connection {
    /// A connection made by `open`.
    convenience init(
        _ kind: ConnectionKind, point: WaitPoint, only half: WaitPoint.Half? = nil, to endpoint: Endpoint? = nil,
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
}
