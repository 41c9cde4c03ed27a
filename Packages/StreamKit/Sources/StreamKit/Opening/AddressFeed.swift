internal import EventLoops
internal import HostResolver

/// A lookup's answers on their way to who waits for them. They may come on any thread, and ring a bell.
final class AddressFeed: Sendable {
    enum Answer: Sendable {
        case batch(AddressBatch)
        case ended(ResolverError?)
    }

    /// Signalled as readable with each answer.
    let bell: WaitPoint
    private let answers = Locked<[Answer]>([])

    init(loop: EventLoop) {
        bell = WaitPoint(loop: loop)
    }

    /// Begins the lookup.
    func start(_ request: AddressRequest, _ resolver: any Resolver) -> LookupToken {
        resolver.start(request) { [self] event in
            answers.withLock {
                switch event {
                case .batch(let batch): $0.append(.batch(batch))
                case .finished(let error): $0.append(.ended(error))
                }
            }
            bell.signal(.readable)
        }
    }

    /// What has come since the last time.
    func take() -> [Answer] {
        answers.withLock { answers in
            defer { answers = [] }
            return answers
        }
    }
}
