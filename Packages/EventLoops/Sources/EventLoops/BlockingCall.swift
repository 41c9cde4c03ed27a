// A call on a thread of a pool, with a task or a thread that waits for its result. The pool itself knows neither tasks nor loops.

extension BlockingThreads {
    /// Runs `call` on a thread and suspends until it has returned.
    ///
    /// - Parameters:
    ///   - deadline: when to give up; nil for no limit.
    ///   - call: the call. Its result is discarded if the wait has ended by then.
    /// - Throws: ``WaitError``. A call that has not begun is withdrawn; a running call continues.
    public nonisolated(nonsending) func value<Value: Sendable>(
        until deadline: Moment? = nil, of call: @escaping @Sendable () -> Value
    ) async throws(WaitError) -> Value {
        let (result, work) = begin(call)
        do throws(WaitError) {
            return try await result.value(until: deadline).get()
        } catch {
            withdraw(work)
            throw error
        }
    }

    /// Runs a call that may fail on a thread, and suspends until it has returned. As ``value(until:of:)``.
    ///
    /// - Parameter mapping: makes an error of the call's type of that of the wait.
    @_spi(Packages) public nonisolated(nonsending) func value<Value: Sendable, Failure: Error>(
        until deadline: Moment?, mapping: (WaitError) -> Failure,
        of call: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure>
        do throws(WaitError) {
            result = try await value(until: deadline) { Result(catching: call) }
        } catch {
            throw mapping(error)
        }
        return try result.get()
    }

    /// Runs `call` on a thread and blocks the calling thread until it has returned. As ``value(until:of:)``.
    @available(*, noasync, message: "blocks the thread; use await")
    public func value<Value: Sendable>(
        until deadline: Moment? = nil, of call: @escaping @Sendable () -> Value
    ) throws(WaitError) -> Value {
        let (result, work) = begin(call)
        do throws(WaitError) {
            return try result.value(until: deadline).get()
        } catch {
            withdraw(work)
            throw error
        }
    }

    private func begin<Value: Sendable>(
        _ call: @escaping @Sendable () -> Value
    ) -> (OneShot<Result<Value, WaitError>>, Work) {
        let result = OneShot<Result<Value, WaitError>>()
        let once = Once(call)
        let work = Work {
            if let value = once.call() { result.provide(.success(value)) }
        } refuseAtOnce: { refusal in
            result.provide(.failure(WaitError(refusal)))
        }
        run(work)
        return (result, work)
    }

    /// A call that is made once. What it holds, such as an open file, is released before its result is provided: the waiter may open
    /// the file again at once.
    private final class Once<Value: Sendable>: Sendable {
        // A structure: see Locked.
        private struct State {
            var body: (@Sendable () -> Value)?
        }
        private let state: Locked<State>

        init(_ body: @escaping @Sendable () -> Value) { state = Locked(State(body: body)) }

        func call() -> Value? { state.withLock { $0.body.take() }?() }
    }
}

extension BlockingThreads.Work {
    /// Makes a work item.
    ///
    /// - Parameters:
    ///   - perform: makes the call; runs on one of the threads.
    ///   - refuse: called instead, on the shared event loop, if no thread is available.
    public convenience init(
        perform: @escaping @Sendable () -> Void, refuse: @escaping @Sendable (BlockingThreads.Refusal) -> Void
    ) {
        self.init(
            perform: perform, refuseAtOnce: { refusal in EventLoop.shared.execute { refuse(refusal) } })
    }
}

extension WaitError {
    /// The error of a wait for work that did not run: ``busy``, or ``failed(_:)`` with the `errno` of the thread.
    public init(_ refusal: BlockingThreads.Refusal) {
        switch refusal {
        case .queueIsFull: self = .busy
        case .noThread(let number): self = .failed(number)
        }
    }
}
