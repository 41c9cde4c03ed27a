@_spi(Packages) internal import EventLoops
internal import Glibc
internal import HostResolver

/// Connects to several addresses in parallel, as ``HappyEyeballsMachine`` decides. The first attempt to succeed wins;
/// the others are closed.
///
/// A value that never waits, as all of opening. Only the results of a lookup come from outside, in a mailbox.
struct ConnectRace: Sendable {
    enum Step: Sendable {
        /// The winner's descriptor, in non-blocking mode.
        case connected(CInt, SocketAddress)
        case wait(OpeningStep.Wait)
    }

    private struct Lookup {
        var answers: Mailbox<AddressEvent>
        var token: LookupToken
        var step: Int
        var found = 0

        var summary: String { found == 1 ? "1 address" : "\(found) addresses" }
    }

    private struct Attempt {
        var number: Int
        var socket: ConnectingSocket
        var point: WaitPoint
        var step: Int
    }

    private let plan: ConnectPlan
    private let loop: EventLoop
    private var machine: HappyEyeballsMachine
    private var hasBegun = false
    private var lookup: Lookup?
    private var attempts: [Attempt] = []
    private var lastError: StreamError?

    init(_ plan: ConnectPlan, loop: EventLoop) {
        self.plan = plan
        self.loop = loop
        machine = HappyEyeballsMachine(attemptDelay: plan.attemptDelay)
    }

    /// Continues until an attempt has won or nothing can be done without waiting. When it throws, the lookup has ended
    /// and all sockets are closed.
    mutating func advance(_ connection: Connection) throws(StreamError) -> Step {
        do throws(StreamError) {
            if !hasBegun { try begin(connection) }
            receiveAnswers(connection)
            for attempt in attempts { settle(attempt, connection) }
            while true {
                switch machine.next(now: .now) {
                case .attempt(let number, let address): try attempt(number, address, connection)
                case .connected(let number): return try win(number, connection)
                case .failed:
                    if let lookup { connection.endStep(lookup.step, .succeeded(lookup.summary)) }
                    throw lastError ?? StreamError(ResolverError(.noData), name: plan.endpoint.name ?? "")
                case .wait(let time): return .wait(try wait(until: time, connection))
                }
            }
        } catch {
            giveUp(connection)
            throw error
        }
    }

    /// Ends the lookup and closes every socket that has not won.
    mutating func giveUp(_ connection: Connection) {
        lookup.take()?.token.cancel()
        for loser in attempts {
            connection.endStep(loser.step, .abandoned)
            loser.point.close()
        }
        attempts = []
    }

    private mutating func begin(_ connection: Connection) throws(StreamError) {
        hasBegun = true
        switch plan.endpoint {
        case .addresses(let addresses, _):
            machine.receive(addresses, families: .all, now: .now)
            machine.lookupEnded()
        case .host(let name, _):
            let step = connection.beginStep(.lookup(name))
            let hostName: HostName
            do throws(ResolverError) {
                hostName = try HostName(name)
            } catch {
                throw StreamError(error, name: name)
            }
            let answers = Mailbox<AddressEvent>(limit: .max, loop: loop)
            let request = AddressRequest(hostName, until: plan.deadline?.instant, delivery: .asTheyCome)
            let token = plan.resolver.start(request) { answers.put($0) }
            lookup = Lookup(answers: answers, token: token, step: step)
        }
    }

    private mutating func receiveAnswers(_ connection: Connection) {
        for answer in lookup?.answers.takeAll() ?? [] {
            switch answer {
            case .batch(let batch):
                lookup?.found += batch.addresses.count
                let port = plan.endpoint.port ?? 0
                machine.receive(batch.addresses.map { .ip($0, port: port) }, families: batch.families, now: .now)
            case .finished(let error):
                machine.lookupEnded()
                guard let ended = lookup.take() else { continue }
                let failure = error.map { StreamError($0, name: plan.endpoint.name ?? "") }
                if lastError == nil { lastError = failure }
                connection.endStep(ended.step, failure.map { .failed($0) } ?? .succeeded(ended.summary))
            }
        }
    }

    private func wait(
        until time: Moment?, _ connection: Connection
    ) throws(StreamError) -> OpeningStep.Wait {
        if plan.isOverdue {
            let addresses = attempts.map(\.socket.address.description).sorted()
            let step = addresses.isEmpty ? "looking up the name" : "connecting to \(addresses.joined(separator: ", "))"
            let error = StreamError(posix: ETIMEDOUT, .openTimedOut(step))
            connection.endAllSteps(.failed(error))
            throw error
        }
        var points = attempts.map { WaitPoint.Readiness($0.point, .writer, for: .writable) }
        if let lookup { points.append(.init(lookup.answers.point, .reader, for: .readable)) }
        return .init(points: points, deadline: [time, plan.deadline].compactMap(\.self).min())
    }

    // MARK: Attempts

    private mutating func attempt(_ number: Int, _ address: SocketAddress, _ connection: Connection) throws(StreamError)
    {
        let step = connection.beginStep(.connect(address))
        do throws(StreamError) {
            let socket = try ConnectingSocket(to: address, plan.options)
            let point = WaitPoint(descriptor: socket.descriptor, ownership: .owned, loop: loop)
            let attempt = Attempt(number: number, socket: socket, point: point, step: step)
            attempts.append(attempt)
            settle(attempt, connection)
        } catch {
            lose(number, step, error, connection)
        }
    }

    /// Checks whether a socket has connected or failed.
    private mutating func settle(_ attempt: Attempt, _ connection: Connection) {
        do throws(StreamError) {
            if try attempt.socket.tryConnect() { machine.attemptSucceeded(attempt.number) }
        } catch {
            attempts.removeAll { $0.number == attempt.number }
            attempt.point.close()
            lose(attempt.number, attempt.step, error, connection)
        }
    }

    private mutating func lose(_ number: Int, _ step: Int, _ error: StreamError, _ connection: Connection) {
        connection.endStep(step, .failed(error))
        lastError = error
        machine.attemptFailed(number)
    }

    private mutating func win(_ number: Int, _ connection: Connection) throws(StreamError) -> Step {
        guard let index = attempts.firstIndex(where: { $0.number == number }) else { throw .closed }
        let winner = attempts.remove(at: index)
        connection.endStep(winner.step, .succeeded("connected"))
        // The lookup is cancelled; what it has found was enough.
        if let lookup { connection.endStep(lookup.step, .succeeded(lookup.summary)) }
        giveUp(connection)
        return .connected(winner.point.detach(), winner.socket.address)
    }
}

extension StreamError {
    /// Makes the stream error for a failed lookup, in the lookup's own domain.
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
