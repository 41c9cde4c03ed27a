@_spi(Packages) internal import EventLoops

/// One half of a connection, as its stream and its client see it. Only this library uses it: see ``StreamHalf``.
public struct StreamSide: Sendable {
    let connection: Connection
    let half: WaitPoint.Half

    init(_ connection: Connection, _ half: WaitPoint.Half) {
        self.connection = connection
        self.half = half
    }

    func open() throws(StreamError) { try connection.open(half) }

    func close() { connection.close(half) }

    var status: StreamStatus { connection.status(half) }

    var error: StreamError? { status == .error ? connection.error(half) : nil }

    var descriptor: Int32? { connection.isOpen(half) ? connection.nativeDescriptor : nil }

    var waitPoint: WaitPoint { connection.pointToWaitOrRetry(half) }

    /// The status, disregarding transfers in progress.
    var settledStatus: StreamStatus { connection.halves[half].status }

    // MARK: The client

    /// The client, if there is one.
    var client: StreamClient? {
        guard connection.halves.haveClient(half) else { return nil }
        return connection.withDetails { $0.clients?[half].client }
    }

    /// Replaces the client; nil removes it.
    func setClient(_ client: StreamClient?) {
        let unwanted = connection.withDetails { details -> StreamClient? in
            // Closing removes the client under this lock, once; a client set later would never be removed.
            if connection.halves[half].isClosed, client != nil { return client }
            let clients = details.ensureClients()
            connection.halves[half].hasClient = client != nil
            return exchange(&clients[half].client, with: client)
        }
        unwanted?.invalidate()
        if client == nil { withdrawWatcher() }
    }

    /// Removes the client, unless another one has replaced it.
    func removeClient(_ client: StreamClient) {
        let isCurrent = connection.withDetails { details in
            guard let clients = details.clients, clients[half].client === client else { return false }
            clients[half].client = nil
            connection.halves[half].hasClient = false
            return true
        }
        client.invalidate()
        if isCurrent { withdrawWatcher() }
    }

    /// The targets where the events are delivered.
    var targets: [any DeliveryTarget] { connection.withDetails { $0.clients?[half].targets ?? [] } }

    /// Adds a target. Returns the client that must learn of it; nil if there is none, or the target is known.
    func schedule(on target: any DeliveryTarget) -> StreamClient? {
        if connection.point.isClosed(half) { return nil }
        let isNew = connection.withDetails { details -> Bool in
            let clients = details.ensureClients()
            if clients[half].targets.contains(where: { $0.isSame(as: target) }) { return false }
            clients[half].targets.append(target)
            return true
        }
        return isNew ? client : nil
    }

    func unschedule(from target: any DeliveryTarget) {
        connection.withDetails { $0.clients?[half].targets.removeAll { $0.isSame(as: target) } }
        guard let client else { return }
        client.unschedule(from: target)
        withdrawWatcher()
    }

    // MARK: Watching

    /// Whether a call is in progress.
    var isInside: Bool { connection.point.isInside(half) }

    /// Arranges a call of ``edgeArrived()`` at the next edge. Nil if that succeeded; `.ready` to look again first;
    /// `.busy` if it was arranged before.
    ///
    /// - Parameter poller: the poller of the thread where the events are delivered.
    func watch(by poller: DescriptorPoller?) -> Wake? {
        guard let waitPoint = connection.pointToWait(half) else { return .ready }
        let watcher = connection.withDetails { details -> ClientWatcher in
            let clients = details.ensureClients()
            let watcher = clients[half].watcher ?? ClientWatcher(self)
            clients[half].watcher = watcher
            return watcher
        }
        return watcher.park(at: waitPoint, by: poller)
    }

    /// Withdraws the half's watcher from its wait point.
    ///
    /// This also arms the client that is set by then: it may have found the watcher parked just before,
    /// and have relied on it.
    func withdrawWatcher() {
        connection.withDetails { $0.clients?[half].watcher }?.remove()
        client?.arm()
    }

    /// Called at an edge. A call inside the half handles it, and arms the client when it ends.
    func edgeArrived() {
        if !isInside { client?.signalTargets() }
    }

    // MARK: Looking

    /// The observable state, without waiting.
    var facts: EventMachine.Facts {
        switch settledStatus {
        case .notOpen, .opening, .closed:
            return .init(hasOpened: false, hasFailed: false, readiness: .notYet)
        case .error:
            return .init(hasOpened: connection.hasEngine, hasFailed: true, readiness: .notYet)
        case .atEnd:
            return .init(hasOpened: true, hasFailed: false, readiness: .ended)
        case .open, .reading, .writing:
            break
        }
        do throws(StreamError) {
            switch try look() {
            case .moved: return .init(hasOpened: true, hasFailed: false, readiness: .ready)
            case .wouldBlock: return .init(hasOpened: true, hasFailed: false, readiness: .notYet)
            case .ended:
                connection.noteEnd(half)
                return .init(hasOpened: true, hasFailed: false, readiness: .ended)
            }
        } catch {
            // The status decides, not the error: a look fails also because the stream is being closed, or is in use.
            return .init(hasOpened: true, hasFailed: settledStatus == .error, readiness: .notYet)
        }
    }

    /// The result that a try would have now, without transferring anything. For calls and polling.
    ///
    /// Looking may move bytes from the descriptor into a layer such as TLS, so that the loop never sees their edge. A
    /// client that waits for that edge is therefore armed again.
    func poll() throws(StreamError) -> Attempt {
        // A call that is inside arms the client when it ends.
        defer { if !isInside { client?.arm() } }
        return try look()
    }

    /// Whether a transfer would not wait, because it would move bytes, end or fail. False unless the half is open.
    var isReady: Bool { connection.isOpen(half) && !wouldWait }

    /// Whether the half is open, and a transfer would wait.
    var isIdle: Bool { connection.isUsable(half) && wouldWait }

    private var wouldWait: Bool {
        do throws(StreamError) {
            if case .wouldBlock = try poll() { return true }
            return false
        } catch {
            return false
        }
    }

    /// The result that a try would have now, without transferring anything. For the client.
    private func look() throws(StreamError) -> Attempt {
        guard connection.isOpen(half) else { return try connection.attemptWhileNotOpen(half) }
        if connection.hasSocket { return try lookAtSocket() }
        guard let engine = connection.engine else { return try connection.attemptWhileNotOpen(half) }
        do throws(StreamError) {
            let attempt = try look(
                peek: { () throws(StreamError) in try engine.peek() },
                writability: { () throws(StreamError) in try engine.writability() })
            if case .wouldBlock = attempt { return attempt }
            wakeCall(engine)
            return attempt
        } catch {
            defer { wakeCall(engine) }
            throw connection.fail(error, half)
        }
    }

    private func lookAtSocket() throws(StreamError) -> Attempt {
        let point = connection.point
        do throws(StreamError) {
            return try look(
                peek: { () throws(StreamError) in try point.peek() }, writability: { point.writability() })
        } catch {
            throw connection.fail(error, half)
        }
    }

    private func look(
        peek: () throws(StreamError) -> Attempt, writability: () throws(StreamError) -> Attempt
    ) throws(StreamError) -> Attempt {
        let attempt = try connection.point.whileOpen { () throws(StreamError) -> Attempt in
            switch half {
            case .reader:
                let attempt = try peek()
                if case .ended = attempt { try connection.verifyReadEnd() }
                return attempt
            case .writer: return try writability()
            }
        }
        guard let attempt else { throw .closed }
        return attempt
    }

    /// Wakes a call on this half. Looking moves bytes (or a failure) from the descriptor into a layer such as TLS,
    /// perhaps before the loop has seen them; a call that found nothing just before would then wait forever.
    private func wakeCall(_ engine: any StreamTransport) {
        if isInside { engine.waitPoint.signal(half.interest) }
    }
}
