internal import EventLoops
internal import HostResolver

/// The answers of a lookup, which may come on any thread, for the connection that waits for them.
final class LookupAnswers: Sendable {
    enum Answer: Sendable {
        case batch(AddressBatch)
        case ended(ResolverError?)
    }

    /// Signalled as readable for each answer.
    let point: WaitPoint
    private let answers = Locked<[Answer]>([])

    init(loop: EventLoop) {
        point = WaitPoint(loop: loop)
    }

    /// Starts the lookup.
    func start(_ request: AddressRequest, _ resolver: any Resolver) -> LookupToken {
        resolver.start(request) { [self] event in
            answers.withLock {
                switch event {
                case .batch(let batch): $0.append(.batch(batch))
                case .finished(let error): $0.append(.ended(error))
                }
            }
            point.signal(.readable)
        }
    }

    /// Removes and returns the answers that have come since the last call.
    func take() -> [Answer] {
        answers.withLock { answers in
            defer { answers = [] }
            return answers
        }
    }
}
