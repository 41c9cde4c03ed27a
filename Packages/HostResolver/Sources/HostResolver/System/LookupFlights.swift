internal import EventLoops

/// Lookups of which equal ones in flight are one.
///
/// Theory of operation. A *flight* is one launch for one question, with everybody who waits for its answer.
/// Who asks joins the flight of an equal question or begins one. Who cancels, or runs out of time, just leaves. A flight that
/// everybody left is taken back if that is possible; else it goes on alone, and takes new passengers. A question is in
/// one flight at most: on a caller's own thread, or launched. What a launch brings later, its token and its answer, belongs to
/// its own flight, by number: a launch that was taken back has no effect on the flight that followed it.
final class LookupFlights<Question: Hashable & Sendable, Answer: Sendable>: Sendable {
    typealias Handler = @Sendable (Result<Answer, ResolverError>) -> Void

    private struct Passenger {
        let handler: Handler
        var timer: LoopTimer?
    }

    private struct Flight {
        let number: UInt64
        /// Takes the launch back; nil before it has begun, and for one on a caller's thread.
        var token: LookupToken?
        var passengers: [UInt64: Passenger] = [:]
    }

    private struct State {
        var launched: [Question: Flight] = [:]
        /// Those on callers' own threads: as few as there are such threads, and a search through few costs less than hashing
        /// and filing, which would be felt in a call as short as one to the hosts file.
        var here: [(question: Question, flight: Flight)] = []
        /// Of flights and passengers.
        var lastNumber: UInt64 = 0

        func place(of question: Question) -> Int? {
            here.firstIndex { $0.question == question }
        }

        func hasFlight(for question: Question) -> Bool {
            place(of: question) != nil || !launched.isEmpty && launched[question] != nil
        }

        /// Changes the flight of a question, if it has one.
        mutating func change<Result>(_ question: Question, _ body: (inout Flight) -> Result) -> Result? {
            if let place = place(of: question) { return body(&here[place].flight) }
            guard let index = launched.index(forKey: question) else { return nil }
            return body(&launched.values[index])
        }

        /// Puts a passenger on the flight of a question, which there must be.
        mutating func board(_ question: Question, _ handler: @escaping Handler) -> UInt64 {
            let number = nextNumber()
            _ = change(question) { $0.passengers[number] = Passenger(handler: handler) }
            return number
        }

        mutating func nextNumber() -> UInt64 {
            lastNumber += 1
            return lastNumber
        }

        /// Removes the flight of a question, if it is this one.
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

    /// `launch` begins the work for a question, calls what it is given with the answer, never from inside, and returns what
    /// takes the work back.
    init(launch: @escaping @Sendable (Question, @escaping Handler) -> LookupToken) {
        self.launch = launch
    }

    /// How many callers wait for an answer.
    var waitingCount: Int {
        state.withLock { state in
            state.launched.values.reduce(0) { $0 + $1.passengers.count }
                + state.here.reduce(0) { $0 + $1.flight.passengers.count }
        }
    }

    /// Asks; `handler` is called once, on another thread, unless the token's `cancel()` returned true.
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

    /// Asks and performs on the calling thread, unless an equal question is in flight: then it waits for that one.
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

    /// Takes a passenger off; nil if the flight has landed for it.
    private func leave(_ number: UInt64, of question: Question) -> Passenger? {
        let (passenger, abandoned) = state.withLock { state -> (Passenger?, LookupToken?) in
            let left = state.change(question) { flight -> (Passenger?, LookupToken?) in
                let passenger = flight.passengers.removeValue(forKey: number)
                return (passenger, passenger != nil && flight.passengers.isEmpty ? flight.token : nil)
            }
            guard let (passenger, token) = left else { return (nil, nil) }
            // Under the lock, or somebody could join a flight that is being taken back. Cancelling calls nobody back.
            guard let token, token.cancel() else { return (passenger, nil) }
            _ = state.remove(question)
            return (passenger, token)
        }
        // The token refers to this object; it is let go outside the lock.
        withExtendedLifetime(abandoned) {}
        passenger?.timer?.cancel()
        return passenger
    }
}

extension LookupFlights {
    /// Lookups that block, on threads of their own.
    convenience init(threads: LookupThreads, perform: @escaping @Sendable (Question) -> Result<Answer, ResolverError>) {
        self.init { question, land in
            let job = LookupThreads.Job(perform: { land(perform(question)) }, refuse: { land(.failure($0)) })
            threads.run(job)
            return LookupToken { threads.withdraw(job) }
        }
    }
}
