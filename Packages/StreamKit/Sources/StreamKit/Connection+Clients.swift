internal import EventLoops

/// The clients of events, and the facts for them.
extension Connection {
    func client(_ half: StreamHalf) -> StreamClient? {
        guard half == .reader ? reader.hasClient : writer.hasClient else { return nil }
        return details.withLock { $0.clients?[half].client }
    }

    /// Replaces a half's client; nil removes it.
    func setClient(_ client: StreamClient?, _ half: StreamHalf) {
        let unwanted = details.withLock { details -> StreamClient? in
            // Closing removes the client under this lock, once; a client set later would never be removed.
            let isClosed = half == .reader ? details.isReaderClosed : details.isWriterClosed
            if isClosed, client != nil { return client }
            let clients = details.ensureClients()
            if half == .reader { reader.hasClient = client != nil } else { writer.hasClient = client != nil }
            return exchange(&clients[half].client, with: client)
        }
        unwanted?.invalidate()
        if client == nil { withdrawWatch(half) }
    }

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
            return .init(hasOpened: true, hasFailed: error != .busy, readiness: .notYet)
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
        guard isOpen(half), let engine = hasSocket ? .socket(point) : engine else {
            return try attemptWhileNotOpen(half)
        }
        do throws(StreamError) {
            let attempt: Attempt? = try point.whileOpen { () throws(StreamError) -> Attempt in
                half == .reader ? try engine.peek() : try engine.writability()
            }
            guard let attempt else { throw .closed }
            if case .wouldBlock = attempt { return attempt }
            if case .ended = attempt, half == .reader { try verifyReadEnd() }
            wakeCall(on: half, engine)
            return attempt
        } catch {
            defer { wakeCall(on: half, engine) }
            throw fail(error, half)
        }
    }

    /// Wakes a call on this half. Looking moves bytes (or a failure) from the descriptor into a layer such as TLS,
    /// perhaps before the loop has seen them; a call that found nothing just before would then wait forever.
    private func wakeCall(on half: StreamHalf, _ engine: Engine) {
        if case .socket = engine { return }
        if point.isInside(half) { engine.waitPoint.signal(half == .reader ? .readable : .writable) }
    }

    /// Arranges a call of ``edgeArrived(_:)`` at the next edge. Nil if that succeeded; `.ready` to look again first;
    /// `.busy` if it was arranged before.
    func watch(_ half: StreamHalf) -> Wake? {
        guard let waitPoint = pointToWait(half) else { return .ready }
        let watch = details.withLock { details -> ClientWatcher in
            let clients = details.ensureClients()
            let watch = clients[half].watch ?? ClientWatcher(self, half)
            clients[half].watch = watch
            return watch
        }
        return watch.park(at: waitPoint)
    }

    /// Withdraws the half's watch from its wait point.
    ///
    /// Withdrawing the watch also arms the client that is set by then: it may have found the watch parked just before,
    /// and have relied on it.
    func withdrawWatch(_ half: StreamHalf) {
        guard let watch = details.withLock({ $0.clients?[half].watch }) else { return }
        watch.remove()
        client(half)?.arm()
    }

    /// Called at an edge. A call inside the half handles it, and arms the client when it ends.
    func edgeArrived(_ half: StreamHalf) {
        if !point.isInside(half) { client(half)?.signalTargets() }
    }
}
