internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// A load as the transport of a stream: what is read is the body of the answer.
///
/// All state is one ``HTTPLoad`` behind a lock; reading, looking and closing may come from different threads.
final class HTTPExchange: StreamTransport {
    private struct State: ~Copyable {
        var load: HTTPLoad
        var hasBegun = false
        /// Rings when the total limit is over.
        var limitTimer: LoopTimer?
        var failure: StreamError?
        var isClosed = false
        /// Made for who asks where to wait before there is anything to wait for.
        var point: WaitPoint?
    }

    let loop: EventLoop
    private let state: Locked<State>

    init(_ request: consuming HTTPRequest, body: HTTPBody?, loop: EventLoop) {
        self.loop = loop
        let body = body ?? request.body.map { .bytes($0) }
        state = Locked(State(load: HTTPLoad(consume request, body: body, loop: loop)))
    }

    /// What to send, in place of what it was made with; before it is opened.
    func send(_ request: HTTPRequest, body: HTTPBody?) {
        state.withLock { state in
            if !state.hasBegun { state.load.send(request, body: body) }
        }
    }

    /// Where nobody waits: told of a load that is closed, and of which nobody has asked before.
    private static let nowhere = WaitPoint()

    var waitPoint: WaitPoint {
        state.withLock { state in
            if let place = state.load.place { return place }
            let point = state.point ?? (state.isClosed ? HTTPExchange.nowhere : WaitPoint(loop: loop))
            state.point = point
            return point
        }
    }

    func tryOpen() throws(StreamError) -> OpenAttempt {
        try step { (load) throws(StreamError) in
            // Open means that transmission has begun; the answer is waited for by reading.
            try load.begin().map { .wouldBlock($0) } ?? .opened
        }
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try step { (load) throws(StreamError) in
            // On the loop, what has come since is told of by an edge. Elsewhere somebody may be polling.
            if !loop.isCurrent { load.hasJustSent = false }
            return try load.read(into: &buffer)
        }
    }

    func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        while true {
            var lent: (connection: HTTPConnection, fills: Bool)?
            let attempt = try step { (load) throws(StreamError) in
                load.isConnectionLent = false
                let attempt = try load.read(into: &buffer)
                if case .wouldBlock = attempt { lent = load.lendConnection() }
                return attempt
            }
            guard let lent else { return attempt }
            lent.connection.waitForInput(fills: lent.fills)
        }
    }

    func peek() throws(StreamError) -> Attempt {
        try step { (load) throws(StreamError) in
            if load.isConnectionLent { return .wouldBlock(.readable) }
            load.hasJustSent = false
            if let interest = try load.advanceToBody() { return .wouldBlock(interest) }
            return try load.peekBody()
        }
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }

    func writability() throws(StreamError) -> Attempt { .ended }

    func close() {
        let (timer, point) = state.withLock { state in
            state.isClosed = true
            state.load.close()
            return (state.limitTimer.take(), state.point)
        }
        timer?.cancel()
        point?.signal([.readable, .writable])
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
            if !state.hasBegun { begin(&state) }
            do throws(StreamError) {
                if let timer = state.limitTimer, Moment.now >= timer.deadline {
                    throw .timedOut(state.load.step)
                }
                let outcome = try body(&state.load)
                if state.load.isOver { spent = state.limitTimer.take() }
                return outcome
            } catch {
                state.failure = error
                state.load.close()
                spent = state.limitTimer.take()
                throw error
            }
        }
    }

    private func begin(_ state: inout State) {
        state.hasBegun = true
        guard let limit = state.load.settings.totalLimit, limit > .zero else { return }
        // Waiting ends like any other wait; whoever wakes finds that the time is up.
        state.limitTimer = loop.schedule(at: .now + limit) { [weak self] in
            self?.waitPoint.signal([.readable, .writable])
        }
    }
}

// MARK: - Properties

extension HTTPExchange {
    func property(named name: String) -> (any Sendable)? {
        state.withLock { state in
            switch name {
            case StreamProperty<HTTPResponse>.httpResponse.name: state.load.finalResponse
            case StreamProperty<HTTPResponse>.httpProxyResponse.name: state.load.tunnelResponse
            case StreamProperty<HTTPProxy>.httpAnsweringProxy.name: state.load.proxies?.answering
            case StreamProperty<[UInt8]>.httpProxyBinding.name: state.load.proxies?.binding
            case StreamProperty<AuthenticationVerdict>.httpTunnelVerdict.name: state.load.proxies?.verdict
            case StreamProperty<[HTTPResponse]>.httpInterimResponses.name: state.hasBegun ? state.load.interim : nil
            case StreamProperty<HTTPFields>.httpTrailers.name: state.hasBegun ? state.load.trailers : nil
            case StreamProperty<URL>.httpFinalURL.name: state.load.url
            case StreamProperty<HTTPRequest>.httpFinalRequest.name: state.load.finalRequest ?? state.load.request
            case StreamProperty<Int64>.httpBodyBytesSent.name: state.load.bodyBytesSent
            case StreamProperty<Int64>.httpBodyLength.name: state.load.bodyLength
            case StreamProperty<ConnectionReport>.report.name: state.load.log.report
            case StreamProperty<TLSInformation>.tlsInformation.name: state.load.tlsInformation
            case StreamProperty<[UInt8]>.serverEndPointBinding.name: state.load.serverEndPointBinding
            default: state.load.settings.value(named: name)
            }
        }
    }

    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        if name == StreamProperty<Bool>.closesDescriptor.name { throw .cannotSet(name) }
        return state.withLock { state in
            if !state.hasBegun { state.load.settings.set(value, named: name) }
            return !state.hasBegun
        }
    }
}
