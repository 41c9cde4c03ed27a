internal import EventLoops
internal import Synchronization

/// Makes the TLS context of a connection on another thread, and then opens the connection.
///
/// A context reads the trusted certificates from files. On some systems that takes a tenth of a second, during which the event
/// loop must do its other work. A thread that blocks on the stream makes the context itself.
struct ContextPreparation: OpeningWork {
    /// The end of the work of another thread.
    private final class Completion: Sendable {
        let point: WaitPoint
        private let isDone = Atomic<Bool>(false)

        init(loop: EventLoop) {
            point = WaitPoint(loop: loop)
        }

        var isReached: Bool { isDone.load(ordering: .acquiring) }

        func reach() {
            isDone.store(true, ordering: .releasing)
            point.signal(.readable)
        }
    }

    private enum Phase {
        case needed
        case underway(Completion)
        case ended
    }

    private static let threads = BlockingThreads(limit: 1)

    private let configuration: TLSConfiguration
    private let contexts: TLSContextCache
    private var work: any OpeningWork
    private var phase = Phase.needed

    /// Returns the work of opening a connection; as it is if the context exists already.
    static func preparing(
        _ configuration: TLSConfiguration, for work: any OpeningWork, in contexts: TLSContextCache = .shared
    ) -> any OpeningWork {
        if contexts.hasContext(for: configuration) { return work }
        return ContextPreparation(configuration: configuration, contexts: contexts, work: work)
    }

    private init(configuration: TLSConfiguration, contexts: TLSContextCache, work: any OpeningWork) {
        self.configuration = configuration
        self.contexts = contexts
        self.work = work
    }

    mutating func advance(_ connection: Connection) throws(StreamError) -> OpeningStep {
        switch phase {
        case .needed where connection.point.loop.isCurrent:
            let completion = Completion(loop: connection.point.loop)
            phase = .underway(completion)
            ContextPreparation.threads.run(
                .init { [contexts, configuration] in
                    // The handshake reports a configuration that cannot work.
                    _ = try? contexts.context(for: configuration)
                    completion.reach()
                } refuse: { _ in
                    completion.reach()
                })
            return ContextPreparation.wait(for: completion)
        case .needed: _ = try? contexts.context(for: configuration)
        case .underway(let completion) where !completion.isReached: return ContextPreparation.wait(for: completion)
        case .underway, .ended: break
        }
        phase = .ended
        return try work.advance(connection)
    }

    private static func wait(for completion: Completion) -> OpeningStep {
        .wait(.init(points: [.init(completion.point, .reader, for: .readable)], deadline: nil))
    }

    mutating func abandon(_ connection: Connection) {
        work.abandon(connection)
    }
}
