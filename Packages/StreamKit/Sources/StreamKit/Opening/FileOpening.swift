@_spi(Packages) internal import EventLoops

/// The opening of a file by a thread for files: looking at a path may wait for its disk.
struct FileOpening: OpeningWork {
    /// The thread's call, which may outlive the opening.
    private final class Call: Sendable {
        let result: OneShot<Result<any StreamTransport, StreamError>>
        private let isAbandoned = Locked(false)

        init(loop: EventLoop) { result = OneShot(loop: loop) }

        func end(_ outcome: Result<any StreamTransport, StreamError>) {
            let isUnwanted = isAbandoned.withLock { isAbandoned in
                if !isAbandoned { result.provide(outcome) }
                return isAbandoned
            }
            if isUnwanted { Self.close(outcome) }
        }

        func abandon() {
            isAbandoned.withLock { $0 = true }
            if let outcome = result.value { Self.close(outcome) }
        }

        private static func close(_ outcome: Result<any StreamTransport, StreamError>) {
            if case .success(let transport) = outcome { transport.close() }
        }
    }

    private let call: Call
    private let threads: BlockingThreads
    private let work: BlockingThreads.Work
    private let deadline: Moment

    /// Begins to open the file.
    ///
    /// - Parameters:
    ///   - threads: the threads; nil for those of the path's device.
    ///   - fileTimeout: the longest wait.
    ///   - open: the call that opens the file.
    init(
        path: String, loop: EventLoop, threads: BlockingThreads? = nil,
        fileTimeout: Duration = BlockingThreads.fileTimeout,
        _ open: @escaping @Sendable () throws(StreamError) -> any StreamTransport
    ) {
        let call = Call(loop: loop)
        self.call = call
        self.threads = threads ?? .files(at: path)
        deadline = .now + fileTimeout
        work = BlockingThreads.Work {
            call.end(Result(catching: open))
        } refuse: {
            call.end(.failure(StreamError(ofFileCall: WaitError($0))))
        }
        self.threads.run(work)
    }

    mutating func advance(_ connection: Connection) throws(StreamError) -> OpeningStep {
        if let outcome = call.result.value { return .opened(try outcome.get()) }
        if deadline <= .now {
            abandon(connection)
            throw StreamError(ofFileCall: .timedOut)
        }
        return .wait(OpeningStep.Wait(points: [.init(call.result.point, .reader, for: .readable)], deadline: deadline))
    }

    mutating func abandon(_ connection: Connection) {
        threads.withdraw(work)
        call.abandon()
    }
}
