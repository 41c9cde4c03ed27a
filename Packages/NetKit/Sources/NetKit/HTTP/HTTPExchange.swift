internal import EventLoops
internal import FoundationEssentials
internal import HTTPMessage
internal import StreamKit

/// A load as the transport of a stream: what is read is the body of the answer.
///
/// All state is one ``HTTPLoad`` behind a lock; reading, looking and closing may come from different threads.
final class HTTPExchange: StreamTransport {
    private struct State {
        var settings = HTTPLoad.Settings()
        var running: RunningLoad?
        var deadline: (ContinuousClock.Instant, LoopTimer)?
        var failure: StreamError?
        var isClosed = false
    }

    /// The load in a place of its own, where it is changed without being moved.
    private final class RunningLoad: @unchecked Sendable {
        // Unchecked: reached through the state only, inside the lock.
        var load: HTTPLoad

        init(_ load: HTTPLoad) {
            self.load = load
        }
    }

    private let request: HTTPRequest
    private let body: HTTPBody?
    private let loop: EventLoop
    private let point: WaitPoint
    private let state = Locked(State())

    init(_ request: HTTPRequest, body: HTTPBody?, loop: EventLoop) {
        self.request = request
        self.body = body ?? request.body.map { .bytes($0) }
        self.loop = loop
        point = WaitPoint(loop: loop)
    }

    var waitPoint: WaitPoint {
        state.withLock { $0.running?.load.place } ?? point
    }

    func tryOpen() throws(StreamError) -> OpenAttempt {
        try step { (load) throws(StreamError) in
            // Open means that transmission has begun; the answer is waited for by reading.
            guard let interest = try load.advanceToBody(), !load.hasBegun else { return .opened }
            return .wouldBlock(interest)
        }
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try step { (load) throws(StreamError) in
            if let interest = try load.advanceToBody() { return .wouldBlock(interest) }
            return try load.readBody(into: &buffer)
        }
    }

    func peek() throws(StreamError) -> Attempt {
        try step { (load) throws(StreamError) in
            if let interest = try load.advanceToBody() { return .wouldBlock(interest) }
            return try load.peekBody()
        }
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }

    func writability() throws(StreamError) -> Attempt { .ended }

    func close() {
        let timer = state.withLock { state in
            state.isClosed = true
            state.running?.load.close()
            return state.deadline.take()?.1
        }
        timer?.cancel()
        point.signal([.readable, .writable])
    }

    /// Takes steps of the load under the lock; what is thrown is the end of it.
    private func step<Outcome: Sendable>(
        _ body: (inout HTTPLoad) throws(StreamError) -> Outcome
    ) throws(StreamError) -> Outcome {
        var spent: LoopTimer?
        defer { spent?.cancel() }
        return try state.withLock { (state) throws(StreamError) in
            if state.isClosed { throw .closed }
            if let failure = state.failure { throw failure }
            do throws(StreamError) {
                let running = if let running = state.running { running } else { try begin(&state) }
                if let (time, _) = state.deadline, ContinuousClock.now >= time { throw .timedOut(running.load.step) }
                let outcome = try body(&running.load)
                if running.load.isOver { spent = state.deadline.take()?.1 }
                return outcome
            } catch {
                state.failure = error
                state.running?.load.close()
                spent = state.deadline.take()?.1
                throw error
            }
        }
    }

    private func begin(_ state: inout State) throws(StreamError) -> RunningLoad {
        if let limit = state.settings.totalLimit, limit > .zero {
            let time = ContinuousClock.now + limit
            // Waiting ends like any other wait; whoever wakes finds that the time is up.
            let timer = loop.schedule(at: time) { [weak self] in self?.waitPoint.signal([.readable, .writable]) }
            state.deadline = (time, timer)
        }
        let running = RunningLoad(try HTTPLoad(request, body: body, state.settings, loop: loop))
        state.running = running
        return running
    }
}

// MARK: - Properties

extension HTTPExchange {
    func property(named name: String) -> (any Sendable)? {
        state.withLock { state in
            switch name {
            case StreamProperty<HTTPResponse>.httpResponse.name: state.running?.load.finalResponse
            case StreamProperty<[HTTPResponse]>.httpInterimResponses.name: state.running?.load.interim
            case StreamProperty<HTTPFields>.httpTrailers.name: state.running?.load.trailers
            case StreamProperty<URL>.httpFinalURL.name: state.running?.load.url ?? request.url
            case StreamProperty<HTTPRequest>.httpFinalRequest.name: state.running?.load.finalRequest ?? request
            case StreamProperty<Int64>.httpBodyBytesSent.name: state.running?.load.bodyBytesSent ?? 0
            case StreamProperty<Int64>.httpBodyLength.name: state.running?.load.bodyLength
            case StreamProperty<ConnectionReport>.report.name: state.running?.load.log.report
            case StreamProperty<TLSInformation>.tlsInformation.name: state.running?.load.tlsInformation
            default: nil
            }
        }
    }

    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        if name == StreamProperty<Bool>.closesDescriptor.name { throw .cannotSet(name) }
        return state.withLock { state in
            guard state.running == nil else { return false }
            state.settings.set(value, named: name)
            return true
        }
    }
}

extension HTTPLoad.Settings {
    /// Takes a property of HTTP streams; every other one is the connection's.
    fileprivate mutating func set(_ value: (any Sendable)?, named name: String) {
        let defaults = HTTPLoad.Settings()
        switch name {
        case StreamProperty<Bool>.httpKeepsConnection.name:
            keepsConnection = value as? Bool ?? defaults.keepsConnection
        case StreamProperty<Bool>.httpFollowsRedirects.name:
            followsRedirects = value as? Bool ?? defaults.followsRedirects
        case StreamProperty<HTTPConnectionPool>.httpPool.name: pool = value as? HTTPConnectionPool
        case StreamProperty<Bool>.httpDecodesContent.name:
            decodesContent = value as? Bool ?? defaults.decodesContent
        case StreamProperty<Int64>.httpDecodedLimit.name: decodedLimit = value as? Int64 ?? defaults.decodedLimit
        case StreamProperty<Duration>.httpTotalLimit.name: totalLimit = value as? Duration
        case StreamProperty<Duration>.httpContinueLimit.name:
            continueLimit = value as? Duration ?? defaults.continueLimit
        case StreamProperty<HTTPLimits>.httpLimits.name: limits = value as? HTTPLimits ?? defaults.limits
        default: properties.set(value, named: name)
        }
    }
}
