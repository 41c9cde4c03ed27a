internal import EventLoops

/// Lookups in flight, in which equal lookups share one call.
///
/// Theory of operation. A *flight* is one call for one question, with all the callers that wait for its answer. A
/// caller joins the flight of an equal question, or starts one. A caller that cancels or times out leaves its flight. A
/// flight without callers is cancelled if possible; otherwise it continues alone, and new callers may join. A question
/// has at most one flight: on a caller's own thread, or launched. The token and the answer of a launch are matched to
/// its flight by number, so a cancelled launch cannot affect a later flight of the same question.
final class LookupFlights<Question: Hashable & Sendable, Answer: Sendable>: Sendable {
    typealias Handler = @Sendable (Result<Answer, ResolverError>) -> Void

    private struct Caller {
        let handler: Handler
        var timer: LoopTimer?
    }

    private struct Flight {
        let number: UInt64
        /// Cancels the launch; nil until the launch has returned, and for a flight on a caller's thread.
        var token: LookupToken?
        var callers: [UInt64: Caller] = [:]
    }

    private struct State {
        var launched: [Question: Flight] = [:]
        /// The flights on callers' own threads. They are few, one per thread, and searching a short array costs less
        /// than hashing, which would be noticeable in a call as short as a lookup in the hosts file.
        var onCallingThreads: [(question: Question, flight: Flight)] = []
        /// The last number given to a flight or caller.
        var lastNumber: UInt64 = 0

        func index(of question: Question) -> Int? {
            onCallingThreads.firstIndex { $0.question == question }
        }

        func hasFlight(for question: Question) -> Bool {
            index(of: question) != nil || !launched.isEmpty && launched[question] != nil
        }

        /// Changes the flight of a question; nil if it has none.
        mutating func change<Result>(_ question: Question, _ body: (inout Flight) -> Result) -> Result? {
            if let index = index(of: question) { return body(&onCallingThreads[index].flight) }
            guard let index = launched.index(forKey: question) else { return nil }
            return body(&launched.values[index])
        }

        /// Adds a caller to the flight of a question, which must exist.
        mutating func join(_ question: Question, _ handler: @escaping Handler) -> UInt64 {
            let number = nextNumber()
            _ = change(question) { $0.callers[number] = Caller(handler: handler) }
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
            guard let index = index(of: question) else { return launched.removeValue(forKey: question) }
            onCallingThreads.swapAt(index, onCallingThreads.count - 1)
            return onCallingThreads.removeLast().flight
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
            state.launched.values.reduce(0) { $0 + $1.callers.count }
                + state.onCallingThreads.reduce(0) { $0 + $1.flight.callers.count }
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
            return (state.join(question, handler), flight)
        }
        if let deadline { limit(number, of: question, until: deadline) }
        if let flight {
            let token = launch(question) { [self] in complete(question, flight, with: $0) }
            state.withLock { state in _ = state.change(question) { if $0.number == flight { $0.token = token } } }
        }
        return LookupToken { [self] in leave(number, of: question) != nil }
    }

    /// Looks up a question with `perform`, on the calling thread. If an equal question is in flight, waits for its
    /// answer instead.
    @available(*, noasync, message: "blocks the thread; use ask(_:until:handler:)")
    func askOnCallingThread(
        _ question: Question, perform: () -> Result<Answer, ResolverError>
    ) -> Result<Answer, ResolverError> {
        let (number, joined) = state.withLock { state -> (UInt64, OneShot<Result<Answer, ResolverError>>?) in
            guard state.hasFlight(for: question) else {
                let flight = Flight(number: state.nextNumber())
                state.onCallingThreads.append((question, flight))
                return (flight.number, nil)
            }
            let answer = OneShot<Result<Answer, ResolverError>>()
            return (state.join(question) { answer.provide($0) }, answer)
        }
        guard let joined else {
            let result = perform()
            complete(question, number, with: result)
            return result
        }
        do throws(WaitError) {
            return try joined.value()
        } catch {
            _ = leave(number, of: question)
            return .failure(ResolverError(wait: error))
        }
    }

    private func complete(_ question: Question, _ number: UInt64, with result: Result<Answer, ResolverError>) {
        let flight = state.withLock { $0.remove(question, flight: number) }
        guard let flight, !flight.callers.isEmpty else { return }
        for (_, caller) in flight.callers.sorted(by: { $0.key < $1.key }) {
            caller.timer?.cancel()
            caller.handler(result)
        }
    }

    private func limit(_ number: UInt64, of question: Question, until deadline: ContinuousClock.Instant) {
        let timer = EventLoop.shared.schedule(at: Moment(deadline)) { [self] in
            leave(number, of: question)?.handler(.failure(ResolverError(.timedOut)))
        }
        let isWaiting = state.withLock { state in
            state.change(question) { flight in
                flight.callers[number]?.timer = timer
                return flight.callers[number] != nil
            }
        }
        if isWaiting != true { timer.cancel() }
    }

    /// Removes a caller from its flight; nil if it already has the answer.
    private func leave(_ number: UInt64, of question: Question) -> Caller? {
        let (caller, abandoned) = state.withLock { state -> (Caller?, LookupToken?) in
            let left = state.change(question) { flight -> (Caller?, LookupToken?) in
                let caller = flight.callers.removeValue(forKey: number)
                return (caller, caller != nil && flight.callers.isEmpty ? flight.token : nil)
            }
            guard let (caller, token) = left else { return (nil, nil) }
            // Cancel under the lock, so that no caller can join a flight that is being cancelled. Cancelling calls no
            // handler.
            guard let token, token.cancel() else { return (caller, nil) }
            _ = state.remove(question)
            return (caller, token)
        }
        // The token may hold the last reference to this object, so it is released outside the lock.
        withExtendedLifetime(abandoned) {}
        caller?.timer?.cancel()
        return caller
    }
}

extension LookupFlights {
    /// Creates lookups whose calls block and run on `threads`.
    convenience init(threads: BlockingThreads, perform: @escaping @Sendable (Question) -> Result<Answer, ResolverError>)
    {
        self.init { question, complete in
            let work = BlockingThreads.Work {
                complete(perform(question))
            } refuse: { refusal in
                complete(.failure(ResolverError(refusal)))
            }
            threads.run(work)
            return LookupToken { threads.withdraw(work) }
        }
    }
}

extension ResolverError {
    /// Creates an error for a call that no thread could make.
    fileprivate init(_ refusal: BlockingThreads.Refusal) {
        let busy = ResolverError(
            .busy, detail: "\(SystemResolver.maximumWaitingLookups) lookups are already waiting for a thread")
        switch refusal {
        case .queueIsFull: self = busy
        case .noThread(let number): self.init(errno: number)
        @unknown default: self = busy
        }
    }
}
