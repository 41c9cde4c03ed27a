internal import EventLoops
internal import FoundationEssentials
internal import StreamKit

/// What a proxy script decides about one URL: asked for in a task of its own, while a load waits at ``point``.
final class ProxyDecision: Sendable {
    private struct State {
        var result: Result<[ProxyRoute], StreamError>?
        var task: Task<Void, Never>?
    }

    /// Where to wait for the result.
    let point: WaitPoint
    private let state = Locked(State())

    /// Begins to ask.
    init(_ settings: ProxySettings, for url: URL, loop: EventLoop) {
        let point = WaitPoint(loop: loop)
        self.point = point
        let task = Task(executorPreference: loop) { [weak self] in
            let result: Result<[ProxyRoute], StreamError>
            do throws(StreamError) {
                result = .success(try await settings.resolvedRoutes(for: url))
            } catch {
                result = .failure(error)
            }
            self?.state.withLock { $0.result = result }
            point.signal([.readable, .writable])
        }
        state.withLock { $0.task = task }
    }

    deinit { cancel() }

    /// Ends asking; nobody waits any more.
    func cancel() {
        state.withLock { $0.task.take() }?.cancel()
    }

    /// The ways; nil while they are not known yet.
    func routes() throws(StreamError) -> [ProxyRoute]? {
        try state.withLock { $0.result }?.get()
    }
}
