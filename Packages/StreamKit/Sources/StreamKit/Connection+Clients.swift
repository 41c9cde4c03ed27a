internal import EventLoops

/// Who is told of events, and what can be told.
extension Connection {
    func client(_ half: StreamHalf) -> StreamClient? {
        guard half == .reader ? reader.hasClient : writer.hasClient else { return nil }
        return details.withLock { $0.audience?[half].client }
    }

    /// Replaces a half's client; nil removes it.
    func setClient(_ client: StreamClient?, _ half: StreamHalf) {
        let old = details.withLock { details -> StreamClient? in
            let audience = details.gather()
            let old = audience[half].client
            audience[half].client = client
            if let old { audience.departing.append(old) }
            return old
        }
        if half == .reader { reader.hasClient = client != nil } else { writer.hasClient = client != nil }
        guard let old else { return }
        old.invalidate()
        details.withLock { $0.audience?.departing.removeAll { $0 === old } }
    }

    /// Bytes moved: the client is told of what comes next.
    func didTransfer(_ half: StreamHalf) {
        if half == .reader { reader.clearBusy() } else { writer.clearBusy() }
        client(half)?.didTransfer()
    }

    /// A half has one place to wait. A call of the user's that found it taken goes first: the client is taken out, and
    /// armed again when the call is over. False if it is not a client of ours that is in the way.
    func makeWay(_ half: StreamHalf) -> Bool {
        let (client, departing) = details.withLock { details in
            (details.audience?[half].client, details.audience?.departing ?? [])
        }
        if let client { unwatch(half, client) }
        for client in departing { unwatch(half, client) }
        return (half == .reader ? reader.noteBusy() : writer.noteBusy()) < Connection.mostTimesToMakeWay
    }

    /// More than the threads that can be about to park a client anew; beyond it, somebody else is in the way.
    private static let mostTimesToMakeWay = 64

    /// What can be said about a half now, without waiting.
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
            return .init(hasOpened: true, hasFailed: true, readiness: .notYet)
        }
    }

    /// What a try would give now, without moving anything.
    func look(_ half: StreamHalf) throws(StreamError) -> Attempt {
        guard isOpen(half), let engine else { return try attemptWhileNotOpen(half) }
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

    /// Looking takes bytes (or a failure) out of the descriptor into a layer such as TLS, and may do so before the loop has
    /// seen them: a call that found nothing just before would then wait for ever.
    private func wakeCall(on half: StreamHalf, _ engine: Engine) {
        if case .socket = engine { return }
        if point.isInside(half) { engine.waitPoint.signal(half == .reader ? .readable : .writable) }
    }

    func watch(_ half: StreamHalf, with client: StreamClient) -> Wake? {
        guard let place = placeToWait(half) else { return .ready }
        return place.watch(half, for: half == .reader ? .readable : .writable, with: client)
    }

    func unwatch(_ half: StreamHalf, _ client: StreamClient) {
        placeToWait(half)?.unwatch(half, client)
    }
}
