import EventLoops

@_spi(Packages) @testable import HostResolver

/// A ``SystemResolver`` whose calls block until the test releases them.
final class HeldSystem: Sendable {
    private struct State {
        var answer: Result<[IPAddress], ResolverError>?
        /// The answers of particular calls.
        var answers: [String: Result<[IPAddress], ResolverError>] = [:]
        var calls: [String] = []
        /// The calls that are blocked.
        var blocked: [OneShot<Result<[IPAddress], ResolverError>>] = []
    }

    /// The state, which the calls keep alive.
    private final class Shared: Sendable {
        let state = Locked(State())
    }

    private let held: Shared
    let threads: BlockingThreads
    let resolver: SystemResolver

    init(
        configured: AddressFamilies = .all, maximumThreads: Int = 16, maximumQueueLength: Int = 4096,
        idleTime: Duration = .seconds(10), reverseTimeout: Duration = SystemResolver.reverseTimeout,
        secondFamilyTime: Duration = .seconds(3600), hosts: String = "",
        hostsAreQuick: Bool = true
    ) {
        let held = Shared()
        self.held = held
        threads = BlockingThreads(limit: maximumThreads, maximumQueueLength: maximumQueueLength, idleTime: idleTime)
        @Sendable func call(_ text: String) -> Result<[IPAddress], ResolverError> {
            let released = OneShot<Result<[IPAddress], ResolverError>>()
            let answer = held.state.withLock { state -> Result<[IPAddress], ResolverError>? in
                state.calls.append(text)
                if let answer = state.answers[text] ?? state.answer { return answer }
                state.blocked.append(released)
                return nil
            }
            if let answer { return answer }
            do throws(WaitError) { return try released.value() } catch { return .failure(ResolverError(wait: error)) }
        }
        let calls = SystemCalls(
            addresses: { name, families in call(name + Self.suffix(families)) },
            names: { subject, families in
                call(subject.description + Self.suffix(families)).map { $0.map(\.description) }
            },
            configuredFamilies: { configured },
            hosts: {
                if !hostsAreQuick { _ = call("hosts") }
                return HostsFile(parsing: hosts)
            },
            hostsAreQuick: { hostsAreQuick })
        resolver = SystemResolver(
            calls: calls, threads: threads, reverseTimeout: reverseTimeout, secondFamilyTime: secondFamilyTime)
    }

    private static func suffix(_ families: AddressFamilies) -> String {
        families == .v4 ? "4" : families == .v6 ? "6" : ""
    }

    /// The calls made so far.
    var calls: [String] { held.state.withLock { $0.calls } }

    /// Makes all calls, present and future, return `answer`.
    func release(_ answer: Result<[IPAddress], ResolverError>) {
        let blocked = held.state.withLock { state in
            state.answer = answer
            defer { state.blocked = [] }
            return state.blocked
        }
        for call in blocked { call.provide(answer) }
    }

    /// Makes the next call `text` return `answer`.
    func release(_ answer: Result<[IPAddress], ResolverError>, for text: String) {
        held.state.withLock { $0.answers[text] = answer }
    }

    /// Waits until `count` calls have been made.
    func untilCalls(_ count: Int) async {
        while calls.count < count, !Task.isCancelled { await Task.yield() }
    }
}
