internal import CoreFoundation
internal import EventLoops
internal import RunLoopDelivery
internal import ServiceDiscovery

/// What an operation reports.
enum ServiceEvent: Sendable {
    case published(ServiceInstance)
    case resolved(ResolvedService)
    case record(TXTRecord)
    case service(DiscoveryChange<ServiceInstance>)
    case domain(DiscoveryChange<ServiceDomain>)
}

/// A search or publication that has begun, without the type of its elements.
struct ServiceFeed: Sendable {
    /// Calls the handler, which may only pass the signal on, when there may be an event.
    let observe: @Sendable (@escaping @Sendable () -> Void) -> Subscription
    /// An event that is available, nil if there is none.
    let tryNext: @Sendable () throws(ServiceDiscoveryError) -> ServiceEvent?
    /// Waits for an event; nil if the feed has been stopped.
    let next: @Sendable (ContinuousClock.Instant?) throws(ServiceDiscoveryError) -> ServiceEvent?
    let stop: @Sendable () -> Void

    init<Element>(_ feed: DiscoveryFeed<Element>, _ event: @escaping @Sendable (Element) -> ServiceEvent) {
        observe = { feed.observe(on: .direct, $0) }
        tryNext = { () throws(ServiceDiscoveryError) in try feed.tryNext().map(event) }
        next = { (deadline) throws(ServiceDiscoveryError) in try feed.next(until: deadline).map(event) }
        stop = { feed.stop() }
    }

    init(_ publisher: ServicePublisher) {
        let feed = publisher.names
        observe = { feed.observe(on: .direct, $0) }
        tryNext = { () throws(ServiceDiscoveryError) in try feed.tryNext().map { .published($0) } }
        next = { (deadline) throws(ServiceDiscoveryError) in try feed.next(until: deadline).map { .published($0) } }
        stop = { publisher.stop() }
    }
}

/// The error that ends an operation, in the form of older functions.
struct ServiceFailure: Error, Equatable {
    let domain: Int
    let number: Int

    static let cancelled = ServiceFailure(ServiceDiscoveryError(.cancelled))
    static let invalid = ServiceFailure(ServiceDiscoveryError(.invalidated))

    init(_ error: ServiceDiscoveryError) { (domain, number) = (error.domain.rawValue, error.number) }
    init(_ error: CFStreamError) { (domain, number) = (error.domain, Int(error.error)) }

    var streamError: CFStreamError { CFStreamError(domain: domain, error: Int32(truncatingIfNeeded: number)) }
}

/// The operation of a CFNetService, a monitor or a browser, and the run loops that its events are delivered on.
///
/// Theory of operation. The feed signals the pump, which delivers the events on one of the run loops. An error that ends the operation
/// waits as the outcome. Without a run loop when the operation starts, the starting call waits for each event instead. `handle` receives
/// each event, and the failure at the end; it is called without the lock.
final class ServiceOperation: Sendable {
    private struct State {
        var feed: ServiceFeed?
        /// Distinguishes the operation from later ones.
        var number = 0
        /// Whether the feed is being created.
        var isStarting = false
        var isWaiting = false
        /// Whether the feed is observed, or a call is about to observe it: a second observer would replace the first.
        var isObserved = false
        var subscription: Subscription?
        var timer: LoopTimer?
        /// The failure to deliver on a run loop, or to return from the waiting call.
        var outcome: ServiceFailure?
        var isInvalid = false
    }

    private let state = Locked(State())
    private let pump = EventPump(isReentrant: true)
    private let handle: @Sendable (Result<ServiceEvent, ServiceFailure>) -> Void

    init(_ handle: @escaping @Sendable (Result<ServiceEvent, ServiceFailure>) -> Void) { self.handle = handle }

    deinit { end() }

    /// Whether an operation is running.
    var isRunning: Bool { state.withLock { $0.feed != nil } }

    // MARK: Run loops

    func schedule(on target: RunLoopTarget) {
        pump.schedule(on: target) { [weak self] in self?.deliver(on: target) }
        observe()
    }

    func unschedule(from target: RunLoopTarget) {
        pump.unschedule(from: target)
    }

    /// Observes the feed, if there is a run loop where its events can be delivered.
    private func observe() {
        guard pump.isScheduled else { return }
        let (number, feed) = state.withLock { state -> (Int, ServiceFeed?) in
            if state.isObserved || state.isWaiting { return (state.number, nil) }
            state.isObserved = state.feed != nil
            return (state.number, state.feed)
        }
        guard let feed else { return }
        let subscription = feed.observe { [weak self] in self?.pump.signal() }
        let isCurrent = state.withLock { state in
            guard state.number == number, state.feed != nil else { return false }
            state.subscription = subscription
            return true
        }
        if !isCurrent { subscription.cancel() }
    }

    // MARK: Starting and ending

    /// Starts an operation. On a run loop, returns at once; otherwise waits until `isEnough` is true for an event.
    ///
    /// - Parameters:
    ///   - limit: when the operation ends with a timeout.
    ///   - grace: how long to wait for further events after the one that is enough.
    func run(
        until limit: ContinuousClock.Instant? = nil, grace: Duration = .zero,
        isEnough: (ServiceEvent) -> Bool = { _ in false },
        _ begin: () throws(ServiceDiscoveryError) -> ServiceFeed
    ) throws(ServiceFailure) {
        let number = try reserve()
        let feed: ServiceFeed
        do throws(ServiceDiscoveryError) {
            feed = try begin()
        } catch {
            state.withLock { ($0.isStarting, $0.isWaiting) = (false, false) }
            throw ServiceFailure(error)
        }
        let (isValid, waits) = state.withLock { state in
            state.isStarting = false
            if !state.isInvalid { state.feed = feed }
            return (!state.isInvalid, state.isWaiting)
        }
        guard isValid else {
            feed.stop()
            throw .invalid
        }
        if waits { return try wait(feed, number, until: limit, grace, isEnough) }
        if let limit { expire(number, at: limit) }
        observe()
    }

    private func reserve() throws(ServiceFailure) -> Int {
        let reserved = state.withLock { state -> Result<Int, ServiceFailure> in
            if state.isInvalid { return .failure(.invalid) }
            if state.feed != nil || state.isStarting {
                return .failure(ServiceFailure(ServiceDiscoveryError(.busy)))
            }
            state.number += 1
            (state.isWaiting, state.isStarting, state.outcome) = (!pump.isScheduled, true, nil)
            return .success(state.number)
        }
        return try reserved.get()
    }

    /// Handles the events on the calling thread until the operation ends.
    private func wait(
        _ feed: ServiceFeed, _ number: Int, until limit: ContinuousClock.Instant?, _ grace: Duration,
        _ isEnough: (ServiceEvent) -> Bool
    ) throws(ServiceFailure) {
        var (limit, isDone) = (limit, false)
        do throws(ServiceDiscoveryError) {
            while let event = try feed.next(limit) {
                handle(.success(event))
                guard isEnough(event) else { continue }
                let end = ContinuousClock.now + grace
                (limit, isDone) = (isDone ? limit : min(limit ?? end, end), true)
                if case .resolved(let service) = event, service.isComplete { break }
            }
        } catch {
            let failure = ServiceFailure(error)
            state.withLock { if $0.number == number, $0.outcome == nil { $0.outcome = failure } }
        }
        feed.stop()
        let outcome = state.withLock { state -> ServiceFailure? in
            (state.feed, state.isWaiting) = (nil, false)
            return state.outcome.take()
        }
        if isDone { return }
        throw outcome ?? .cancelled
    }

    private func expire(_ number: Int, at limit: ContinuousClock.Instant) {
        let timer = EventLoop.shared.schedule(at: Moment(limit)) { [weak self] in
            self?.stop(ServiceFailure(ServiceDiscoveryError(.timedOut)), number: number)
        }
        let isCurrent = state.withLock { state in
            guard state.number == number, state.feed != nil else { return false }
            state.timer = timer
            return true
        }
        if !isCurrent { timer.cancel() }
    }

    /// Ends the operation with a failure, which goes to `handle` on a run loop, or to the waiting call.
    func stop(_ failure: ServiceFailure = .cancelled, number: Int? = nil) {
        let (feed, subscription, timer, isWaiting) = state.withLock { state in
            guard let feed = state.feed, number == nil || number == state.number else {
                return (nil as ServiceFeed?, nil as Subscription?, nil as LoopTimer?, true)
            }
            (state.outcome, state.isObserved) = (failure, false)
            // The waiting call itself removes the feed that it reads.
            if !state.isWaiting { state.feed = nil }
            return (feed, state.subscription.take(), state.timer.take(), state.isWaiting)
        }
        subscription?.cancel()
        timer?.cancel()
        feed?.stop()
        if !isWaiting { pump.signal() }
    }

    /// Ends the operation, and all later ones, without a call of `handle`.
    func invalidate() {
        state.withLock { $0.isInvalid = true }
        stop(.invalid)
        // A waiting call returns the failure.
        state.withLock { if !$0.isWaiting { $0.outcome = nil } }
    }

    /// Forgets a failure that has not been delivered.
    func forget() {
        state.withLock { if !$0.isWaiting { $0.outcome = nil } }
    }

    private func end() {
        stop()
        pump.stop()
    }

    /// Delivers the events that have arrived. Called on a run loop.
    private func deliver(on target: RunLoopTarget) {
        pump.deliver(on: target) {
            if let (number, event) = nextEvent() {
                guard state.withLock({ $0.number == number && $0.feed != nil }) else { return .nothing }
                handle(.success(event))
                return .delivered
            }
            guard let failure = state.withLock({ $0.isWaiting ? nil : $0.outcome.take() }) else { return .nothing }
            handle(.failure(failure))
            return .delivered
        }
    }

    /// An event that has arrived, with the number of its operation. An error ends the operation.
    private func nextEvent() -> (Int, ServiceEvent)? {
        let (number, feed) = state.withLock { ($0.number, $0.isWaiting ? nil : $0.feed) }
        guard let feed else { return nil }
        do throws(ServiceDiscoveryError) {
            return try feed.tryNext().map { (number, $0) }
        } catch {
            stop(ServiceFailure(error), number: number)
            return nil
        }
    }
}
