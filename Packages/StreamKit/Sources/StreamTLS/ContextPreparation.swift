@_spi(Packages) package import EventLoops

/// The TLS context of a connection that is being opened, made on another thread because the cache has none that it need not compare
/// with its files.
///
/// Making a context reads the trusted certificates from files. On some systems that takes a tenth of a second, and each call may
/// block for ever on a network file system that does not respond. Meanwhile the event loop does its other work, and the opening
/// ends at its deadline.
package final class ContextPreparation: Sendable {
    package let configuration: TLSConfiguration
    private let contexts: TLSContextCache
    private let readers: TrustReaders
    private let result: OneShot<Result<TLSContext, StreamError>>

    /// Begins to make the context.
    ///
    /// - Parameters:
    ///   - configuration: the configuration of the connection.
    ///   - loop: the loop of the connection.
    package init(
        _ configuration: TLSConfiguration, loop: EventLoop, in contexts: TLSContextCache = .shared,
        readers: TrustReaders = .shared
    ) {
        self.configuration = configuration
        self.contexts = contexts
        self.readers = readers
        result = OneShot(loop: loop)
        readers.run(self)
    }

    /// Makes the context for a listener, and suspends meanwhile.
    ///
    /// - Throws: the errors of ``context(until:)``; ``StreamError/cancelled``.
    package nonisolated(nonsending) static func context(
        for configuration: TLSConfiguration, until deadline: Moment?, loop: EventLoop
    ) async throws(StreamError) -> TLSContext {
        let preparation = ContextPreparation(configuration, loop: loop)
        let result: Result<TLSContext, StreamError>
        do throws(WaitError) {
            result = try await preparation.result.value(until: deadline)
        } catch {
            preparation.abandon()
            throw error == .timedOut ? .certificatesTimedOut : .cancelled
        }
        return try result.get()
    }

    /// Returns the context; nil if it is not ready, see ``readiness``.
    ///
    /// - Parameter deadline: the end of the opening; nil for no limit.
    /// - Throws: ``TLSFailure/badConfiguration`` for a configuration that cannot work with any peer; `ETIMEDOUT` at the deadline;
    ///   `EAGAIN` if the system creates no thread.
    package func context(until deadline: Moment?) throws(StreamError) -> TLSContext? {
        if let result = result.value { return try result.get() }
        guard let deadline, deadline <= .now else { return nil }
        abandon()
        throw .certificatesTimedOut
    }

    /// What to watch while the context is not ready.
    package var readiness: WaitPoint.Readiness { .init(result.point, .reader, for: .readable) }

    /// Withdraws the work, unless a thread has begun it.
    package func abandon() {
        readers.withdraw(self)
    }

    fileprivate func perform() {
        end(Result { () throws(StreamError) in try contexts.context(for: configuration) })
    }

    fileprivate func end(_ outcome: Result<TLSContext, StreamError>) {
        result.provide(outcome)
    }
}

/// The threads that make TLS contexts: at most one for each set of trusted certificates.
///
/// A set that cannot be read occupies one thread, however many connections need it, and connections with other sets are not held
/// up. The number of threads bounds the sets that may be unreadable at the same time; with more, openings end at their deadlines.
package final class TrustReaders: Sendable {
    /// The contexts for one set that no thread has begun to make.
    private struct Queue {
        var preparations: [ContextPreparation]
        /// The work of the thread that makes them.
        let work: BlockingThreads.Work
    }

    /// The readers of this process.
    package static let shared = TrustReaders()

    private let threads: BlockingThreads
    private let queues = Locked<[TLSTrust: Queue]>([:])

    package init(_ threads: BlockingThreads = .certificates) {
        self.threads = threads
    }

    // For tests.
    var queueCount: Int { queues.withLock { $0.values.reduce(0) { $0 + $1.preparations.count } } }

    fileprivate func run(_ preparation: ContextPreparation) {
        let trust = preparation.configuration.trust
        let new = queues.withLock { queues -> BlockingThreads.Work? in
            if queues[trust] != nil {
                queues[trust]?.preparations.append(preparation)
                return nil
            }
            let work = BlockingThreads.Work {
                while let next = self.next(for: trust) { next.perform() }
            } refuse: { refusal in
                let number: CInt = if case .noThread(let number) = refusal { number } else { 11 }  // EAGAIN
                let refused = self.queues.withLock { $0.removeValue(forKey: trust)?.preparations ?? [] }
                for preparation in refused { preparation.end(.failure(StreamError(posix: number))) }
            }
            queues[trust] = Queue(preparations: [preparation], work: work)
            return work
        }
        if let new { threads.run(new) }
    }

    fileprivate func withdraw(_ preparation: ContextPreparation) {
        queues.withLock { queues in
            guard var queue = queues[preparation.configuration.trust] else { return }
            queue.preparations.removeAll { $0 === preparation }
            // Work that no thread has begun need not wait for one.
            let isOver = queue.preparations.isEmpty && threads.withdraw(queue.work)
            queues[preparation.configuration.trust] = isOver ? nil : queue
        }
    }

    /// The next context to make; nil at the end of the work.
    private func next(for trust: TLSTrust) -> ContextPreparation? {
        queues.withLock { queues in
            guard let first = queues[trust]?.preparations.first else {
                queues[trust] = nil
                return nil
            }
            queues[trust]?.preparations.removeFirst()
            return first
        }
    }
}
