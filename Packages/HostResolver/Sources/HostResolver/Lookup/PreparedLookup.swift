internal import EventLoops

extension LookupToken {
    private enum State {
        case prepares(BlockingThreads.Work)
        case underway(LookupToken)
        case cancelled
    }

    /// The thread that prepares lookups. One is enough: the preparation is the same for all, and only the first one has work.
    private static let preparation = BlockingThreads(limit: 1)

    /// Starts a lookup with `begin` once `prepare` has returned, which is called on a thread that may wait.
    ///
    /// Without a thread, the lookup begins unprepared. `begin` must not wait for its handler.
    init(after prepare: @escaping @Sendable () -> Void, begin: @escaping @Sendable () -> LookupToken) {
        self.init(after: prepare, on: Self.preparation, begin: begin)
    }

    init(
        after prepare: @escaping @Sendable () -> Void, on threads: BlockingThreads,
        begin: @escaping @Sendable () -> LookupToken
    ) {
        let state = Locked<State?>(nil)
        // The lookup begins under the lock: a call to cancel it comes before or after.
        @Sendable func start() {
            state.withLock { state in
                if case .prepares = state { state = .underway(begin()) }
            }
        }
        let work = BlockingThreads.Work {
            prepare()
            start()
        } refuse: { _ in
            start()
        }
        state.withLock { $0 = .prepares(work) }
        threads.run(work)
        self.init {
            let token = state.withLock { state -> LookupToken? in
                switch state {
                case .underway(let token): return token
                case .cancelled, nil: return nil
                case .prepares(let work):
                    threads.withdraw(work)
                    state = .cancelled
                    return LookupToken { true }
                }
            }
            return token?.cancel() ?? false
        }
    }
}
