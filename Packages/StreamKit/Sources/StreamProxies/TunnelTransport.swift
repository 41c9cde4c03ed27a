@_spi(Packages) internal import EventLoops
internal import Glibc
internal import HostResolver

/// Carries a ``TunnelMachine``'s conversation over the transport below, and then the target's bytes.
///
/// Once open, it first returns the surplus: bytes of the target that arrived together with the proxy's last answer.
/// Without a surplus, the transport below can be used directly, unless the machine has a layer for the target's bytes; see ``engine``.
package final class TunnelTransport: StreamTransport {
    private struct State {
        var machine: any TunnelMachine
        var outgoing: [UInt8] = []
        var sent = 0
        /// The size of the read that the machine has requested; nil once it has received bytes.
        var wanted: Int?
        /// The wait point while work that the machine requested is in progress.
        var workPoint: WaitPoint?
        var isWorkDone = false
        var surplus: [UInt8] = []
        var taken = 0
        var summary: String?
        var failure: StreamError?
    }

    /// The most bytes that one read of the conversation takes, even if the machine asks for more.
    static let maximumRead = 16 << 10
    /// The most reads of one call.
    private static let maximumReads = 16

    private let lower: any StreamTransport
    private let state: Locked<State>

    /// - Parameters:
    ///   - tls: the result of the handshake with the proxy; nil without TLS.
    ///   - binding: the channel binding (``StreamProperty/serverEndPointBinding``) of the TLS to the proxy; nil without TLS.
    package init(
        _ machine: any TunnelMachine, over lower: any StreamTransport, tls: TLSInformation? = nil,
        boundBy binding: [UInt8]? = nil
    ) {
        self.lower = lower
        var machine = machine
        machine.begin(over: tls, boundBy: binding)
        state = Locked(State(machine: machine))
    }

    package var waitPoint: WaitPoint {
        let (workPoint, isDone) = state.withLock { ($0.workPoint, $0.isWorkDone) }
        guard let workPoint else { return lower.waitPoint }
        // The work may have ended before the wait began.
        if isDone { workPoint.signal(.readable) }
        return workPoint
    }

    /// The summary of the conversation; nil before its end.
    package var summary: String? { state.withLock { $0.summary } }

    /// The stream properties that the conversation provides, also if it failed.
    package var properties: StreamProperties { state.withLock { $0.machine.properties } }

    /// What the proxy refused, if that is why the conversation failed.
    package var refusal: TunnelRefusal? { state.withLock { $0.machine.refusal } }

    /// What carries the target's bytes, once open.
    package var engine: any StreamTransport {
        if let layer = state.withLock({ $0.machine.layer(over: lower) }) { return layer }
        // Bytes from the target arrived together with the proxy's answer.
        return state.withLock { $0.surplus.count > $0.taken } ? self : lower
    }

    package func tryOpen() throws(StreamError) -> OpenAttempt {
        while true {
            var work: TunnelWork?
            // The layer below may signal clients that are called at once, and use this transport.
            let attempt = try state.withLockDelayingCalls { (state) throws(StreamError) -> OpenAttempt in
                if let failure = state.failure { throw failure }
                if state.summary != nil { return .opened }
                do throws(StreamError) {
                    return try converse(&state, &work)
                } catch {
                    state.failure = error
                    throw error
                }
            }
            guard let work else { return attempt }
            // Without the lock, because the work may call `finishWork` before `begin` returns.
            work.begin { [weak self] in self?.finishWork() }
        }
    }

    private func finishWork() {
        let workPoint = state.withLock { state in
            state.isWorkDone = true
            return state.workPoint
        }
        workPoint?.signal(.readable)
    }

    private func converse(_ state: inout State, _ work: inout TunnelWork?) throws(StreamError) -> OpenAttempt {
        if state.workPoint != nil {
            guard state.isWorkDone else { return .wouldBlock(.readable) }
            state.workPoint = nil
        }
        if let interest = try send(&state) { return .wouldBlock(interest) }
        var reads = 0
        while true {
            let action =
                if let limit = state.wanted { TunnelAction.receive(upTo: limit) } else { try state.machine.next() }
            switch action {
            case .send(let bytes):
                state.outgoing = bytes
                state.sent = 0
                if let interest = try send(&state) { return .wouldBlock(interest) }
            case .receive(let limit):
                state.wanted = limit
                var buffer = [UInt8](repeating: 0, count: max(1, min(limit, TunnelTransport.maximumRead)))
                var span = buffer.mutableSpan
                var bytes = span.mutableBytes
                switch try lower.tryRead(into: &bytes) {
                case .moved(let count):
                    state.wanted = nil
                    try state.machine.receive(Array(buffer[..<count]))
                    reads += 1
                    if reads == TunnelTransport.maximumReads || lower.waitPoint.loop.isShareSpent {
                        // A proxy can send much that leads nowhere.
                        lower.waitPoint.signalNextTurn(.readable)
                        return .wouldBlock(.readable)
                    }
                case .ended:
                    state.wanted = nil
                    try state.machine.receiveEnd()
                case .wouldBlock(let interest): return .wouldBlock(interest)
                }
            case .work(let wanted):
                state.workPoint = WaitPoint(loop: lower.waitPoint.loop)
                state.isWorkDone = false
                work = wanted
                return .wouldBlock(.readable)
            case .established(let summary, let surplus):
                state.surplus = surplus
                state.summary = summary
                return .opened
            }
        }
    }

    /// Sends the outgoing bytes and flushes them through all layers. Returns the interest to wait for if some remain.
    private func send(_ state: inout State) throws(StreamError) -> Interest? {
        while state.sent < state.outgoing.count {
            switch try lower.tryWrite(state.outgoing.span.bytes.extracting(droppingFirst: state.sent)) {
            case .moved(let count): state.sent += count
            case .wouldBlock(let interest): return interest
            case .ended: throw StreamError(posix: EPIPE, .connectionLost(EPIPE))
            }
        }
        while true {
            switch try lower.tryFlush() {
            case .moved: continue
            case .wouldBlock(let interest): return interest
            case .ended:
                state.outgoing = []
                state.sent = 0
                return nil
            }
        }
    }

    // MARK: Once open

    package func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        let capacity = buffer.byteCount
        let first = state.withLock { state -> ArraySlice<UInt8> in
            let part = state.surplus[state.taken...].prefix(capacity)
            state.taken += part.count
            if state.taken == state.surplus.count { (state.surplus, state.taken) = ([], 0) }
            return part
        }
        if first.isEmpty { return try lower.tryRead(into: &buffer) }
        buffer.withUnsafeMutableBytes { $0.copyBytes(from: first) }
        return .moved(first.count)
    }

    package func peek() throws(StreamError) -> Attempt {
        let ahead = state.withLock { $0.surplus.count - $0.taken }
        return ahead > 0 ? .moved(ahead) : try lower.peek()
    }

    package func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { try lower.tryWrite(bytes) }

    package func writability() throws(StreamError) -> Attempt { try lower.writability() }

    package func tryFlush() throws(StreamError) -> Attempt { try lower.tryFlush() }

    package func tryFinish() throws(StreamError) -> Attempt { try lower.tryFinish() }

    package func close() { lower.close() }

    package func property(named name: String) -> (any Sendable)? { lower.property(named: name) }

    package func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        try lower.setProperty(value, named: name)
    }
}
