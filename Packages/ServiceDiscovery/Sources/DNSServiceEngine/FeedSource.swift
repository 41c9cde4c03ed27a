internal import DNSServiceC
internal import EventLoops
internal import ServiceDiscovery

/// Turns the elements of a feed into replies.
final class FeedSource<Element: Sendable>: ReplySource {
    /// The reply to an element, or to the failure that ended the feed; nil if there is none.
    typealias Answer = @Sendable (Result<Element, ServiceDiscoveryError>) -> Reply?

    private struct State {
        var timer: LoopTimer?
        var subscription: Subscription?
        var isAnswered = false
        var hasTimedOut = false
        var isOver = false
    }

    private let feed: DiscoveryFeed<Element>
    private let answer: Answer
    private let state = Locked(State())

    init(_ feed: DiscoveryFeed<Element>, _ answer: @escaping Answer) {
        (self.feed, self.answer) = (feed, answer)
    }

    func next() -> Reply? {
        while !state.withLock({ $0.isOver }) {
            do throws(ServiceDiscoveryError) {
                guard let element = try feed.tryNext() else { break }
                guard let reply = answer(.success(element)) else { continue }
                state.withLock { $0.isAnswered = true }
                return reply
            } catch {
                state.withLock { ($0.isAnswered, $0.isOver) = (true, true) }
                return answer(.failure(error))
            }
        }
        let isLate = state.withLock { state in
            guard state.hasTimedOut, !state.isAnswered, !state.isOver else { return false }
            state.isOver = true
            return true
        }
        return isLate ? answer(.failure(ServiceDiscoveryError(.timedOut))) : nil
    }

    func stop() {
        let (timer, subscription) = state.withLock { state in
            state.isOver = true
            return (state.timer.take(), state.subscription.take())
        }
        timer?.cancel()
        subscription?.cancel()
        feed.stop()
    }

    /// Calls `refill` when the feed has an element, and, with a time limit, when that ends without an answer.
    func begin(timeout: Duration? = nil, _ refill: @escaping @Sendable () -> Void) {
        if let timeout {
            let timer = EventLoop.shared.schedule(at: .now + timeout) { [weak self] in
                self?.state.withLock { $0.hasTimedOut = true }
                refill()
            }
            state.withLock { $0.timer = timer }
        }
        let subscription = feed.observe(on: .direct, refill)
        state.withLock { $0.subscription = subscription }
    }
}

/// A source that has failed before it began.
struct FailedSource: ReplySource {
    private let reply: OneReply

    private final class OneReply: Sendable {
        // A structure: see Locked.
        struct State { var reply: Reply? }
        let state: Locked<State>
        init(_ reply: @escaping Reply) { state = Locked(State(reply: reply)) }
    }

    init(_ reply: @escaping Reply) { self.reply = OneReply(reply) }

    func next() -> Reply? { reply.state.withLock { $0.reply.take() } }
    func stop() {}
}
