internal import EventLoops

/// Lookups in flight, in which equal lookups share one call.
///
/// Theory of operation. A *flight* is one call for one question, with all the passengers that wait for its answer. A
/// caller joins the flight of an equal question, or starts one. A caller that cancels or times out leaves its flight. A
/// flight without passengers is cancelled if possible; otherwise it continues alone, and new passengers may join. A
/// question has at most one flight: on a caller's own thread, or launched. The token and the answer of a launch are
/// matched to its flight by number, so a cancelled launch cannot affect a later flight of the same question.
final class LookupFlights<Question: Hashable & Sendable, Answer: Sendable>: Sendable {
    typealias Handler = @Sendable (Result<Answer, ResolverError>) -> Void

    private struct Passenger {
        let handler: Handler
        var timer: LoopTimer?
    }

    private struct Flight {
        let number: UInt64
        /// Cancels the launch; nil until the launch has returned, and for a flight on a caller's thread.
        var token: LookupToken?
        var passengers: [UInt64: Passenger] = [:]
    }

    private struct State {
        var launched: [Question: Flight] = [:]
        /// The flights on callers' own threads. They are few, one per thread, and searching a short array costs less
        /// than hashing, which would be noticeable in a call as short as a lookup in the hosts file.
        var here: [(question: Question, flight: Flight)] = []
        /// The last number given to a flight or passenger.
        var lastNumber: UInt64 = 0

        func place(of question: Question) -> Int? {
            here.firstIndex { $0.question == question }
        }

        func hasFlight(for question: Question) -> Bool {
            place(of: question) != nil || !launched.isEmpty && launched[question] != nil
        }

        /// Changes the flight of a question; nil if it has none.
        mutating func change<Result>(_ question: Question, _ body: (inout Flight) -> Result) -> Result? {
            if let place = place(of: question) { return body(&here[place].flight) }
            guard let index = launched.index(forKey: question) else { return nil }
            return body(&launched.values[index])
        }

        /// Adds a passenger to the flight of a question, which must exist.
        mutating func board(_ question: Question, _ handler: @escaping Handler) -> UInt64 {
            let number = nextNumber()
            _ = change(question) { $0.passengers[number] = Passenger(handler: handler) }
            return number
        }

        mutating func nextNumber() -> UInt64 {
            lastNumber += 1
            return lastNumber
        }

        /// Removes the flight of a question if it has this number.
        mutating func remove(_ question: Question, flight number: UInt64) -> Flight? {
            change(question) { $0.number } == number ? remove(question) : nil
        }

        mutating func remove(_ question: Question) -> Flight? {
            guard let place = place(of: question) else { return launched.removeValue(forKey: question) }
            here.swapAt(place, here.count - 1)
            return here.removeLast().flight
        }
    }

    private let state = Locked(State())
    private let launch: @Sendable (Question, @escaping Handler) -> LookupToken

    /// `launch` starts the lookup of a question, and returns a token that cancels it. It must not call its handler with
    /// the answer before it returns.
    init(launch: @escaping @Sendable (Question, @escaping Handler) -> LookupToken) {
        self.launch = launch
    }

    /// The number of callers that wait for an answer.
    var waitingCount: Int {
        state.withLock { state in
            state.launched.values.reduce(0) { $0 + $1.passengers.count }
                + state.here.reduce(0) { $0 + $1.flight.passengers.count }
        }
    }

    /// Looks up a question. `handler` is called once, on another thread, unless the token's `cancel()` returned true.
    func ask(_ question: Question, until deadline: ContinuousClock.Instant?, handler: @escaping Handler) -> LookupToken
    {
        let (number, flight) = state.withLock { state in
            var flight: UInt64?
            if !state.hasFlight(for: question) {
                let number = state.nextNumber()
                state.launched[question] = Flight(number: number)
                flight = number
            }
            return (state.board(question, handler), flight)
        }
        if let deadline { limit(number, of: question, until: deadline) }
        if let flight {
            let token = launch(question) { [self] in land(question, flight, with: $0) }
            state.withLock { state in _ = state.change(question) { if $0.number == flight { $0.token = token } } }
        }
        return LookupToken { [self] in leave(number, of: question) != nil }
    }

    /// Looks up a question with `perform`, on the calling thread. If an equal question is in flight, waits for its
    /// answer instead.
    func askHere(
        _ question: Question, perform: () -> Result<Answer, ResolverError>
    ) -> Result<Answer, ResolverError> {
        let (flight, waiting) = state.withLock { state -> (UInt64, BlockingAnswer<Answer>?) in
            guard state.hasFlight(for: question) else {
                let flight = Flight(number: state.nextNumber())
                state.here.append((question, flight))
                return (flight.number, nil)
            }
            let answer = BlockingAnswer<Answer>()
            _ = state.board(question, answer.put)
            return (0, answer)
        }
        if let waiting {
            return Result { () throws(ResolverError) in try waiting.wait() }
        }
        let result = perform()
        land(question, flight, with: result)
        return result
    }

    private func land(_ question: Question, _ number: UInt64, with result: Result<Answer, ResolverError>) {
        let flight = state.withLock { $0.remove(question, flight: number) }
        guard let flight, !flight.passengers.isEmpty else { return }
        for (_, passenger) in flight.passengers.sorted(by: { $0.key < $1.key }) {
            passenger.timer?.cancel()
            passenger.handler(result)
        }
    }

    private func limit(_ number: UInt64, of question: Question, until deadline: ContinuousClock.Instant) {
        let timer = EventLoop.shared.schedule(at: Moment(deadline)) { [self] in
            leave(number, of: question)?.handler(.failure(ResolverError(.timedOut)))
        }
        let isWaiting = state.withLock { state in
            state.change(question) { flight in
                flight.passengers[number]?.timer = timer
                return flight.passengers[number] != nil
            }
        }
        if isWaiting != true { timer.cancel() }
    }

    /// Removes a passenger from its flight; nil if it already has the answer.
    private func leave(_ number: UInt64, of question: Question) -> Passenger? {
        let (passenger, abandoned) = state.withLock { state -> (Passenger?, LookupToken?) in
            let left = state.change(question) { flight -> (Passenger?, LookupToken?) in
                let passenger = flight.passengers.removeValue(forKey: number)
                return (passenger, passenger != nil && flight.passengers.isEmpty ? flight.token : nil)
            }
            guard let (passenger, token) = left else { return (nil, nil) }
            // Cancel under the lock, so that no passenger can join a flight that is being cancelled. Cancelling calls
            // no handler.
            guard let token, token.cancel() else { return (passenger, nil) }
            _ = state.remove(question)
            return (passenger, token)
        }
        // The token may hold the last reference to this object, so it is released outside the lock.
        withExtendedLifetime(abandoned) {}
        passenger?.timer?.cancel()
        return passenger
    }
}

extension LookupFlights {
    /// Creates lookups whose calls block and run on `threads`.
    convenience init(threads: LookupThreads, perform: @escaping @Sendable (Question) -> Result<Answer, ResolverError>) {
        self.init { question, land in
            let job = LookupThreads.Job(perform: { land(perform(question)) }, refuse: { land(.failure($0)) })
            threads.run(job)
            return LookupToken { threads.withdraw(job) }
        }
    }
}
