internal import EventLoops
internal import FoundationEssentials
internal import StreamKit

/// The routes that a proxy script chooses for one URL. The script runs in a task, while a load waits at ``point``.
final class ProxyDecision: Sendable {
    private let result: OneShot<Result<[ProxyRoute], StreamError>>
    private let task: Task<Void, Never>

    /// Starts the script.
    init(_ settings: ProxySettings, for url: URL, loop: EventLoop) {
        let result = OneShot<Result<[ProxyRoute], StreamError>>(loop: loop)
        self.result = result
        task = Task(executorPreference: loop) {
            do throws(StreamError) {
                result.provide(.success(try await settings.resolvedRoutes(for: url)))
            } catch {
                result.provide(.failure(error))
            }
        }
    }

    deinit { cancel() }

    /// The point at which to wait for the result, with a reader's wait.
    var point: WaitPoint { result.point }

    /// Cancels the task, once no load waits for it.
    func cancel() {
        task.cancel()
    }

    /// The routes; nil until they are known.
    func routes() throws(StreamError) -> [ProxyRoute]? {
        try result.value?.get()
    }
}
