internal import EventLoops
internal import HTTPMessage
internal import StreamKit

/// The driver of a ``WebSocketMachine`` on a connection.
///
/// Theory of operation. One task receives: it reads bytes, takes events out of the machine, and queues the messages. While the
/// queue is full, it does not read, which slows the peer down. Senders take turns with ``turn``, a semaphore that serves them in
/// order; each takes the bytes of its message, and of the answers to pings so far, out of the machine and writes them. If there
/// are only answers to send, a short task does that, so that the receiving task never waits for the peer to read.
///
/// The receiving task ends with the connection. It keeps this object alive, but not the ``WebSocket``, whose end closes the
/// connection.
final class WebSocketConnection: Sendable {
    /// The end of the messages.
    enum End {
        case closed(WebSocketClosure)
        case failed(WebSocketError)
    }

    private struct State {
        var machine: WebSocketMachine
        var queue = MessageQueue()
        /// Whether messages that arrive are dropped, because the socket is being closed.
        var drops = false
        /// The tasks that wait for a message.
        var readers: [OneShot<Void>] = []
        /// The receiving task, if it waits for room in the queue.
        var room: OneShot<Void>?
        /// The pings that wait for their pong, in the order in which they were sent.
        var pings: [(payload: [UInt8], answer: OneShot<Bool>)] = []
        var pingCount: UInt64 = 0
        var isFlushing = false
        /// The failure of a write, or of the closing handshake.
        var failure: WebSocketError?
        var end: End?
        var isFinished = false
        /// The tasks that wait until the connection has been closed.
        var finishers: [OneShot<Void>] = []
    }

    /// The longest time for which bytes are read and dropped after a failure, so that the peer receives the Close frame.
    private static let lingerTimeout = Duration.seconds(2)
    /// The maximum number of bytes that are read and dropped after the end.
    static let maximumLingering = 1 << 20
    private static let smallBuffer = 4 * 1024
    /// The number of received bytes that the machine gets at once.
    private static let stepLength = 4 * 1024

    private let pair: StreamPair
    private let role: WebSocketMachine.Role
    private let configuration: WebSocket.Configuration
    private let state: Locked<State>
    /// Admits one writer at a time, in order.
    private let turn = AsyncSemaphore(1)

    init(
        _ pair: StreamPair, _ role: WebSocketMachine.Role, _ configuration: WebSocket.Configuration,
        _ agreement: WebSocketAgreement
    ) {
        self.pair = pair
        self.role = role
        self.configuration = configuration
        state = Locked(
            State(
                machine: WebSocketMachine(
                    role, limits: configuration.limits, compression: agreement.compression)))
    }

    private var loop: EventLoop { pair.input.waitPoint.loop }

    /// Begins to receive.
    ///
    /// - Parameter received: the bytes that have arrived already.
    func start(_ received: [UInt8]) throws(WebSocketError) {
        do throws(StreamError) {
            try pair.set(.readTimeout, to: configuration.keepAlive)
            try pair.set(.writeTimeout, to: configuration.writeTimeout)
        } catch {
            pair.close()
            throw WebSocketError(error)
        }
        Task(executorPreference: loop) { await self.receive(received) }
    }

    /// Closes the connection at once: the program has released the socket.
    func abandon() {
        dropMessages()
        pair.close()
    }

    /// The Close frame of the peer, once it has arrived.
    var closure: WebSocketClosure? {
        state.withLock { state in
            if case .closed(let closure)? = state.end { closure } else { nil }
        }
    }
}

// MARK: - Receiving

extension WebSocketConnection {
    private func receive(_ received: [UInt8]) async {
        var end: End
        do throws(WebSocketError) {
            end = .closed(try await receiveAll(received))
        } catch {
            end = .failed(error)
        }
        await finish(&end)
    }

    /// Receives until the peer closes the connection with a Close frame.
    private func receiveAll(_ received: [UInt8]) async throws(WebSocketError) -> WebSocketClosure {
        if let closure = try await process(received[...]) { return closure }
        var buffer = [UInt8](repeating: 0, count: WebSocketConnection.smallBuffer)
        while true {
            let count = try await read(into: &buffer)
            if count == 0 {
                try state.withLock { (state) throws(WebSocketError) in try state.machine.receiveEnd() }
                throw .lost
            }
            if let closure = try await process(buffer[..<count]) { return closure }
            // A fast peer gets a larger buffer.
            if count == buffer.count, count < ReadStream.chunkSize {
                buffer = [UInt8](repeating: 0, count: min(count * 4, ReadStream.chunkSize))
            }
        }
    }

    /// Reads bytes. A peer that is silent for too long gets a ping first.
    private func read(into buffer: inout [UInt8]) async throws(WebSocketError) -> Int {
        var hasPinged = false
        while true {
            do throws(StreamError) {
                return try await pair.input.read(into: &buffer)
            } catch {
                guard error == .timedOut, let limit = configuration.keepAlive else { throw WebSocketError(error) }
                if hasPinged { throw .timedOut("nothing arrived for \(limit), nor for \(limit) after a ping") }
                hasPinged = true
                state.withLock { state in try? state.machine.ping() }
                flush()
            }
        }
    }

    /// What the receiving task does next.
    private enum Step {
        case again
        case wait(OneShot<Void>)
        case needsBytes
        case closed(WebSocketClosure)
    }

    /// Passes bytes to the machine, and its events to those that wait for them.
    ///
    /// In portions of ``stepLength``, between which the loop can do its other work: a peer can send many frames in few bytes, also
    /// frames that are no events.
    private func process(_ bytes: ArraySlice<UInt8>) async throws(WebSocketError) -> WebSocketClosure? {
        var rest = bytes
        repeat {
            state.withLock { $0.machine.receive(rest.prefix(WebSocketConnection.stepLength)) }
            rest = rest.dropFirst(WebSocketConnection.stepLength)
            steps: while true {
                switch try step() {
                case .again: break
                case .wait(let room): try? await room.value()
                case .needsBytes: break steps
                case .closed(let closure): return closure
                }
                if loop.isShareSpent { await Task.yield() }
            }
            if loop.isShareSpent { await Task.yield() }
        } while !rest.isEmpty
        return nil
    }

    private func step() throws(WebSocketError) -> Step {
        var reader: OneShot<Void>?
        var answered: [OneShot<Bool>] = []
        var mustFlush = false
        let step = try state.withLock { (state) throws(WebSocketError) -> Step in
            guard let event = try state.machine.nextEvent() else {
                mustFlush = state.machine.hasOutput
                return .needsBytes
            }
            switch event {
            case .message(let message):
                if state.drops { return .again }
                state.queue.append(message)
                if !state.readers.isEmpty { reader = state.readers.removeFirst() }
                guard state.queue.length > configuration.limits.queueLength else { return .again }
                let room = OneShot<Void>()
                state.room = room
                mustFlush = state.machine.hasOutput
                return .wait(room)
            case .ping: return .again
            case .pong(let payload):
                // A pong answers the earlier pings as well (RFC 6455 §5.5.3).
                if let index = state.pings.firstIndex(where: { $0.payload == payload }) {
                    answered = state.pings[...index].map(\.answer)
                    state.pings.removeFirst(index + 1)
                }
                return .again
            case .close(let closure): return .closed(closure)
            }
        }
        reader?.provide(())
        for ping in answered { ping.provide(true) }
        if mustFlush { flush() }
        return step
    }

    /// Ends the connection after the last event.
    private func finish(_ end: inout End) async {
        if case .failed(let error) = end, let failure = state.withLock({ $0.failure }), error.closeCode == nil {
            end = .failed(failure)
        }
        let deadline = Moment.now + configuration.closeTimeout
        let isSent = await sendLast(until: deadline)
        switch end {
        case .closed:
            publish(end)
            // The server closes the connection first (RFC 6455 §7.1.1).
            if isSent, role == .client { await drain(until: deadline) }
        case .failed(let error):
            if isSent, error.closeCode != nil {
                try? await pair.output.finish()
                await drain(until: min(deadline, .now + WebSocketConnection.lingerTimeout))
            }
            publish(end)
        }
        pair.close()
        turn.close()
        let finishers = state.withLock { state in
            state.isFinished = true
            defer { state.finishers = [] }
            return state.finishers
        }
        for finisher in finishers { finisher.provide(()) }
    }

    /// Sends what is left, such as the answer to a Close frame. Returns whether all of it was sent.
    private func sendLast(until deadline: Moment) async -> Bool {
        guard (try? await turn.wait(until: deadline)) != nil else { return false }
        defer { turn.signal() }
        let bytes = state.withLock { $0.machine.takeOutput() }
        if bytes.isEmpty { return true }
        try? pair.set(.writeTimeout, to: configuration.closeTimeout)
        return (try? await pair.output.writeAll(bytes)) != nil
    }

    /// Reads and drops bytes until the peer has closed the connection: closing it with unread bytes could destroy the Close frame.
    private func drain(until deadline: Moment) async {
        var rest = WebSocketConnection.maximumLingering
        var scrap = [UInt8](repeating: 0, count: WebSocketConnection.smallBuffer)
        while rest > 0, case let left = Moment.now.duration(to: deadline), left > .zero {
            guard (try? pair.set(.readTimeout, to: left)) != nil, let count = try? await pair.input.read(into: &scrap),
                count > 0
            else { return }
            rest -= count
        }
    }

    /// Ends the messages, and all waits for the peer.
    private func publish(_ end: End) {
        let (readers, pings) = state.withLock { state in
            state.end = end
            defer { (state.readers, state.pings) = ([], []) }
            return (state.readers, state.pings.map(\.answer))
        }
        for reader in readers { reader.provide(()) }
        for ping in pings { ping.provide(false) }
    }
}

// MARK: - Messages

extension WebSocketConnection {
    private enum Next {
        case message(WebSocketMessage, OneShot<Void>?)
        case end
        case wait(OneShot<Void>)
    }

    /// Returns the next message; nil after the closing handshake, and after ``close(_:)``.
    func nextMessage() async throws(WebSocketError) -> WebSocketMessage? {
        // A queue of small messages can be long, and its reader need not wait between them.
        if loop.isShareSpent { await Task.yield() }
        while true {
            switch try takeMessage() {
            case .message(let message, let room):
                room?.provide(())
                return message
            case .end:
                return nil
            case .wait(let waiter):
                do throws(WaitError) {
                    try await waiter.value()
                } catch {
                    withdraw(waiter)
                    throw .cancelled
                }
            }
        }
    }

    private func takeMessage() throws(WebSocketError) -> Next {
        try state.withLock { (state) throws(WebSocketError) -> Next in
            if let message = state.queue.popFirst() {
                let hasRoom = state.queue.length <= configuration.limits.queueLength
                return .message(message, hasRoom ? state.room.take() : nil)
            }
            switch state.end {
            case .closed?: return .end
            case .failed(let error)?:
                if state.drops { return .end }
                throw error
            case nil:
                let waiter = OneShot<Void>()
                state.readers.append(waiter)
                return .wait(waiter)
            }
        }
    }

    /// Removes a reader that was cancelled. If it had been woken already, the next one is woken instead.
    private func withdraw(_ waiter: OneShot<Void>) {
        let next = state.withLock { state -> OneShot<Void>? in
            if let index = state.readers.firstIndex(where: { $0 === waiter }) {
                state.readers.remove(at: index)
                return nil
            }
            return state.queue.isEmpty || state.readers.isEmpty ? nil : state.readers.removeFirst()
        }
        next?.provide(())
    }

    /// Drops the messages that arrive from now on, so that a full queue does not keep the Close frame from arriving.
    private func dropMessages() {
        let room = state.withLock { state in
            state.drops = true
            return state.room.take()
        }
        room?.provide(())
    }
}

// MARK: - Sending

extension WebSocketConnection {
    /// Sends a message, after those of earlier calls.
    func send(_ message: WebSocketMessage) async throws(WebSocketError) {
        try await write { (machine) throws(WebSocketError) in try machine.send(message) }
    }

    /// Sends a ping, and waits for the pong. Returns the time until it arrived.
    func ping(within limit: Duration) async throws(WebSocketError) -> Duration {
        let answer = OneShot<Bool>()
        let payload = state.withLock { state in
            state.pingCount += 1
            return withUnsafeBytes(of: state.pingCount.bigEndian) { Array($0) }
        }
        let start = Moment.now
        try await write { (machine) throws(WebSocketError) in
            try machine.ping(payload)
        } whileLocked: {
            $0.pings.append((payload, answer))
        }
        let isAnswered: Bool
        do throws(WaitError) {
            isAnswered = try await answer.value(until: start + limit)
        } catch {
            state.withLock { state in state.pings.removeAll { $0.answer === answer } }
            throw error == .timedOut ? .timedOut("no pong within \(limit)") : .cancelled
        }
        guard isAnswered else { throw failure }
        return start.duration(to: .now)
    }

    /// Takes bytes out of the machine, in turn with other senders, and writes them.
    private func write(
        _ body: (inout WebSocketMachine) throws(WebSocketError) -> Void,
        whileLocked record: (inout State) -> Void = { _ in }
    ) async throws(WebSocketError) {
        do throws(WaitError) {
            try await turn.wait()
        } catch {
            throw error == .cancelled ? .cancelled : failure
        }
        defer { turn.signal() }
        let bytes: [UInt8]
        do throws(WebSocketError) {
            bytes = try state.withLock { (state) throws(WebSocketError) in
                try body(&state.machine)
                record(&state)
                return state.machine.takeOutput()
            }
        } catch {
            throw error.code == .closed ? failure : error
        }
        try await writeAll(bytes)
    }

    /// Writes bytes; the caller has the turn. A failure ends the connection.
    private func writeAll(_ bytes: [UInt8]) async throws(WebSocketError) {
        do throws(StreamError) {
            try await pair.output.writeAll(bytes)
        } catch {
            let error = WebSocketError(error)
            state.withLock { $0.failure = $0.failure ?? error }
            pair.close()
            throw error
        }
    }

    /// The error of calls after the end.
    private var failure: WebSocketError {
        state.withLock { state in
            if case .failed(let error)? = state.end, !state.drops { error } else { state.failure ?? .closed }
        }
    }

    /// Starts a task that sends the answers to pings, unless one is running.
    private func flush() {
        let isRunning = state.withLock { state in
            defer { state.isFlushing = true }
            return state.isFlushing
        }
        if isRunning { return }
        Task(executorPreference: loop) { await self.sendAnswers() }
    }

    private func sendAnswers() async {
        while (try? await turn.wait()) != nil {
            let bytes = state.withLock { state in
                let bytes = state.machine.takeOutput()
                state.isFlushing = !bytes.isEmpty
                return bytes
            }
            if !bytes.isEmpty { try? await writeAll(bytes) }
            turn.signal()
            if bytes.isEmpty { return }
        }
    }

    /// Closes the connection with the closing handshake; see ``WebSocket/close(code:reason:)``.
    func close(_ closure: WebSocketClosure) async throws(WebSocketError) {
        // Verifies code and reason, even if the socket is closed.
        var trial = WebSocketMachine(role)
        try trial.close(closure)
        dropMessages()
        let deadline = Moment.now + configuration.closeTimeout
        if (try? await turn.wait(until: deadline)) != nil {
            let bytes = state.withLock { state in
                try? state.machine.close(closure)
                return state.machine.takeOutput()
            }
            try? pair.set(.writeTimeout, to: configuration.closeTimeout)
            if !bytes.isEmpty { try? await writeAll(bytes) }
            turn.signal()
        }
        if await waitForEnd(until: deadline) { return }
        state.withLock { $0.failure = $0.failure ?? .timedOut("the closing handshake was not completed") }
        pair.close()
    }

    /// Waits until the connection has been closed. Returns false if that is not so by the deadline, or the task was cancelled.
    private func waitForEnd(until deadline: Moment) async -> Bool {
        let waiter = OneShot<Void>()
        let isFinished = state.withLock { state in
            if !state.isFinished { state.finishers.append(waiter) }
            return state.isFinished
        }
        if isFinished { return true }
        do throws(WaitError) {
            try await waiter.value(until: deadline)
            return true
        } catch {
            state.withLock { state in state.finishers.removeAll { $0 === waiter } }
            return false
        }
    }
}
