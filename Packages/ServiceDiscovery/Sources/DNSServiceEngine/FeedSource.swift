internal import DNSServiceC
internal import EventLoops
internal import ServiceDiscovery

/// Turns the elements of a feed into replies.
final class FeedSource<Element: Sendable>: ReplySource {
    /// The reply to an element, or to the failure that ended the feed; nil if there is none.
    typealias Answer = @Sendable (Result<Element, ServiceDiscoveryError>) -> Reply?

    private enum Phase {
        /// There was no reply yet.
        case waiting
        /// The time limit is up, and there was no reply yet.
        case late
        /// There was a reply: the time limit has no effect any more.
        case answered
        /// No reply follows.
        case over
    }

    private struct State {
        var phase = Phase.waiting
        var timer: LoopTimer?
        var subscription: Subscription?
    }

    private let feed: DiscoveryFeed<Element>
    private let answer: Answer
    private let state = Locked(State())

    init(_ feed: DiscoveryFeed<Element>, _ answer: @escaping Answer) {
        (self.feed, self.answer) = (feed, answer)
    }

    func next() -> Reply? {
        while state.withLock({ $0.phase != .over }) {
            do throws(ServiceDiscoveryError) {
                guard let element = try feed.tryNext() else { break }
                guard let reply = answer(.success(element)) else { continue }
                state.withLock { if $0.phase != .over { $0.phase = .answered } }
                return reply
            } catch {
                state.withLock { $0.phase = .over }
                return answer(.failure(error))
            }
        }
        let isLate = state.withLock { state in
            guard state.phase == .late else { return false }
            state.phase = .over
            return true
        }
        return isLate ? answer(.failure(ServiceDiscoveryError(.timedOut))) : nil
    }

    func stop() {
        let (timer, subscription) = state.withLock { state in
            state.phase = .over
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
                self?.state.withLock { if $0.phase == .waiting { $0.phase = .late } }
                refill()
            }
            state.withLock { $0.timer = timer }
        }
        let subscription = feed.observe(on: .direct, refill)
        let isOver = state.withLock { state in
            state.subscription = subscription
            return state.phase == .over
        }
        // Another thread has ended the operation while it began.
        if isOver { stop() }
    }
}

/// A source that has failed before it began.
struct FailedSource: ReplySource {
    private let reply = Mailbox<Reply>(limit: 1)

    init(_ reply: @escaping Reply) { self.reply.put(reply) }

    func next() -> Reply? { reply.tryNext() }
    func stop() {}
}
