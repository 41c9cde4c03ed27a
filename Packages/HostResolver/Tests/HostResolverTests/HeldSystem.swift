import EventLoops

@testable import HostResolver

/// A ``SystemResolver`` whose calls block until the test releases them.
final class HeldSystem: Sendable {
    private struct State {
        var answer: Result<[IPAddress], ResolverError>?
        /// The answers of particular calls.
        var answers: [String: Result<[IPAddress], ResolverError>] = [:]
        var calls: [String] = []
    }

    private let held: WaitableState<State>
    let threads: BlockingThreads
    let resolver: SystemResolver

    init(
        configured: AddressFamilies = .all, threadLimit: Int = 16, longestQueue: Int = 4096,
        idleTime: Duration = .seconds(10), reverseLimit: Duration = SystemResolver.reverseLimit
    ) {
        let held = WaitableState(State())
        self.held = held
        threads = BlockingThreads(limit: threadLimit, queueLimit: longestQueue, idleTime: idleTime)
        @Sendable func call(_ text: String) -> Result<[IPAddress], ResolverError> {
            held.withLock { $0.calls.append(text) }
            return held.wait(atMost: nil) { $0.answers[text] ?? $0.answer } ?? .success([])
        }
        let calls = SystemCalls(
            addresses: { name, families in
                let family = families == .v4 ? "4" : families == .v6 ? "6" : ""
                return call(name + family)
            },
            names: { subject in call(subject.description).map { $0.map(\.description) } },
            configuredFamilies: { configured })
        resolver = SystemResolver(calls: calls, threads: threads, reverseLimit: reverseLimit)
    }

    /// The calls made so far.
    var calls: [String] { held.withLock { $0.calls } }

    /// Makes all calls, present and future, return `answer`.
    func release(_ answer: Result<[IPAddress], ResolverError>) {
        held.withLock { $0.answer = answer }
        // Each signal wakes one blocked call.
        for _ in 0..<64 { held.withLock(wakes: true) { _ in } }
    }

    /// Makes the call `text` return `answer`.
    func release(_ answer: Result<[IPAddress], ResolverError>, for text: String) {
        held.withLock { $0.answers[text] = answer }
    }

    /// Waits until `count` calls have been made.
    func untilCalls(_ count: Int) async {
        while calls.count < count { await Task.yield() }
    }
}
