internal import FoundationEssentials
@_spi(Packages) internal import StreamKit

/// A job over FTP as the transport of a stream, which reads from or writes to the data connection.
///
/// All state is one ``FTPConversation`` under a lock; different threads may transfer, check and close. The rules are those of
/// `StepState`: the conversation collects what must run without the lock in `deferred`, and this point, which is registered as a watcher
/// where the conversation is blocked, is withdrawn before each step, since a step may give a connection to TLS.
final class FTPTransport: WaitPoint, StreamTransport, @unchecked Sendable {
    // Unchecked only as a subclass of WaitPoint: mutable state is behind a lock.

    /// Creates the job when the stream is opened, because only then all properties are known.
    typealias Plan = @Sendable (FTPOptions) throws(StreamError) -> FTPJob

    private struct State {
        var options: FTPOptions
        var conversation: FTPConversation?
        var steps = StepState()
    }

    let kind: StreamKind
    private let location: FTPLocation
    private let plan: Plan
    private let state: Locked<State>

    init(
        _ kind: StreamKind, _ location: FTPLocation, options: FTPOptions = FTPOptions(), loop: EventLoop,
        plan: @escaping Plan
    ) {
        self.kind = kind
        self.location = location
        self.plan = plan
        state = Locked(State(options: options))
        super.init(loop: loop)
    }

    var waitPoint: WaitPoint { self }
    var ownsWaitPoint: Bool { true }

    // MARK: Waiting

    /// Registers the transport as a watcher where the conversation is blocked, since a task or a callback is about to wait.
    override func callerWillWait(watchedBy poller: DescriptorPoller?) {
        let isBlocked = use { state in watch(&state, by: poller) }
        if !isBlocked { signal([.readable, .writable]) }
    }

    /// Registers this point as a watcher. Returns false if there is no reason to wait.
    private func watch(_ state: inout State, by poller: DescriptorPoller?) -> Bool {
        guard state.steps.isWorking else { return false }
        guard let block = state.conversation?.block else { return true }  // until the stream is opened
        do throws(StreamError) {
            return try state.steps.watch((block.first, block.dropFirst().first), with: self, by: poller)
        } catch {
            fail(&state, error)
            return false
        }
    }

    /// Waits on the calling thread, while the loop watches the connections.
    @available(*, noasync)
    override func block(
        _ half: Half, for interest: Interest, until deadline: Moment?, minding others: [Readiness]
    ) -> BlockedWake {
        callerWillWait(watchedBy: nil)
        return super.block(half, for: interest, until: deadline, minding: others)
    }

    /// Where the transport is registered. For tests.
    var watchedPoints: [WaitPoint] { state.withLock { $0.steps.watchedPoints } }

    private func fail(_ state: inout State, _ error: StreamError) {
        state.steps.fail(error)
        state.conversation?.close()
    }

    func tryOpen() throws(StreamError) -> OpenAttempt {
        try step { (conversation) throws(StreamError) in
            // The stream is open when the transfer has begun, or when a job without a transfer is complete.
            if case .blocked(let interest) = try conversation.advance() { return .wouldBlock(interest) }
            return .opened
        }
    }

    // MARK: Downloads

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        let attempt = directly { (conversation, data) throws(StreamError) in
            guard let count = try data.input.tryRead(into: &buffer) else {
                guard isQuiet(conversation) else { return nil }
                conversation.waitForData(.reader)
                return .wouldBlock(.readable)
            }
            conversation.receivedCount += UInt64(count)
            return count > 0 ? .moved(count) : nil
        }
        if let attempt { return attempt }
        // The same with what is rare: bytes read ahead, the end, a reply of the server.
        return try transfer { (conversation, data) throws(StreamError) in
            let early = conversation.ahead.take(into: &buffer)
            if early > 0 { return .moved(early) }
            guard let count = try data.input.tryRead(into: &buffer) else {
                if conversation.heedControl() { return nil }
                conversation.waitForData(.reader)
                return .wouldBlock(.readable)
            }
            conversation.receivedCount += UInt64(count)
            if count > 0 { return .moved(count) }
            try conversation.finishTransfer()
            return nil
        }
    }

    /// Whether the server has said nothing that must be handled. A registration that has not fired since the last wait shows it without
    /// a call of the system.
    private func isQuiet(_ conversation: borrowing FTPConversation) -> Bool {
        conversation.control?.replyReadiness.point.isRegistered(.reader, self) == true || conversation.hasNoReplyToRead
    }

    /// Reads ahead: at the end of the data there is nothing to read before the server's final reply.
    func peek() throws(StreamError) -> Attempt {
        try transfer { (conversation, data) throws(StreamError) in
            if !conversation.ahead.isEmpty { return .moved(1) }
            guard let count = try conversation.ahead.fill(from: data.input) else {
                if conversation.heedControl() { return nil }
                conversation.waitForData(.reader)
                return .wouldBlock(.readable)
            }
            conversation.receivedCount += UInt64(count)
            if count > 0 { return .moved(1) }
            try conversation.finishTransfer()
            return nil
        }
    }

    // MARK: Uploads

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        let attempt = directly { (_, data) throws(StreamError) in try data.output.tryWrite(bytes).map(Attempt.moved)
        }
        if let attempt { return attempt }
        return try upload { (data) throws(StreamError) in try data.output.tryWrite(bytes).map(Attempt.moved) }
    }

    func writability() throws(StreamError) -> Attempt {
        try upload { data in data.output.canAcceptBytes || data.output.status == .error ? .moved(1) : nil }
    }

    func tryFlush() throws(StreamError) -> Attempt {
        if let attempt = directly({ (_, data) throws(StreamError) in try data.output.tryFlush() ? .ended : nil }) {
            return attempt
        }
        return try upload { (data) throws(StreamError) in try data.output.tryFlush() ? .ended : nil }
    }

    func tryFinish() throws(StreamError) -> Attempt {
        try transfer { (conversation, data) throws(StreamError) in
            guard try data.output.tryFlush(), try data.output.tryFinish() else {
                return try awaitRoom(&conversation)
            }
            try conversation.finishTransfer()
            return nil
        }
    }

    /// Performs `body` on the data connection of an upload. `body` returns nil if the connection accepts no bytes now.
    private func upload(_ body: (StreamPair) throws(StreamError) -> Attempt?) throws(StreamError) -> Attempt {
        try transfer { (conversation, data) throws(StreamError) in
            if let attempt = try body(data) { return attempt }
            return try awaitRoom(&conversation)
        }
    }

    /// Waits until the data connection of an upload accepts bytes; returns nil if the server has ended the transfer.
    private func awaitRoom(_ conversation: inout FTPConversation) throws(StreamError) -> Attempt? {
        // A server that accepts no more data sends its reply on the control connection.
        guard conversation.control?.detectEndOfTransfer() == true else {
            conversation.waitForData(.writer)
            return .wouldBlock(.writable)
        }
        try conversation.finishTransfer(StreamError(posix: 32))  // EPIPE
        return nil
    }

    /// Performs `body` on the data connection if the transfer is running, which is so for almost every call and needs no step of
    /// the conversation. Returns nil where ``transfer(_:)`` decides: `body` returned nil or failed. No error is lost, since a stream that
    /// has failed throws its error at each further call, and ``transfer(_:)`` makes the next one.
    private func directly(
        _ body: (inout FTPConversation, StreamPair) throws(StreamError) -> Attempt?
    ) -> Attempt? {
        state.withLock { state in
            guard let data = state.conversation?.undisturbedData else { return nil }
            do throws(StreamError) {
                return try body(&state.conversation!, data)
            } catch {
                return nil
            }
        }
    }

    /// Performs `body` on the data connection when it is open. `body` returns nil if the conversation has to go on: the transfer is
    /// finished, or a reply of the server has decided. An error finishes the transfer, too; the server's final reply then decides the result.
    private func transfer(
        _ body: (inout FTPConversation, StreamPair) throws(StreamError) -> Attempt?
    ) throws(StreamError) -> Attempt {
        try step { (conversation) throws(StreamError) in
            while true {
                switch try conversation.advance() {
                case .blocked(let interest): return .wouldBlock(interest)
                case .done: return .ended
                case .transferring: break
                }
                guard let data = conversation.data else { throw .closed }
                do throws(StreamError) {
                    if let attempt = try body(&conversation, data) { return attempt }
                } catch {
                    try conversation.finishTransfer(error)
                }
            }
        }
    }

    /// Sends a NOOP on the control connection; called by a timer.
    private func sendKeepAlive() {
        use { state in
            if state.steps.isWorking { state.conversation?.sendKeepAlive() }
        }
    }

    // MARK: State

    override func close() {
        use { state in
            state.steps.withdraw(self)
            if state.steps.close() { state.conversation?.close() }
        }
        signal([.readable, .writable])
    }

    /// Uses the state under the lock, releases the lock, and performs the deferred actions.
    private func use<Outcome: Sendable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Outcome
    ) throws(Failure) -> Outcome {
        var deferred = Deferred<FTPDeferredAction>()
        var log: DeferredLog?
        defer {
            deferred.forEach { $0.perform() }
            log?.resume()
        }
        return try state.withLock { (state) throws(Failure) in
            state.conversation?.log?.suspend()
            defer {
                // The log of a conversation that has just been made is suspended from the start.
                if let taken = state.conversation?.deferred.take() { deferred = taken }
                log = state.conversation?.log
            }
            return try body(&state)
        }
    }

    /// Performs `body` on the conversation under the lock. An error ends the conversation.
    ///
    /// Other callers may wait at this point meanwhile. The registration that would wake them is withdrawn for the step, and made again if
    /// the conversation is blocked afterwards; otherwise they are woken.
    private func step<Outcome: StepOutcome>(
        _ body: (inout FTPConversation) throws(StreamError) -> Outcome
    ) throws(StreamError) -> Outcome {
        var wakesWaiters = false
        defer { if wakesWaiters { signal([.readable, .writable]) } }
        return try use { (state) throws(StreamError) in
            // An edge that has ended the registration has woken them.
            let wasWatching = state.steps.isWatching
            wakesWaiters = state.steps.withdraw(self) && wasWatching
            try state.steps.begin()
            do throws(StreamError) {
                if state.conversation == nil {
                    // Closing the conversation releases this reference to self, and closing the stream does so. A weak one would
                    // make each use of the transport slower.
                    state.conversation = try FTPConversation(
                        location, try plan(state.options), state.options, loop: loop,
                        wake: { [weak self] in self?.signal([.readable, .writable]) }
                    ) {
                        self.sendKeepAlive()
                    }
                }
                let outcome = try body(&state.conversation!)
                if wakesWaiters, outcome.isBlocked { wakesWaiters = !watch(&state, by: nil) }
                return outcome
            } catch {
                fail(&state, error)
                throw error
            }
        }
    }
}

/// What a step leads to.
private protocol StepOutcome: Sendable {
    /// Whether the step has left the conversation waiting.
    var isBlocked: Bool { get }
}

extension OpenAttempt: StepOutcome {
    fileprivate var isBlocked: Bool { if case .wouldBlock = self { true } else { false } }
}

extension Attempt: StepOutcome {
    fileprivate var isBlocked: Bool { if case .wouldBlock = self { true } else { false } }
}

// MARK: - Properties

extension FTPTransport {
    /// The property that has the mode that applies, whether it was set or not.
    private static let passiveMode = StreamProperty<Bool>.ftp(\.usesPassiveMode).name

    func property(named name: String) -> (any Sendable)? {
        state.withLock { state in
            let conversation = state.conversation
            switch name {
            // Properties of the stream itself.
            case StreamProperty<Duration>.readTimeout.name, StreamProperty<Duration>.writeTimeout.name: return nil
            case StreamProperty<UInt64>.ftpResourceSize.name: return conversation?.resourceSize
            case FTPTransport.passiveMode: return state.options.isPassive
            case StreamProperty<FTPReply>.ftpLastReply.name: return conversation?.lastReply
            case StreamProperty<TLSInformation>.tlsInformation.name: return conversation?.tlsInformation
            case StreamProperty<TLSInformation>.ftpDataTLSInformation.name: return conversation?.dataTLSInformation
            case StreamProperty<ConnectionReport>.report.name:
                return conversation?.control?.pair.report ?? conversation?.report
            case StreamProperty<Int32>.nativeDescriptor.name, StreamProperty<SocketAddress>.remoteAddress.name,
                StreamProperty<SocketAddress>.localAddress.name:
                guard let control = conversation?.control else { return state.options.value(named: name) }
                let pair = control.lower ?? control.pair
                if name == StreamProperty<Int32>.nativeDescriptor.name { return pair[.nativeDescriptor] }
                return name == StreamProperty<SocketAddress>.remoteAddress.name
                    ? pair[.remoteAddress] : pair[.localAddress]
            default: return state.options.value(named: name)
            }
        }
    }

    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        let isStreams = [StreamProperty<Duration>.readTimeout.name, StreamProperty<Duration>.writeTimeout.name]
        guard kind.properties.honours(name), !isStreams.contains(name) else { return false }
        return try state.withLock { (state) throws(StreamError) in
            guard state.conversation == nil else { return false }
            try state.options.set(value, named: name)
            return true
        }
    }
}

/// Bytes of a download that were received before the reader asked for them.
struct ReadAhead {
    private static let size = 16 * 1024
    private var bytes: [UInt8] = []
    private var used = 0
    private var end = 0

    var isEmpty: Bool { used == end }

    /// Reads bytes of a stream without waiting: nil if there are none yet, 0 at the end. Must be empty.
    mutating func fill(from input: ReadStream) throws(StreamError) -> Int? {
        if bytes.isEmpty { bytes = [UInt8](repeating: 0, count: Self.size) }
        guard let count = try input.tryRead(into: &bytes) else { return nil }
        (used, end) = (0, count)
        return count
    }

    /// Moves bytes to the front of the buffer, and returns their number.
    mutating func take(into buffer: inout MutableRawSpan) -> Int {
        let count = min(end - used, buffer.byteCount)
        guard count > 0 else { return 0 }
        buffer.withUnsafeMutableBytes { memory in
            bytes.withUnsafeBytes {
                memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[used..<used + count]))
            }
        }
        used += count
        return count
    }
}
