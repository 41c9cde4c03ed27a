internal import EventLoops
internal import Glibc
internal import HostResolver

/// Several addresses at once, as ``HappyEyeballsMachine`` says; the first that connects wins, the others are closed.
///
/// Everything that happens outside (a lookup's answers, sockets that turn writable) is put into one list and rings one
/// bell; the race itself runs in one task that drains the list. So nothing here is concurrent but the list.
final class ConnectRace: Sendable {
    private enum News: Sendable {
        case batch(AddressBatch)
        case lookupEnded(ResolverError?)
        case writable(Int)
    }

    private struct Attempt: Sendable {
        var address: SocketAddress
        var point: WaitPoint
        var step: Int
    }

    private struct State {
        var news: [News] = []
        var attempts: [Int: Attempt] = [:]
        var lookup: LookupToken?
        var lastError: StreamError?
    }

    private final class Bell: Watcher, @unchecked Sendable {
        // Set once; the race is Sendable.
        private let race: ConnectRace
        private let number: Int

        init(_ race: ConnectRace, _ number: Int) {
            self.race = race
            self.number = number
            super.init()
        }

        override func fire() {
            race.tell(.writable(number))
        }
    }

    private let connector: StreamConnector
    private let connection: Connection
    private let bell: WaitPoint
    private let state = Locked(State())

    init(_ connector: StreamConnector, _ connection: Connection) {
        self.connector = connector
        self.connection = connection
        bell = WaitPoint(loop: connection.point.loop)
    }

    /// Runs the race and gives the winner's descriptor, still non-blocking.
    nonisolated(nonsending) func run() async throws(StreamError) -> (CInt, SocketAddress) {
        var machine = HappyEyeballsMachine(attemptDelay: connector.attemptDelay)
        var lookupStep: Int?
        switch connector.endpoint {
        case .addresses(let addresses, _):
            machine.receive(addresses, families: .all, now: .now)
            machine.lookupEnded()
        case .host(let name, _):
            lookupStep = connection.beginStep(.lookup(name))
            try startLookup(name)
        }
        var found = 0
        while true {
            for item in state.withLock({ state in exchange(&state.news, with: []) }) {
                switch item {
                case .batch(let batch):
                    found += batch.addresses.count
                    let port = connector.endpoint.port ?? 0
                    machine.receive(
                        batch.addresses.map { .ip($0, port: port) }, families: batch.families, now: .now)
                case .lookupEnded(let error):
                    machine.lookupEnded()
                    endLookup(lookupStep, found: found, error)
                case .writable(let number):
                    settle(number, &machine)
                }
            }
            switch machine.next(now: .now) {
            case .attempt(let number, let address):
                begin(number, address, &machine)
            case .connected(let number):
                return try win(number)
            case .failed:
                throw state.withLock { $0.lastError }
                    ?? StreamError(ResolverError(.noData), name: connector.endpoint.name ?? "")
            case .wait(let time):
                try await wait(until: time)
            }
        }
    }

    /// Ends the lookup and closes every socket that has not won.
    func giveUp() {
        let (lookup, losers) = state.withLock { state in
            defer { state.attempts = [:] }
            return (state.lookup.take(), Array(state.attempts.values))
        }
        lookup?.cancel()
        for loser in losers {
            connection.endStep(loser.step, .abandoned)
            loser.point.close()
        }
    }

    // MARK: The lookup

    private func startLookup(_ name: String) throws(StreamError) {
        let hostName: HostName
        do throws(ResolverError) {
            hostName = try HostName(name)
        } catch {
            throw StreamError(error, name: name)
        }
        let request = AddressRequest(hostName, until: connector.deadline, delivery: .asTheyCome)
        let token = connector.resolver.start(request) { [self] event in
            switch event {
            case .batch(let batch): tell(.batch(batch))
            case .finished(let error): tell(.lookupEnded(error))
            }
        }
        state.withLock { $0.lookup = token }
    }

    private func endLookup(_ step: Int?, found: Int, _ error: ResolverError?) {
        guard let step else { return }
        guard let error else {
            return connection.endStep(step, .succeeded(found == 1 ? "1 address" : "\(found) addresses"))
        }
        let failure = StreamError(error, name: connector.endpoint.name ?? "")
        state.withLock { if $0.lastError == nil { $0.lastError = failure } }
        connection.endStep(step, .failed(failure))
    }

    private func tell(_ item: News) {
        state.withLock { $0.news.append(item) }
        bell.signal(.readable)
    }

    private nonisolated(nonsending) func wait(until time: ContinuousClock.Instant?) async throws(StreamError) {
        let limit = [time, connector.deadline].compactMap(\.self).min()
        switch await bell.readerWait(for: .readable, until: limit) {
        case .ready, .closed, .busy: return
        case .cancelled: throw .cancelled
        case .failed(let number): throw StreamError(posix: number)
        case .timedOut:
            guard let deadline = connector.deadline, ContinuousClock.now >= deadline else { return }
            let addresses = state.withLock { $0.attempts.values.map(\.address.description).sorted() }
            let step = addresses.isEmpty ? "looking up the name" : "connecting to \(addresses.joined(separator: ", "))"
            let error = StreamError(posix: ETIMEDOUT, .openTimedOut(step))
            connection.endAllSteps(.failed(error))
            throw error
        }
    }

    // MARK: Attempts

    private func begin(_ number: Int, _ address: SocketAddress, _ machine: inout HappyEyeballsMachine) {
        let step = connection.beginStep(.connect(address))
        do throws(StreamError) {
            let socket = try ConnectingSocket(to: address, connector.options)
            let point = WaitPoint(descriptor: socket.descriptor, ownership: .owned, loop: bell.loop)
            state.withLock { $0.attempts[number] = Attempt(address: address, point: point, step: step) }
            if socket.isConnected { return machine.attemptSucceeded(number) }
            watch(number, point)
        } catch {
            lose(number, step, error, &machine)
        }
    }

    private func watch(_ number: Int, _ point: WaitPoint) {
        switch point.watch(.writer, for: .writable, with: Bell(self, number)) {
        case nil: break
        default: tell(.writable(number))
        }
    }

    /// A socket turned writable: it has connected or failed.
    private func settle(_ number: Int, _ machine: inout HappyEyeballsMachine) {
        guard let attempt = state.withLock({ $0.attempts[number] }) else { return }
        do throws(StreamError) {
            let descriptor = attempt.point.descriptor
            if Syscalls.ready(descriptor, for: .writable).isEmpty { return watch(number, attempt.point) }
            try ConnectingSocket.verify(descriptor, attempt.address)
            machine.attemptSucceeded(number)
        } catch {
            state.withLock { _ = $0.attempts.removeValue(forKey: number) }
            attempt.point.close()
            lose(number, attempt.step, error, &machine)
        }
    }

    private func lose(_ number: Int, _ step: Int, _ error: StreamError, _ machine: inout HappyEyeballsMachine) {
        connection.endStep(step, .failed(error))
        state.withLock { $0.lastError = error }
        machine.attemptFailed(number)
    }

    private func win(_ number: Int) throws(StreamError) -> (CInt, SocketAddress) {
        guard let winner = state.withLock({ $0.attempts.removeValue(forKey: number) }) else { throw .closed }
        connection.endStep(winner.step, .succeeded("connected"))
        return (winner.point.detach(), winner.address)
    }
}

private func exchange<Value>(_ value: inout Value, with new: Value) -> Value {
    let old = value
    value = new
    return old
}

extension StreamError {
    /// A lookup's failure as the failure of a stream, in the lookup's own domain.
    init(_ error: ResolverError, name: String) {
        if error.code == .cancelled {
            self = .cancelled
            return
        }
        let reason = ResolverError(error.code, detail: error.detail).description
        self.init(
            domain: StreamErrorDomain(rawValue: error.domain.rawValue), code: error.number,
            sentence: .nameNotResolved(name, reason), underlying: error)
    }
}
